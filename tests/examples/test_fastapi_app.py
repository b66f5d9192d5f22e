"""fastapi_app.py, on the embedded server: in this process, and reloaded by uvicorn."""

from __future__ import annotations

import json
import os
import queue
import signal
import socket
import subprocess
import sys
import threading
import urllib.request
from contextlib import asynccontextmanager, contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import httpx
import pytest
import uvicorn
from examples.fastapi_app import State, app
from tests.examples.pods import new_pod

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator

    from masthead import aio
    from masthead.server import Server

PROGRAM = Path(__file__).parents[2] / "examples" / "fastapi_app.py"
WITHIN = 30.0
"""Seconds for a process to end after SIGTERM; it takes about one."""


@asynccontextmanager
async def http_client() -> AsyncIterator[httpx.AsyncClient]:
    """The application without sockets, and its state."""
    async with (
        app.router.lifespan_context(app),
        httpx.AsyncClient(transport=httpx.ASGITransport(app), base_url="http://app") as http,
    ):
        yield http


def cluster() -> State:
    """The state of the running application."""
    state: State = app.state.cluster
    return state


@pytest.fixture(autouse=True)
def kubeconfig(kube_server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The kubeconfig that the application finds."""
    path = tmp_path / "kubeconfig.yaml"
    kube_server.write_kubeconfig(path)
    monkeypatch.setenv("KUBECONFIG", str(path))
    return path


async def test_pods_come_from_the_cache_in_the_form_of_the_api(
    kube_server: Server, kube_aio_client: aio.Client
) -> None:
    pods = kube_aio_client.core_v1.pods("default")
    made = [await pods.create(new_pod(name)) for name in ("b", "a")]
    async with http_client() as http:
        await cluster().pods.wait_for_version(made[-1], timeout=10)
        before = len(kube_server.requests)

        assert (await http.get("/pods")).json() == [made[1].to_dict(), made[0].to_dict()]
        assert (await http.get("/pods/default/a")).json() == made[1].to_dict()
        assert len(kube_server.requests) == before


async def test_a_created_pod_is_found_by_the_next_request() -> None:
    async with http_client() as http:
        created = await http.post(
            "/pods/default", json={"metadata": {"name": "new"}, "spec": new_pod("new").spec.to_dict()}
        )
        found = await http.get("/pods/default/new")

    assert (created.status_code, found.status_code) == (201, 200)
    assert found.json() == created.json()
    assert created.json()["metadata"]["uid"]


async def test_errors_of_the_api_server_are_answered_with_its_status(kube_server: Server) -> None:
    body = new_pod("web").to_dict()
    async with http_client() as http:
        assert (await http.get("/pods/default/absent")).status_code == 404
        assert (await http.post("/pods/absent", json=body)).status_code == 404
        assert (await http.post("/pods/default", json={**body, "spec": {}})).status_code == 422
        assert (await http.post("/pods/default", json=body)).status_code == 201
        twice = await http.post("/pods/default", json=body)
        assert (twice.status_code, "already exists" in twice.json()["detail"]) == (409, True)
        kube_server.faults.fail(403, resource="pods", verb="create")
        assert (await http.post("/pods/default", json=body)).status_code == 403
        kube_server.faults.lose_response(resource="pods", verb="create")
        assert (await http.post("/pods/default", json=body)).status_code == 503


async def test_selectors_choose_pods_and_invalid_ones_are_bad_requests(kube_aio_client: aio.Client) -> None:
    made = await kube_aio_client.core_v1.pods("default").create(new_pod("web"))
    async with http_client() as http:
        await cluster().pods.wait_for_version(made, timeout=10)
        assert (await http.get("/pods", params={"selector": "app=other"})).json() == []
        assert len((await http.get("/pods", params={"selector": "app!=other"})).json()) == 1
        refused = await http.get("/pods", params={"selector": "a==b==c"})
    assert (refused.status_code, "a==b==c" in refused.json()["detail"]) == (400, True)


async def test_an_invalid_body_is_refused_with_the_path_of_the_field() -> None:
    async with http_client() as http:
        refused = await http.post("/pods/default", json={"spec": {"containers": [{"name": "web", "image": 7}]}})

    (error,) = refused.json()["detail"]
    assert refused.status_code == 422
    assert error["loc"] == ["body", "spec", "containers", 0, "image"]
    assert error["msg"] == "expected a string, got an integer (7)"


async def test_it_is_ready_once_the_cache_has_synced(kube_server: Server) -> None:
    refused = kube_server.faults.fail(403, resource="pods", times=None)
    async with http_client() as http:
        assert (await http.get("/readyz")).status_code == 503
        refused.remove()
        await cluster().pods.wait_for_cache_sync(timeout=30)
        ready = await http.get("/readyz")
        assert (ready.status_code, ready.json()["pods"]) == (200, 0)


class UvicornProcess:
    """``uvicorn --reload``: a supervisor, and the child that serves.

    Args:
        process: The supervisor, whose error output has the logs.
        port: The port where both listen.
    """

    def __init__(self, process: subprocess.Popen[str], port: int) -> None:
        self._process = process
        self._url = f"http://127.0.0.1:{port}"
        self._lines = queue.SimpleQueue[str]()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        assert self._process.stderr is not None
        for line in self._process.stderr:
            self._lines.put(line)

    def read_until(self, text: str, timeout: float = WITHIN) -> None:
        """Read the log up to a line with a text."""
        while text not in self._lines.get(timeout=timeout):
            pass

    def change(self, program: Path, text: str) -> None:
        """Change the program, and wait until another child serves."""
        program.write_text(text, "utf-8")
        for newer in range(60):
            # A change before the supervisor has first looked at the files goes unnoticed.
            with suppress(queue.Empty):
                self.read_until("Reloading", timeout=1)
                break
            modified = program.stat().st_mtime + newer + 1
            os.utime(program, (modified, modified))
        self.read_until("startup complete")

    def ask(self, path: str, body: object = None) -> Any:
        """What the application answers; a request during a restart waits for the next child."""
        data = None if body is None else json.dumps(body).encode()
        request = urllib.request.Request(f"{self._url}{path}", data, {"Content-Type": "application/json"})
        with urllib.request.urlopen(request, timeout=WITHIN) as response:
            return json.load(response)

    def terminate(self) -> int:
        """Ask it to stop, and return its exit code."""
        self._process.send_signal(signal.SIGTERM)
        self.read_until("Stopping reloader process")
        return self._process.wait(WITHIN)


@contextmanager
def reloaded(program: Path) -> Iterator[UvicornProcess]:
    """Run a program with ``uvicorn --reload``, for the length of a block."""
    # A socket that listens already: a request that comes too early waits, and is not refused.
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port, number = listener.getsockname()[1], listener.fileno()
        command = [sys.executable, "-m", uvicorn.__name__, "--reload", "--fd", str(number), f"{program.stem}:app"]
        process = subprocess.Popen(
            command, stderr=subprocess.PIPE, text=True, cwd=program.parent, pass_fds=[number], start_new_session=True
        )
    with process:
        try:
            yield UvicornProcess(process, port)
        finally:
            # The child, too, if the supervisor has not ended it.
            with suppress(ProcessLookupError):
                os.killpg(process.pid, signal.SIGKILL)


@pytest.mark.usefixtures("kubeconfig")
def test_uvicorn_reloads_it_and_ends(tmp_path: Path) -> None:
    program = tmp_path / "program" / PROGRAM.name
    program.parent.mkdir()
    text = PROGRAM.read_text("utf-8")
    program.write_text(text, "utf-8")
    with reloaded(program) as server:
        server.read_until("startup complete")
        server.ask("/pods/default", new_pod("first").to_dict())
        assert names(server.ask("/pods")) == ["first"]

        server.change(program, text.replace('title="Pods"', 'title="Changed"'))
        assert server.ask("/openapi.json")["info"]["title"] == "Changed"
        # The answer to a POST waits for the cache, here that of the new child.
        server.ask("/pods/default", new_pod("second").to_dict())
        assert names(server.ask("/pods")) == ["first", "second"]

        assert server.terminate() == 0


def names(pods: list[dict[str, Any]]) -> list[str]:
    """The names of pods."""
    return [pod["metadata"]["name"] for pod in pods]
