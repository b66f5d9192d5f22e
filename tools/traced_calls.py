"""``python -m tools.traced_calls``: count the Python-level calls on four paths, and compare them with ceilings.

::

    make lint ── tools.traced_calls ──> a table; exit status 1 if a path exceeds its ceiling
    tools.traced_calls --functions "blocking pods.get" ──> the functions of one path, most frequent first

Counted are the ``call`` events of ``sys.setprofile`` in files of ``masthead`` and ``masthead_server``, in all threads:
calls of functions, and resumptions of generators and coroutines. Calls into the standard library, other packages and
functions written in C do not count. Everything is warm: a path runs `WARM_UP` times, then `MEASURED` times, and the
median of these counts, since a response may arrive in one part or in two. The two sides of a request run in different
processes, except on the server's path: there, the request comes from ``http.client``, which does not count either.

The paths:

- blocking pods.get: ``pods.get("web")`` on a resource of a blocking client, until the event loop is idle.
- watch line → on_update: a change of a ConfigMap arrives at an informer with one handler, until the loop is idle.
- event → ctx.apply: a change of a ConfigMap arrives at a manager, whose reconcile applies a Secret that differs from
  the last one and is not cached, until ``ctx.apply`` returns.
- POST of a Deployment: until the server is idle again.

Lists and sets of comprehensions are calls in Python 3.11 and none later, so the ceilings are those of 3.11.
"""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import dataclasses
import http.client
import json
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING, Final

import masthead
import masthead.aio
import masthead.server
import masthead_server
from masthead.api.core.v1 import ConfigMap, Pod, Secret

if TYPE_CHECKING:
    from collections.abc import Callable, Generator
    from types import FrameType


__all__ = ["CEILINGS", "CallCounter", "main"]

CEILINGS: Final = {
    "blocking pods.get": 102,
    "watch line → on_update": 92,
    "event → ctx.apply": 823,
    "POST of a Deployment": 672,
}
"""The most calls that a path may make. Lower a ceiling when its path became shorter. Only new steps raise one:
authorization and admission were allowed 5 % of a POST, and rules about two fields and fields behind gates 10 %; the
detection of fights was allowed four calls of an apply."""
WARM_UP: Final = 20
MEASURED: Final = 5
_IDLE_SECONDS: Final = 0.1
_TIMEOUT: Final = 60.0
_TOKEN: Final = "traced-calls"
_ROOTS: Final = tuple(f"{Path(str(package.__file__)).parent}/" for package in (masthead, masthead_server))
_CONFIG_MAPS: Final = "/api/v1/namespaces/default/configmaps"
_DEPLOYMENTS: Final = "/apis/apps/v1/namespaces/default/deployments"


class CallCounter:
    """Counts calls into our packages, in all threads that start after it is installed."""

    def __init__(self) -> None:
        self._is_counting = False
        self.functions = Counter[str]()

    def install(self) -> None:
        """Observe this thread and all threads to come."""
        threading.setprofile(self._observe)
        sys.setprofile(self._observe)

    def start(self) -> None:
        """Count from zero, once no thread makes calls."""
        self._is_counting = True
        self.wait_until_idle()
        self.functions = Counter[str]()

    def stop(self) -> None:
        """Stop counting; later calls do not count."""
        self._is_counting = False

    def wait_until_idle(self) -> None:
        """Wait until no call was counted for a moment."""
        before = -1
        while before != self.functions.total():
            before = self.functions.total()
            time.sleep(_IDLE_SECONDS)  # noqa: TID251 - nothing announces that no call follows

    def _observe(self, frame: FrameType, event: str, argument: object) -> None:
        del argument
        if self._is_counting and event == "call":
            code = frame.f_code
            if code.co_filename.startswith(_ROOTS):
                self.functions[f"{Path(code.co_filename).stem}.{code.co_qualname}"] += 1


class RawClient:
    """Sends requests without any code of ours, on one connection."""

    def __init__(self, url: str) -> None:
        self._connection = http.client.HTTPConnection(url.removeprefix("http://"), timeout=_TIMEOUT)
        self._headers = {"Authorization": f"Bearer {_TOKEN}"}

    def send(self, method: str, path: str, body: dict[str, object]) -> None:
        """Send a request, and wait for its response."""
        media_type = "application/merge-patch+json" if method == "PATCH" else "application/json"
        self._connection.request(method, path, json.dumps(body), self._headers | {"Content-Type": media_type})
        response = self._connection.getresponse()
        content = response.read()
        if response.status >= http.client.BAD_REQUEST:
            raise RuntimeError(f"{method} {path}: {response.status} {content[:500]!r}")

    def close(self) -> None:
        """Close the connection."""
        self._connection.close()


@dataclasses.dataclass(frozen=True)
class ServerAddress:
    """A server in another process.

    Attributes:
        url: Its address without TLS, for `RawClient`.
        kubeconfig: Its kubeconfig, with TLS as clusters have it.
    """

    url: str
    kubeconfig: Path


@contextlib.contextmanager
def serving_elsewhere() -> Generator[ServerAddress]:
    """Run a server in a separate process."""
    with tempfile.TemporaryDirectory() as folder:
        kubeconfig = Path(folder, "kubeconfig.yaml")
        # Bookmarks would count on the paths of a watch.
        options = ("--no-kubelet", "--bookmark-every", "3600", "--token", _TOKEN, "--kubeconfig-out", str(kubeconfig))
        process = subprocess.Popen(
            [sys.executable, "-m", "masthead.server", *options], stdout=subprocess.PIPE, text=True
        )
        try:
            assert process.stdout is not None
            url = next(word for line in process.stdout for word in line.split() if word.startswith("http://"))
            yield ServerAddress(url, kubeconfig)
        finally:
            process.terminate()
            process.communicate()


