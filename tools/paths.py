"""``python -m tools.paths``: how many calls, in how many files, four everyday paths through the package take.

Each path is walked once to warm it, and once more under a profile hook that counts the calls of Python functions
of this package. The figures say how much a reader has to follow, not how long anything takes.
"""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import subprocess
import sys
import tempfile
import threading
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

import masthead
import masthead.aio
import masthead.server

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType

_PACKAGE = str(Path(masthead.__file__).parent)
_DEPLOYMENT = {
    "apiVersion": "apps/v1",
    "kind": "Deployment",
    "spec": {
        "selector": {"matchLabels": {"app": "web"}},
        "template": {
            "metadata": {"labels": {"app": "web"}},
            "spec": {"containers": [{"name": "web", "image": "web:1"}]},
        },
    },
}
_CRD = Path(__file__).parents[1] / "tests" / "data" / "crds"


class Calls:
    """Counts calls of the package's functions, in every thread."""

    def __init__(self) -> None:
        self.files: Counter[str] = Counter()
        self.is_counting = False

    def install(self) -> None:
        """Hook into this thread and all later ones."""
        threading.setprofile(self._profile)
        sys.setprofile(self._profile)

    @contextlib.contextmanager
    def counting(self) -> Generator[None]:
        """Count from here to the end of the block."""
        self.files.clear()
        self.is_counting = True
        try:
            yield
        finally:
            self.is_counting = False

    def report(self) -> tuple[int, int]:
        """Return the number of calls, and of files."""
        return self.files.total(), len(self.files)

    def _profile(self, frame: FrameType, event: str, _argument: object) -> None:
        if self.is_counting and event == "call" and frame.f_code.co_filename.startswith(_PACKAGE):
            self.files[frame.f_code.co_filename] += 1


def blocking_get(calls: Calls, kubeconfig: str) -> None:
    """From ``pods.get`` to the socket and back."""
    with masthead.Client(kubeconfig=kubeconfig) as client:
        pods = client.core_v1.pods("default")
        pod = {"metadata": {"name": "web"}, "spec": {"containers": [{"name": "web", "image": "web:1"}]}}
        pods.create(pod)
        for _ in range(3):
            pods.get("web")
        with calls.counting():
            pods.get("web")


def watch_line(calls: Calls, kubeconfig: str) -> None:
    """From a line of a watch to ``on_update``."""
    asyncio.run(_watch_line(calls, kubeconfig))


async def _watch_line(calls: Calls, kubeconfig: str) -> None:
    async with masthead.aio.Client(kubeconfig=kubeconfig) as client:
        updated = asyncio.Event()
        informer = masthead.aio.SharedInformer(client.core_v1.config_maps("default"))
        informer.add_event_handler(on_update=lambda _old, _new: updated.set())
        config_maps = client.core_v1.config_maps("default")
        await config_maps.create({"metadata": {"name": "settings"}})
        async with informer:
            await informer.wait_for_cache_sync()
            for turn in range(3):
                updated.clear()
                if turn == 2:
                    await asyncio.sleep(0.3)  # until the connections are idle
                    _patch_elsewhere(kubeconfig, turn)
                    with calls.counting():
                        await updated.wait()
                else:
                    await config_maps.patch("settings", masthead.Patch.merge({"data": {"turn": str(turn)}}))
                    await updated.wait()


def _patch_elsewhere(kubeconfig: str, turn: int) -> None:
    code = (
        "import sys, masthead\n"
        "with masthead.Client(kubeconfig=sys.argv[1]) as client:\n"
        "    client.core_v1.config_maps('default').patch('settings',"
        " masthead.Patch.merge({'data': {'turn': sys.argv[2]}}))\n"
    )
    subprocess.Popen([sys.executable, "-c", code, kubeconfig, str(turn)])


def served_post(calls: Calls) -> None:
    """From the POST of a Deployment to the socket of a watcher, within the embedded server."""
    import urllib.request

    with masthead.server.run(token=None) as server:
        url = f"{server.url}/apis/apps/v1/namespaces/default/deployments"
        watcher = urllib.request.urlopen(f"{url}?watch=true&resourceVersion=0")
        for turn in range(3):
            body = json.dumps(_DEPLOYMENT | {"metadata": {"name": f"web-{turn}"}}).encode()
            request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
            with calls.counting() if turn == 2 else contextlib.nullcontext():
                urllib.request.urlopen(request).read()
                watcher.readline()
        watcher.close()


def generated_crd(calls: Calls) -> None:
    """``python -m masthead.codegen --crd``."""
    from masthead._codegen.command import main

    manifest = min(_CRD.glob("*.yaml"))
    for turn in range(2):
        output = io.StringIO()
        with (
            tempfile.TemporaryDirectory() as folder,
            contextlib.redirect_stdout(output),
            contextlib.redirect_stderr(output),
        ):
            arguments = ["--crd", str(manifest), "--out", f"{folder}/api", "--package", "api"]
            with calls.counting() if turn else contextlib.nullcontext():
                main(arguments)


def main() -> None:
    """Walk the paths, and print a line for each."""
    calls = Calls()
    calls.install()
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = f"{folder}/kubeconfig"
        program = [sys.executable, "-m", "masthead.server", "--kubeconfig-out", kubeconfig]
        server = subprocess.Popen(program, stdout=subprocess.PIPE, text=True)
        assert server.stdout is not None
        server.stdout.readline()
        walks: dict[str, Callable[[], None]] = {
            "blocking get": lambda: blocking_get(calls, kubeconfig),
            "watch line to on_update": lambda: watch_line(calls, kubeconfig),
            "POST to a watcher": lambda: served_post(calls),
            "codegen --crd": lambda: generated_crd(calls),
        }
        try:
            for name, walk in walks.items():
                walk()
                events, files = calls.report()
                print(f"{name:28}{events:8} calls {files:4} files")
        finally:
            server.terminate()
            server.wait()


if __name__ == "__main__":
    main()
