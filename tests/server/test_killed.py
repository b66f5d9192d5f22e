"""A server that is killed at any moment has lost nothing that it had acknowledged."""

from __future__ import annotations

import http.client
import random
import subprocess
import sys
import threading
from contextlib import contextmanager
from typing import TYPE_CHECKING, NamedTuple

import pytest
from tests.server.calls import MAPS, Caller, config_map

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

    from tests.server.calls import Plain

SERVICES = "/api/v1/namespaces/default/services"
BIG_SERVICE = {
    "metadata": {"name": "big", "annotations": {"text": "x" * 200_000}},
    "spec": {"ports": [{"port": 80}], "clusterIP": "10.0.0.77"},
}
WRITERS = 4


def limit_files(size: int) -> None:
    """Let this process write no file that is larger."""
    import resource  # which there is not on Windows

    resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))


@contextmanager
def serving(data: Path, *, largest_file: int | None = None) -> Iterator[tuple[subprocess.Popen[str], Caller]]:
    """A server in a process of its own; killed at the end of the block, if it was not before."""
    arguments = [sys.executable, "-m", "masthead.server", "--data", str(data), "--no-auth", "--no-bootstrap"]
    process = subprocess.Popen(
        arguments,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        preexec_fn=(lambda: limit_files(largest_file)) if largest_file is not None else None,  # noqa: PLW1509
    )
    assert process.stdout is not None
    assert process.stderr is not None
    with process, process.stdout, process.stderr:
        try:
            line = process.stdout.readline()
            assert line.startswith("Serving on "), process.stderr.read()
            caller = Caller(line.removeprefix("Serving on ").strip())
            yield process, caller
            caller.close()
        finally:
            process.kill()


class Known(NamedTuple):
    """A state of an object that was acknowledged to a client."""

    version: int
    uid: str
    data: dict[str, str]


def known(found: Plain) -> Known:
    return Known(int(found["metadata"]["resourceVersion"]), found["metadata"]["uid"], found["data"])


class Writers:
    """Clients that write as fast as they can, and record the acknowledged writes."""

    def __init__(self, caller: Caller, round_number: int) -> None:
        self.acknowledged: dict[str, Known] = {}
        """The newest state of each object that was acknowledged to a client."""
        self.deleted: set[str] = set()
        self._caller = caller
        self._round = round_number
        self._count = 0
        self._lock = threading.Condition()
        self._threads = [threading.Thread(target=self._write, args=(each,)) for each in range(WRITERS)]
        for thread in self._threads:
            thread.start()

    def wait_for(self, count: int) -> None:
        """Wait until so many writes are acknowledged; others are under way by then."""
        with self._lock:
            assert self._lock.wait_for(lambda: self._count >= count, timeout=30)

    def join(self) -> None:
        for thread in self._threads:
            thread.join()

    def _write(self, writer: int) -> None:
        caller = Caller(f"http://{self._caller.host}:{self._caller.port}")
        try:
            for number in range(10_000):
                self._write_one(caller, f"r{self._round}-w{writer}-{number}")
        except (OSError, http.client.HTTPException):
            pass  # the server was killed
        finally:
            caller.close()

    def _write_one(self, caller: Caller, name: str) -> None:
        created = caller.call("POST", MAPS, config_map(name, data={"step": "created"}))
        assert created.code == 201, created.body
        self._acknowledge(name, known(created.json))
        updated = caller.call("PUT", f"{MAPS}/{name}", config_map(name, data={"step": "updated"}))
        assert updated.code == 200, updated.body
        self._acknowledge(name, known(updated.json))
        if name.endswith("3"):
            with self._lock:
                del self.acknowledged[name]  # from here on, the outcome is unknown
            assert caller.call("DELETE", f"{MAPS}/{name}").code == 200
            self._acknowledge(name, None)

    def _acknowledge(self, name: str, state: Known | None) -> None:
        with self._lock:
            self._count += 1
            if state is None:
                self.deleted.add(name)
            else:
                self.acknowledged[name] = state
            self._lock.notify_all()


def check(caller: Caller, acknowledged: dict[str, Known], deleted: set[str]) -> int:
    """Compare the stored objects with the acknowledged writes; returns the newest version."""
    listed = caller.call("GET", MAPS).json
    found = {each["metadata"]["name"]: known(each) for each in listed["items"]}
    assert not deleted & found.keys()
    for name, state in acknowledged.items():
        # A write that was under way when the server died may have been kept, and is newer then.
        assert found[name] == state or found[name].version > state.version
    newest = int(listed["metadata"]["resourceVersion"])
    assert newest >= max(state.version for state in acknowledged.values())
    return newest


