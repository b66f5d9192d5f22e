"""A real kube-apiserver does not serve removed API versions either, and the error names the replacement."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

import masthead
import masthead.server
from masthead.errors import NotFoundError

if TYPE_CHECKING:
    from tests.real_server import RealServer

pytestmark = [pytest.mark.real, pytest.mark.xdist_group("real")]


def test_both_servers_respond_alike_and_the_error_names_the_replacement(real_server: RealServer) -> None:
    config = masthead.Config(server=real_server.url, token=real_server.token, ca_file=real_server.ca_file)
    with masthead.server.run() as embedded:
        found: list[list[str]] = []
        for client in (masthead.Client(config), masthead.Client(kubeconfig=embedded.kubeconfig())):
            with client, pytest.raises(NotFoundError) as old_group:
                client.extensions_v1beta1.ingresses("x").list()
            found.append([str(old_group.value)])
        with masthead.Client(config) as client, pytest.raises(NotFoundError) as old_version:
            client.apps_v1beta1.deployments("x").get("web")

    assert found[0] == found[1]
    assert str(old_version.value).endswith("apps/v1beta1 is not served since Kubernetes 1.16: use apps/v1.")
