"""What kube-apiserver answers before a kubelet has a say: requests for logs and commands that are refused, on both
servers."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.server.kubectl import KUBECTL

if TYPE_CHECKING:
    from tests.real.both_servers import BothServers

pytestmark = [
    pytest.mark.real,
    pytest.mark.xdist_group("real"),
    pytest.mark.skipif(KUBECTL is None, reason="there is no kubectl here"),
]

REFUSED = (
    "absent/log",
    "web/log?container=no",
    "two/log",
    "two/log?container=setup&tailLines=-1",
    "web/log?tailLines=x",
    "web/log?limitBytes=0",
    "web/log?sinceSeconds=0",
    "web/log?sinceSeconds=1&sinceTime=2026-01-01T00:00:00Z",
    "web/log?sinceTime=now",
    "absent/exec?command=ls&stdout=1",
    "web/exec?command=ls&stdout=1",
    "web/exec?command=ls&stdout=1&container=no",
    "two/exec?command=ls&stdout=1",
    "web/attach?stdout=1",
    "two/attach?stdout=1&container=a",
)


def _pod(name: str, *containers: str) -> dict[str, object]:
    found = [{"name": container, "image": "busybox"} for container in containers]
    setup = [{"name": "setup", "image": "busybox"}] if len(containers) > 1 else []
    spec = {"containers": found, "initContainers": setup, "automountServiceAccountToken": False}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": name}, "spec": spec}


@pytest.fixture
def pods(both: BothServers) -> BothServers:
    account = {"apiVersion": "v1", "kind": "ServiceAccount", "metadata": {"name": "default"}}
    both("create", "--save-config=false", "-f", "-", stdin=account)
    for body in (_pod("web", "app"), _pod("two", "a", "b")):
        both("create", "-f", "-", stdin=body)
    return both


def test_requests_are_refused_alike(pods: BothServers) -> None:
    for path in REFUSED:
        done = pods("get", "--raw", f"/api/v1/namespaces/{pods.namespace}/pods/{path}", code=1)
        assert done.stderr, path


def test_a_pod_without_a_node_has_no_log(pods: BothServers) -> None:
    assert not pods("get", "--raw", f"/api/v1/namespaces/{pods.namespace}/pods/web/log").stdout


def test_kubectl_complains_alike(pods: BothServers) -> None:
    pods("logs", "two", "-c", "no", code=1)
    pods("logs", "absent", code=1)
    pods("exec", "web", "--", "ls", code=1, env={"KUBECTL_REMOTE_COMMAND_WEBSOCKETS": "false"})
