"""Everything at once: real threads, real sockets and real time, through the blocking façade."""

from __future__ import annotations

import contextlib
import itertools
import json
import random
import threading
from concurrent.futures import ThreadPoolExecutor, as_completed
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.scenarios.checking_handler import CheckingHandler, Plain
from tests.scenarios.runner import by_color, compared
from tests.scenarios.scenario import COLORS, Handler

import masthead
import masthead.server
from masthead._meta.patch import Patch
from masthead._sansio.backoff import Backoff
from masthead.api.core.v1 import ConfigMap
from masthead.config import Config

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from masthead._meta.object import Object
    from masthead.server import Server

_WRITERS: Final = 3
_READERS: Final = 2
_NAMES: Final = 15
_PATIENCE: Final = 60.0
_PAGE: Final = 4096

_FAULTS: Final[tuple[Callable[[Server], object], ...]] = (
    lambda server: server.faults.drop_watch(after=random.randint(0, 50)),
    lambda server: server.faults.cut_watch(after=random.randint(0, 50)),
    lambda server: server.faults.silence_watch(after=random.randint(0, 50)),
    lambda server: server.faults.expire_watch(after=random.randint(0, 50)),
    lambda server: server.faults.fail(503, verb="watch"),
    lambda server: server.faults.expire(),
    lambda server: server.faults.stale_lists(by=3, times=1),
    lambda server: server.compact(),
)


class ThreadCheckingHandler(CheckingHandler):
    """A handler that is called in a thread."""

    def __init__(self, name: str, informer: Any) -> None:
        super().__init__(Handler(name), informer)
        self._alone = threading.Lock()

    def on_add(self, obj: Object, is_initial: bool) -> object:
        with self._being_alone():
            return super().on_add(obj, is_initial)

    def on_update(self, old: Object, new: Object) -> object:
        with self._being_alone():
            return super().on_update(old, new)

    def on_delete(self, obj: Object, final_state_known: bool) -> object:
        with self._being_alone():
            return super().on_delete(obj, final_state_known)

    @contextlib.contextmanager
    def _being_alone(self) -> Iterator[None]:
        if not self._alone.acquire(blocking=False):
            self._complain("two calls at the same time")
            yield
            return
        try:
            yield
        finally:
            self._alone.release()
        if len(self.calls) > _PAGE:
            self.calls.clear()  # or the test itself would be what fills the memory


