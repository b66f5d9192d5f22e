"""Controllers on a full disk: failed writes are retried, and all work is completed later."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Any

import pytest
from tests.server.calls import PODS, config_map
from tests.server.quiet_cluster import pod

from masthead_server.storage import ForeignObjects, JournalError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.server.quiet_cluster import QuietCluster

    from masthead.server import ExecProcess
    from masthead_server.storage import Record, StoredRow

NAMESPACES = "/api/v1/namespaces"
EVENTS = "/api/v1/namespaces/default/events"
MISSING = {"name": "never", "uid": "00000000-0000-0000-0000-000000000000"}


def owned_by(owner: Any) -> Any:
    named = {"name": owner["name"], "uid": owner["uid"]}
    return {"apiVersion": "v1", "kind": "ConfigMap", "blockOwnerDeletion": True, **named}


class Disk:
    """A journal that keeps nothing, and has space for so many writes only."""

    def __init__(self) -> None:
        self.space: float = float("inf")
        self.refused: list[tuple[str, str]] = []

    def read(self) -> list[tuple[str, str, int, bool, bytes]]:
        return []

    def read_compacted(self) -> int:
        return 0

    def read_foreign(self) -> ForeignObjects:
        return ForeignObjects()

    def append(self, table: str, record: Record) -> None:
        if not self.space:
            self.refused.append((table, record.key))
            raise JournalError("the disk is full")
        self.space -= 1

    def replace(self, rows: Iterable[StoredRow], revision: int, foreign: ForeignObjects) -> None:
        raise JournalError(f"nothing is replaced at {revision} by {rows} with {foreign}")

    def check_writable(self) -> None:
        if not self.space:
            raise JournalError("the disk is full")

    def compact(self, revision: int) -> None:
        pass

    def close(self) -> None:
        pass


@pytest.fixture
def disk(cluster: QuietCluster) -> Disk:
    made = cluster.server._storage._journal = Disk()
    return made


def advance(cluster: QuietCluster, seconds: float) -> None:
    cluster.server.advance(seconds)
    cluster.server.block_until_idle()


@pytest.mark.parametrize("space", range(1, 6))
def test_a_namespace_terminates_once_the_disk_has_space_again(cluster: QuietCluster, disk: Disk, space: int) -> None:
    cluster.call("POST", NAMESPACES, {"metadata": {"name": "x"}})
    cluster.call("POST", f"{NAMESPACES}/x/configmaps", config_map("a"))
    cluster.call("POST", f"{NAMESPACES}/x/pods", pod("a", nodeName=""))
    disk.space = space
    cluster.call("DELETE", f"{NAMESPACES}/x")
    assert cluster.is_there(f"{NAMESPACES}/x")

    disk.space = float("inf")
    advance(cluster, 1)

    assert not cluster.is_there(f"{NAMESPACES}/x")


@pytest.mark.parametrize("space", [0, 1])
def test_a_pod_whose_removal_could_not_be_stored_is_removed_later(
    cluster: QuietCluster, disk: Disk, space: int
) -> None:
    cluster.call("POST", PODS, pod("a"))
    cluster.call("DELETE", f"{PODS}/a")
    disk.space = space
    advance(cluster, 30)
    assert cluster.is_there(f"{PODS}/a")

    disk.space = float("inf")
    advance(cluster, 1)

    assert not cluster.is_there(f"{PODS}/a")


@pytest.mark.parametrize("policy", ["Background", "Foreground", "Orphan"])
def test_dependents_are_reconciled_once_the_disk_has_space_again(
    cluster: QuietCluster, disk: Disk, policy: str
) -> None:
    owner = cluster.create("owner")
    cluster.create("child", owners=[owned_by(owner)])
    disk.space = 1
    cluster.delete("owner", policy)
    assert cluster.meta("child")["ownerReferences"]

    disk.space = float("inf")
    advance(cluster, 1)

    assert cluster.meta("owner") is None
    assert (cluster.meta("child") is not None) is (policy == "Orphan")


def test_writes_to_a_full_disk_back_off_until_a_success(cluster: QuietCluster, disk: Disk) -> None:
    disk.space = 1
    cluster.create("first", owners=[owned_by(MISSING)])
    tries = [len(disk.refused)]
    for seconds in (1, 2, 4, 8, 16, 32, 60, 60, 600):
        advance(cluster, seconds)
        tries.append(len(disk.refused))
    assert tries == [1, 2, 3, 4, 5, 6, 7, 8, 9, 19]

    disk.space = float("inf")
    advance(cluster, 60)
    assert cluster.meta("first") is None
    disk.space = 1
    cluster.create("second", owners=[owned_by(MISSING)])
    disk.space = float("inf")
    advance(cluster, 1)

    assert cluster.meta("second") is None


def test_an_event_expires_once_the_disk_has_space_again(cluster: QuietCluster, disk: Disk) -> None:
    reference = {"kind": "ConfigMap", "namespace": "default", "name": "a"}
    cluster.call("POST", EVENTS, {"metadata": {"name": "once"}, "involvedObject": reference})
    disk.space = 0
    advance(cluster, 3600)
    assert cluster.is_there(f"{EVENTS}/once")

    disk.space = float("inf")
    advance(cluster, 1)

    assert not cluster.is_there(f"{EVENTS}/once")


def test_an_event_that_could_not_be_stored_is_dropped(cluster: QuietCluster, disk: Disk) -> None:
    cluster.call("POST", PODS, pod("a"))
    disk.space = 1

    cluster.server.kubelet.start("a")

    assert cluster.call("GET", f"{PODS}/a")["status"]["phase"] == "Running"
    assert cluster.call("GET", EVENTS)["items"] == []
    disk.space = float("inf")
    cluster.server.kubelet.restart("a")
    assert {each["reason"] for each in cluster.call("GET", EVENTS)["items"]} == {
        "Pulling",
        "Pulled",
        "Created",
        "Started",
    }


def test_the_end_of_a_container_is_reported_once_the_disk_has_space_again(
    cluster: QuietCluster, disk: Disk, caplog: pytest.LogCaptureFixture
) -> None:
    disk_is_full = asyncio.Event()

    @cluster.server.kubelet.main("a")
    async def main(_process: ExecProcess) -> int:
        await disk_is_full.wait()
        return 3

    cluster.call("POST", PODS, pod("a", restartPolicy="Never", nodeName=""))
    cluster.server.kubelet.start("a")
    disk.space = 0
    cluster.server._loop.loop.call_soon_threadsafe(disk_is_full.set)
    advance(cluster, 0.1)
    assert "the disk is full" in caplog.text
    assert cluster.call("GET", f"{PODS}/a")["status"]["phase"] == "Running"

    disk.space = float("inf")
    advance(cluster, 1)

    [status] = cluster.call("GET", f"{PODS}/a")["status"]["containerStatuses"]
    assert status["state"]["terminated"]["exitCode"] == 3
