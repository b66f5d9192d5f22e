"""What a pod finds in its own file system and environment."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

import pytest

from masthead._meta.secret import Secret
from masthead.config import in_cluster
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from pathlib import Path

ENVIRON = {"KUBERNETES_SERVICE_HOST": "10.96.0.1", "KUBERNETES_SERVICE_PORT": "443"}


@pytest.fixture
def root(tmp_path: Path) -> Path:
    for name, text in {"token": "t", "ca.crt": "x", "namespace": "web\n"}.items():
        (tmp_path / name).write_text(text)
    return tmp_path


def test_a_pod_finds_its_server_its_token_and_its_namespace(root: Path) -> None:
    config = in_cluster(ENVIRON, root)

    assert (config.server, config.namespace) == ("https://10.96.0.1:443", "web")
    assert (config.token_file, config.ca_file) == (root / "token", root / "ca.crt")
    assert config.token == Secret()
    assert config.origin == "the pod's service account"


def test_an_ipv6_server_stands_in_brackets(root: Path) -> None:
    config = in_cluster(ENVIRON | {"KUBERNETES_SERVICE_HOST": "fd00::1"}, root)

    assert config.server == "https://[fd00::1]:443"


def test_the_namespace_is_the_environments_then_the_pods_then_the_default(root: Path) -> None:
    assert in_cluster(ENVIRON | {"POD_NAMESPACE": "mine"}, root).namespace == "mine"
    (root / "namespace").write_bytes(b"\xff")
    assert in_cluster(ENVIRON, root).namespace == "default"
    (root / "namespace").unlink()
    assert in_cluster(ENVIRON, root).namespace == "default"


def test_a_missing_authority_is_logged_and_left_out(root: Path, caplog: pytest.LogCaptureFixture) -> None:
    (root / "ca.crt").unlink()

    assert in_cluster(ENVIRON, root).ca_file is None
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("masthead.config", logging.WARNING)
    assert str(root / "ca.crt") in record.getMessage()


@pytest.mark.parametrize("name", list(ENVIRON))
def test_without_an_address_it_is_no_pod(root: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"this is not a pod in a cluster: {name} not set"):
        in_cluster(ENVIRON | {name: ""}, root)


def test_without_a_token_it_says_where_that_should_be(root: Path) -> None:
    (root / "token").unlink()

    with pytest.raises(ConfigError, match="no service account token: there is no file"):
        in_cluster(ENVIRON, root)


def test_a_pod_behind_a_proxy_uses_it_unless_no_proxy_matches(root: Path) -> None:
    environ = ENVIRON | {"HTTPS_PROXY": "http://proxy:3128"}

    assert in_cluster(environ, root).proxy_url == "http://proxy:3128"
    assert in_cluster(environ | {"NO_PROXY": "10.96.0.0/12"}, root).proxy_url == ""