class Hammer:
    """A server, a client and an informer, and the threads that use them.

    Attributes:
        problems: What was wrong.
        counts: How often each thing was done.
    """

    def __init__(self, server: Server, client: masthead.Client) -> None:
        self._server = server
        self._client = client
        self._over = threading.Event()
        self.problems: list[str] = []
        self.counts: dict[str, int] = {}
        self._indices = ["color"]
        self.informer = masthead.SharedInformer(
            client.core_v1.config_maps(),
            indexers={"color": by_color},
            stall_after=2.0,
            buffer_limit=200,
            backoff=lambda: Backoff(first=0.02, cap=0.5),
        )
        self._stories = [self._join(self.informer, f"handler-{number}") for number in range(2)]

    def strike(self, seconds: float) -> None:
        """Run all threads for some seconds, wait until the informers have caught up, and compare."""
        jobs = [(self._write, number) for number in range(_WRITERS)]
        jobs += [(self._read, number) for number in range(_READERS)]
        jobs += [(self._come_and_go, 0), (self._come_and_go, 1), (self._fail, 0)]
        memory: list[int] = []
        with self.informer, ThreadPoolExecutor(len(jobs)) as pool:
            self.informer.wait_for_cache_sync(_PATIENCE)
            under_way = [pool.submit(job, number) for job, number in jobs]
            for _ in range(2):
                self._over.wait(seconds / 2)
                memory.append(_resident())
            self._over.set()
            for each in as_completed(under_way, timeout=_PATIENCE):
                each.result()
            self._server.faults.clear()
            self._converge()
        if memory[1] - memory[0] > 40_000_000:
            self.problems.append(f"the second half took {(memory[1] - memory[0]) / 1e6:.0f} MB more than the first")
        for handler in self._stories:
            self.problems += handler.problems

    def _write(self, number: int) -> None:
        chance = random.Random(number)
        resource = self._client.core_v1.config_maps("default")
        there: set[str] = set()
        while not self._over.is_set():
            name = f"w{number}-{chance.randrange(_NAMES)}"
            labels = {"color": chance.choice(COLORS)}
            if name not in there:
                resource.create(ConfigMap.new(name, labels=labels, data={"text": "some" * 20}))
                there.add(name)
            elif chance.random() < 0.25:
                resource.delete(name)
                there.discard(name)
            else:
                made = resource.patch(name, Patch.merge({"metadata": {"labels": labels}}))
                if chance.random() < 0.05:
                    self.informer.wait_for_version(made, timeout=_PATIENCE)
                    stored = self.informer.indexer.get_by_key(made.key)
                    if stored is None or int(stored.metadata.resource_version) < int(made.metadata.resource_version):
                        self.problems.append(f"{made.key} was waited for, and is not there")
            self._count("writes")

    def _read(self, number: int) -> None:
        indexer, lister = self.informer.indexer, self.informer.lister
        while not self._over.is_set():
            color = COLORS[number % len(COLORS)]
            keys = [each.key for each in lister.namespace("default").list()]
            if len(keys) != len(set(keys)):
                self.problems.append("an object was listed twice")
            for each in indexer.by_index("color", color):
                if each.metadata.labels["color"] != color:
                    self.problems.append(f"{each.key} is in the index as {color}")
            for key in keys[:5]:
                found = indexer.get_by_key(key)
                if found is not None and found.key != key:
                    self.problems.append(f"{found.key} is stored as {key}")
            self._count("reads")
            self._over.wait(0.002)

    def _come_and_go(self, number: int) -> None:
        for turn in itertools.count():
            if self._over.wait(0.05):
                return
            handler = self._join(self.informer, f"guest-{number}-{turn}")
            handler.registration.wait_for_cache_sync(_PATIENCE)
            self._over.wait(0.1)
            handler.registration.remove()
            calls = len(handler.calls)
            self.problems += handler.problems
            if number == 0 and turn < 5:
                self.informer.add_indexers({f"color-{turn}": by_color})
                self._indices.append(f"color-{turn}")
            if len(handler.calls) != calls:
                self.problems.append("a handler was called after it was removed")
            self._count("guests")

    def _fail(self, number: int) -> None:
        chance = random.Random(number)
        while not self._over.wait(0.4):
            chance.choice(_FAULTS)(self._server)
            self._count("faults")

    def _converge(self) -> None:
        last = self._client.core_v1.config_maps("default").create(ConfigMap.new("last", labels={"color": "red"}))
        self.informer.wait_for_version(last, timeout=_PATIENCE)
        state = _state(self._client)
        never = threading.Event()
        found = self._differences(state)
        for _ in range(int(_PATIENCE / 0.05)):
            if not found:
                return
            never.wait(0.05)
            found = self._differences(state)
        self.problems += found

    def _differences(self, state: Mapping[str, Plain]) -> list[str]:
        indexer = self.informer.indexer
        problems = compared("the cache", state, {each.key: each for each in indexer.list()})
        for name in self._indices:
            for color in COLORS:
                part = {key: each for key, each in state.items() if each["metadata"]["labels"]["color"] == color}
                indexed = indexer.by_index(name, color)
                problems += compared(f"index {name}", part, {each.key: each for each in indexed})
        for handler in self._stories:
            problems += compared(handler.plan.name, state, handler.known)
        if not self.informer.health.is_healthy:
            problems.append(f"not healthy: {self.informer.health}")
        return problems

    def _join(self, informer: Any, name: str) -> ThreadCheckingHandler:
        handler = ThreadCheckingHandler(name, informer)
        # A call may come before the handle is there.
        handler.registration = _NotSynced
        handler.registration = informer.add_event_handler(handler, name=name)
        return handler

    def _count(self, what: str) -> None:
        self.counts[what] = self.counts.get(what, 0) + 1


class _NotSynced:
    has_synced = False


def hammer(seconds: float) -> Hammer:
    """Run all of it for some seconds."""
    with masthead.server.run(
        controllers=False, bootstrap=False, token=None, bookmark_every=0.5, history=2000
    ) as server:
        with masthead.Client(Config(server=server.url)) as client:
            found = Hammer(server, client)
            found.strike(seconds)
        return found


def _state(client: masthead.Client) -> dict[str, Plain]:
    items = json.loads(client.rest.get("/api/v1/configmaps").body)["items"]
    return {
        f"{item['metadata']['namespace']}/{item['metadata']['name']}": {
            "apiVersion": "v1",
            "kind": "ConfigMap",
            **item,
        }
        for item in items
    }


def _resident() -> int:
    """How many bytes of memory this process uses, where that can be measured."""
    statm = Path("/proc/self/statm")
    return int(statm.read_text().split()[1]) * _PAGE if statm.exists() else 0