def measure(counter: CallCounter, run_once: Callable[[int], None], *, until_idle: bool) -> list[Counter[str]]:
    """Warm a path up, then count its calls a few times."""
    counter.stop()
    for number in range(WARM_UP):
        run_once(number)
    counts: list[Counter[str]] = []
    for number in range(WARM_UP, WARM_UP + MEASURED):
        counter.start()
        run_once(number)
        if until_idle:
            counter.wait_until_idle()
        counter.stop()
        counts.append(counter.functions)
    return counts


def count_get(counter: CallCounter, server: ServerAddress) -> list[Counter[str]]:
    """Count the calls of a blocking get."""
    with masthead.Client(kubeconfig=server.kubeconfig) as client:
        pods = client.core_v1.pods("default")
        pods.create(Pod.new("web", spec={"containers": [{"name": "web", "image": "nginx"}]}))
        return measure(counter, lambda _: void(pods.get("web")), until_idle=True)


def count_update(counter: CallCounter, server: ServerAddress) -> list[Counter[str]]:
    """Count the calls from a line of a watch to a handler."""
    is_updated = threading.Event()
    raw = RawClient(server.url)
    raw.send("POST", _CONFIG_MAPS, {"metadata": {"name": "watched"}, "data": {"number": "-1"}})

    def update(number: int) -> None:
        is_updated.clear()
        raw.send("PATCH", f"{_CONFIG_MAPS}/watched", {"data": {"number": str(number)}})
        wait_for(is_updated)

    with contextlib.closing(raw), masthead.Client(kubeconfig=server.kubeconfig) as client:
        factory = masthead.SharedInformerFactory(client)
        factory.core_v1.config_maps.informer.add_event_handler(on_update=lambda _old, _new: is_updated.set())
        with factory:
            factory.wait_for_cache_sync(timeout=_TIMEOUT)
            return measure(counter, update, until_idle=True)


def count_reconcile(counter: CallCounter, server: ServerAddress) -> list[Counter[str]]:
    """Count the calls from a line of a watch to the end of ``ctx.apply``."""
    is_applied = threading.Event()
    manager = masthead.Manager("traced-calls")
    raw = RawClient(server.url)
    raw.send(
        "POST",
        _CONFIG_MAPS,
        {"metadata": {"name": "reconciled", "labels": {"copy": "secret"}}, "data": {"number": "-1"}},
    )

    @manager.controller(ConfigMap, label_selector="copy=secret")
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], settings: ConfigMap) -> None:
        await ctx.apply(Secret.new("reconciled", string_data={"number": settings.data["number"]}))
        counter.stop()
        is_applied.set()

    def update(number: int) -> None:
        is_applied.clear()
        raw.send("PATCH", f"{_CONFIG_MAPS}/reconciled", {"data": {"number": str(number)}})
        wait_for(is_applied)

    async def run() -> list[Counter[str]]:
        async with (
            masthead.aio.Client(kubeconfig=server.kubeconfig) as client,
            manager.running(client, metrics_bind="0", probe_bind="0", detect_mutations=False),
        ):
            return await asyncio.to_thread(measure, counter, update, until_idle=False)

    with contextlib.closing(raw):
        return asyncio.run(run())


def count_post(counter: CallCounter) -> list[Counter[str]]:
    """Count the calls of the server for a new Deployment."""
    labels = {"app": "web"}
    template = {
        "metadata": {"labels": labels},
        "spec": {"containers": [{"name": "web", "image": "nginx"}]},
    }
    spec = {"replicas": 1, "selector": {"matchLabels": labels}, "template": template}
    with masthead.server.run(token=_TOKEN) as server, contextlib.closing(RawClient(server.url)) as raw:

        def post(number: int) -> None:
            raw.send("POST", _DEPLOYMENTS, {"metadata": {"name": f"web-{number}"}, "spec": spec})

        return measure(counter, post, until_idle=True)


def wait_for(event: threading.Event) -> None:
    """Wait for an event, not for ever."""
    if not event.wait(_TIMEOUT):
        raise RuntimeError("The path did not end.")


def void(result: object) -> None:
    """Ignore a result."""
    del result


def count_all() -> dict[str, list[Counter[str]]]:
    """Count the calls of all paths."""
    counter = CallCounter()
    counter.install()
    with serving_elsewhere() as server:
        counts = [count(counter, server) for count in (count_get, count_update, count_reconcile)]
    return dict(zip(CEILINGS, [*counts, count_post(counter)], strict=True))


def main() -> int:
    """Print the table; return the exit status."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n", 1)[0])
    parser.add_argument("--functions", choices=CEILINGS, help="list the functions of this path, too")
    listed = parser.parse_args().functions
    counts = count_all()
    print(f"{'path':<24} {'calls':>6} {'ceiling':>8}")
    is_exceeded = False
    for path, ceiling in CEILINGS.items():
        calls = int(statistics.median(functions.total() for functions in counts[path]))
        is_exceeded |= calls > ceiling
        print(f"{path:<24} {calls:>6,} {ceiling:>8,}{'  exceeded' if calls > ceiling else ''}")
    if listed:
        for function, calls in counts[listed][-1].most_common():
            print(f"{calls:>6}  {function}")
    return int(is_exceeded)


if __name__ == "__main__":
    sys.exit(main())
