"""restart_counter.py, on the embedded server."""

from __future__ import annotations

from queue import SimpleQueue
from typing import TYPE_CHECKING

from examples.restart_counter import restart_counter, restarts_between
from tests.examples.pods import new_pod

from masthead.api.core.v1 import Pod

if TYPE_CHECKING:
    import masthead
    from masthead.server import Server


def test_each_restart_is_told_once_with_its_reason(kube_server: Server, kube_client: masthead.Client) -> None:
    pods = kube_client.core_v1.pods("default")
    for name in ("quiet", "web"):
        pods.create(new_pod(name))
        kube_server.kubelet.start(name)
    kube_server.kubelet.restart("web", exit_code=1)  # before we look
    lines: SimpleQueue[str] = SimpleQueue()
    with restart_counter(kube_client, "default", lines.put) as informer:
        informer.wait_for_cache_sync(timeout=10)
        kube_server.kubelet.restart("web", exit_code=137)
        assert lines.get(timeout=10) == "default/web app: restart 2, Error, exit code 137"
        kube_server.kubelet.restart("web", exit_code=3)
        assert lines.get(timeout=10) == "default/web app: restart 3, Error, exit code 3"
    assert lines.empty()


def test_a_pod_whose_containers_have_no_status_yet_was_not_restarted() -> None:
    old = Pod.from_dict({"metadata": {"name": "web"}})
    status = {"name": "app", "restartCount": 2}
    new = Pod.from_dict({"metadata": {"name": "web"}, "status": {"containerStatuses": [status]}})
    assert list(restarts_between(new, old)) == []
    assert list(restarts_between(old, new)) == ["web app: restart 2, reason unknown"]