@pytest.mark.slow
def test_acknowledged_writes_survive_kill_9(tmp_path: Path) -> None:
    chance = random.Random(20_261_115)
    acknowledged: dict[str, Known] = {}
    deleted: set[str] = set()
    newest = 0
    for round_number in range(5):
        with serving(tmp_path / "data") as (process, caller):
            if acknowledged:
                now = check(caller, acknowledged, deleted)
                assert now >= newest
                newest = now
            writers = Writers(caller, round_number)
            writers.wait_for(chance.randrange(1, 120))
            process.kill()
            process.wait()
            writers.join()
        if newest and writers.acknowledged:
            assert min(state.version for state in writers.acknowledged.values()) > newest  # versions went on from there
        acknowledged |= writers.acknowledged
        deleted |= writers.deleted
    with serving(tmp_path / "data") as (_, caller):
        assert check(caller, acknowledged, deleted) >= newest


@pytest.mark.slow
def test_a_watch_resumes_after_a_restart_from_a_version_of_its_end(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as (process, caller):
        first = caller.call("POST", MAPS, config_map("first")).json["metadata"]["resourceVersion"]
        caller.call("POST", MAPS, config_map("second"))
        newest = caller.call("GET", MAPS).json["metadata"]["resourceVersion"]
        process.kill()
    with serving(tmp_path / "data") as (_, caller):
        last = caller.call("POST", MAPS, config_map("last")).json
        [event] = caller.events(f"{MAPS}?watch=true&resourceVersion={newest}", 1)
        assert (event["type"], event["object"]) == ("ADDED", last)
        # The watch cache of kube-apiserver begins at its start: clients with older versions list again.
        [expired] = caller.events(f"{MAPS}?watch=true&resourceVersion={first}", 1)
        assert expired["object"]["code"] == 410
        assert expired["object"]["message"] == f"too old resource version: {first} ({newest})"


@pytest.mark.slow
def test_a_list_continues_with_its_next_page_after_a_restart(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as (_, caller):
        page = caller.call("GET", "/api/v1/namespaces?limit=1").json
    with serving(tmp_path / "data") as (_, caller):
        rest = caller.call("GET", f"/api/v1/namespaces?continue={page['metadata']['continue']}").json
        assert [each["metadata"]["name"] for each in rest["items"]] == [
            "kube-node-lease",
            "kube-public",
            "kube-system",
        ]


def test_a_second_server_on_the_same_file_is_rejected(tmp_path: Path) -> None:
    with serving(tmp_path / "data") as (_, caller):
        second = subprocess.run(
            [sys.executable, "-m", "masthead.server", "--data", str(tmp_path / "data"), "--no-auth"],
            capture_output=True,
            text=True,
            check=False,
        )
        assert second.returncode == 2
        assert second.stderr == (
            f"python -m masthead.server: {tmp_path / 'data'} is in use by another server. "
            "Stop that one, or name another file.\n"
        )
        assert caller.call("POST", MAPS, config_map("still-serving")).code == 201


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="there is no limit on the size of files")
def test_a_write_to_a_full_disk_is_rejected_and_not_visible(tmp_path: Path) -> None:
    with serving(tmp_path / "data", largest_file=500_000) as (process, caller):
        responses = [
            caller.call("POST", MAPS, config_map(f"map-{number}", data={"text": "x" * 50_000})) for number in range(12)
        ]
        stored = [each.json["metadata"]["name"] for each in responses if each.code == 201]
        response = next(each for each in responses if each.code != 201)
        code, reason, message = response.failure
        assert (code, reason) == (500, "")
        assert message.startswith(f"cannot write to {tmp_path / 'data'}: ")
        assert len(stored) > 2

        # An address that a refused service would have had is free for the next.
        services = [caller.call("POST", SERVICES, BIG_SERVICE) for _ in range(2)]
        assert [service.code for service in services] == [500, 500]

        listed = caller.call("GET", MAPS).json
        assert sorted(each["metadata"]["name"] for each in listed["items"]) == sorted(stored)
        newest = max(int(each["metadata"]["resourceVersion"]) for each in listed["items"])
        assert int(listed["metadata"]["resourceVersion"]) == newest
        assert caller.call("GET", "/healthz").body == b"ok"
        process.kill()
        assert process.stderr is not None
        assert process.stderr.read() == ""
    with serving(tmp_path / "data") as (_, caller):
        listed = caller.call("GET", MAPS).json
        assert sorted(each["metadata"]["name"] for each in listed["items"]) == sorted(stored)
        assert caller.call("POST", MAPS, config_map("space-again")).code == 201
