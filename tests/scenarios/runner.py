"""Plays a scenario through the whole stack: a server, a client and informers, in one loop whose time is virtual."""

from __future__ import annotations

import asyncio
import contextlib
import random
import tempfile
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.scenarios.checking_handler import CheckingHandler, Plain, plain
from tests.scenarios.cluster_model import ClusterModel
from tests.scenarios.scenario import (
    MATCHED,
    NAMESPACES,
    AddIndex,
    Compact,
    Delete,
    Fail,
    FallAsleep,
    Handler,
    Heal,
    Informer,
    Join,
    Leave,
    Put,
    Recreate,
    Restart,
    Scenario,
    SetClock,
    Step,
    Wait,
    shrunk,
)

from masthead._cache.informer.informer import SharedInformer
from masthead._cache.store.lister import Lister
from masthead._sansio.deltafifo import DeltaFIFO
from masthead.testing.virtual_time import VirtualLoop, now, run

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._meta.object import Object
    from masthead.aio import Client

CONVERGED_WITHIN: Final = 300.0
"""Virtual seconds in which everything converges once all faults are removed: a silent watch is abandoned
after 90, the longest wait for another attempt is 60, and a slow handler has to process everything."""
_LOOK_EVERY: Final = 3.0
_MANY: Final = 1000
_SHOWN: Final = 12
_USUAL: Final = 90.0
"""How often a watch is opened at most, where all is well."""
_A_MOMENT: Final = 0.01
"""The time in which dead connections are detected before a write: no write is sent twice."""


class InformerUnderTest:
    """An informer and its handlers."""

    def __init__(self, plan: Informer, client: Client, cluster: ClusterModel) -> None:
        self.plan = plan
        self.handlers: dict[str, CheckingHandler] = {}
        self._cluster = cluster
        resource: Callable[..., Any] = client.core_v1.pods if cluster.resource == "pods" else client.core_v1.config_maps
        self.informer: SharedInformer[Any] = SharedInformer(
            [resource(namespace) for namespace in plan.namespaces] or resource(),
            label_selector=plan.selector or None,
            hold=plan.hold,
            queue=DeltaFIFO if plan.is_delta_fifo else None,
            page_size=plan.page_size,
            watch_list=plan.watch_list,
            buffer_limit=plan.buffer_limit,
            resync=plan.resync,
            stall_after=plan.stall_after,
            indexers={"color": by_color},
        )
        self.indices = 1
        for handler in plan.handlers:
            self.join(handler)

    def join(self, plan: Handler) -> None:
        """Add a handler."""
        handler = CheckingHandler(
            plan,
            self.informer,
            self._cluster.written,
            # Notifications that are folded stand where their key first came, and a DeltaFIFO has its own order.
            is_ordered=len(self.plan.namespaces) < 2
            and not self.plan.is_delta_fifo
            and self.plan.buffer_limit >= _MANY,
        )
        self.handlers[plan.name] = handler
        handler.registration = self.informer.add_event_handler(handler, resync=plan.resync, name=plan.name)

    async def leave(self, name: str) -> list[str]:
        """Remove a handler; returns the problems that it found."""
        handler = self.handlers.pop(name, None)
        if handler is None:
            return []
        await handler.registration.remove()
        return handler.problems

    def add_index(self) -> None:
        """Add an index."""
        self.informer.add_indexers({f"color{self.indices}": by_color})
        self.indices += 1

    def expected(self, state: Mapping[str, Plain]) -> dict[str, Plain]:
        """The part of a server's objects that this informer is to have."""
        namespaces, selector = self.plan.namespaces, self.plan.selector
        return {
            key: each
            for key, each in state.items()
            if (not namespaces or each["metadata"]["namespace"] in namespaces)
            and (not selector or each["metadata"]["labels"]["color"] in selector)
        }

    def differences(self, state: Mapping[str, Plain]) -> list[str]:
        """How the cache and the states of handlers differ from the server's objects."""
        wanted = self.expected(state)
        indexer = self.informer.indexer
        lister = Lister(indexer, "configmaps")  # one that does not warn before the sync
        found = {key: indexer.get_by_key(key) for key in indexer.list_keys()}
        problems = compared("the cache", wanted, found)
        problems += compared("the lister", wanted, {each.key: each for each in lister.list()})
        for namespace in NAMESPACES:
            part = {key: each for key, each in wanted.items() if key.startswith(f"{namespace}/")}
            listed = lister.namespace(namespace).list()
            problems += compared(f"the lister of {namespace}", part, {each.key: each for each in listed})
        for name in ("color", *(f"color{number}" for number in range(1, self.indices))):
            problems += self._index_differences(name, wanted)
        for handler in self.handlers.values():
            problems += compared(f"handler {handler.plan.name}", wanted, handler.known)
        return problems

    def _index_differences(self, name: str, wanted: Mapping[str, Plain]) -> list[str]:
        indexer = self.informer.indexer
        colors = {each["metadata"]["labels"]["color"] for each in wanted.values()}
        problems: list[str] = []
        if set(indexer.list_index_values(name)) != colors:
            problems.append(f"index {name} has {indexer.list_index_values(name)}, not {colors}")
        for color in colors:
            part = {key: each for key, each in wanted.items() if each["metadata"]["labels"]["color"] == color}
            listed = indexer.by_index(name, color)
            problems += compared(f"index {name} of {color}", part, {each.key: each for each in listed})
        return problems

    def ill_health(self) -> list[str]:
        """The problems of its health."""
        informer = self.informer
        health = informer.health
        problems: list[str] = []
        if not (informer.has_synced and health.is_healthy and health.state == "watching"):
            problems.append(f"not healthy: {health}")
        if health.objects != len(informer.indexer):
            problems.append(f"health counts {health.objects} objects")
        problems += [
            f"handler {name} has not synced"
            for name, handler in self.handlers.items()
            if not handler.registration.has_synced
        ]
        return problems


class ScenarioRunner:
    """One run of a scenario."""

    def __init__(self, scenario: Scenario, cluster: ClusterModel, client: Client) -> None:
        self.scenario = scenario
        self.cluster = cluster
        self.informers_under_test = [InformerUnderTest(informer, client, cluster) for informer in scenario.informers]
        self.problems: list[str] = []
        self.faults = 0

    async def perform(self) -> list[str]:
        """Run it to its end; returns the problems."""
        for step in self.scenario.before:
            await self._do(step)
        async with contextlib.AsyncExitStack() as stack:
            for informer_under_test in self.informers_under_test:
                await stack.enter_async_context(informer_under_test.informer)
            for step in self.scenario.steps:
                await self._do(step)
            self.cluster.server.faults.clear()
            await self._converge()
        for informer_under_test in self.informers_under_test:
            for handler in informer_under_test.handlers.values():
                self.problems += handler.problems
        return self.problems

    async def _do(self, step: Step) -> None:
        match step:
            case Put() | Delete() | Recreate():
                await self._write(step)
            case Restart():
                await self._restart(step)
            case Wait(seconds):
                await asyncio.sleep(seconds)
            case FallAsleep(seconds):
                loop = asyncio.get_running_loop()
                assert isinstance(loop, VirtualLoop)
                loop.advance(seconds)
                await asyncio.sleep(_A_MOMENT)
            case Join(informer, handler):
                self.informers_under_test[informer % len(self.informers_under_test)].join(handler)
            case Leave(informer, name):
                self.problems += await self.informers_under_test[informer % len(self.informers_under_test)].leave(name)
            case AddIndex(informer):
                self.informers_under_test[informer % len(self.informers_under_test)].add_index()
            case _:
                self._afflict(step)

    def _afflict(self, step: Fail | Heal | Compact | SetClock) -> None:
        server = self.cluster.server
        match step:
            case Fail(fault, how):
                self.faults += 1
                getattr(server.faults, fault)(resource=self.cluster.resource, **how)
            case Heal():
                server.faults.clear()
            case Compact():
                server.compact()
            case SetClock(seconds):
                self.cluster.clock.shift(seconds)

    async def _write(self, step: Put | Delete | Recreate) -> None:
        if not isinstance(step, Put):
            await self.cluster.delete(step.namespace, step.name)
        if not isinstance(step, Delete):
            await self.cluster.put(step.namespace, step.name, step.color)

    async def _restart(self, step: Restart) -> None:
        await self.cluster.stop(crashes=step.crashes)
        await asyncio.sleep(step.down)
        await self.cluster.start(keeps_data=step.keeps_data, has_watch_list=step.has_watch_list)
        await asyncio.sleep(_A_MOMENT)

    async def _converge(self) -> None:
        """Write once more, wait until every handler has processed it, then check everything."""
        began = now()
        for namespace in NAMESPACES:
            await self.cluster.put(namespace, "last", MATCHED)
        state = await self.cluster.state()
        found = ["not checked yet"]
        while found and now() - began < CONVERGED_WITHIN:
            await asyncio.sleep(_LOOK_EVERY)
            found = [
                f"informer {number}: {problem}"
                for number, informer_under_test in enumerate(self.informers_under_test)
                for problem in (*informer_under_test.differences(state), *informer_under_test.ill_health())
            ]
        self.problems += found
        if not found:
            for informer_under_test in self.informers_under_test:
                for namespace in informer_under_test.plan.namespaces or NAMESPACES:
                    last = informer_under_test.informer.lister.namespace(namespace).get("last")
                    await informer_under_test.informer.wait_for_version(last, timeout=CONVERGED_WITHIN)
        self._check_moderation()

    def _check_moderation(self) -> None:
        """Check that informers retry with backoff under any fault."""
        faults = self.faults + sum(isinstance(step, Restart | Compact) for step in self.scenario.steps)
        allowed = 0.0
        for plan in self.scenario.informers:
            opened = now() / min(plan.stall_after or _USUAL, _USUAL)
            allowed += max(1, len(plan.namespaces)) * (10 + 14 * faults + 4 * opened)
        requests = self.cluster.requests
        if len(requests) > allowed:
            last = [f"{request.info} {request.query} {request.code}" for request in requests[-10:]]
            self.problems.append(f"{len(requests)} lists and watches, where {allowed:.0f} are enough: {last}")


def run_scenario(scenario: Scenario) -> list[str]:
    """Run a scenario; returns the problems, if any."""
    before = open_files(), set(threading.enumerate())
    random.seed(scenario.seed)
    with contextlib.ExitStack() as stack:
        folder = (
            Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="masthead-"))) if scenario.needs_file else None
        )
        problems = run(_run_in_loop(scenario, folder))
    problems += [f"{leak} is left open" for leak in open_files() - before[0]]
    problems += [f"{thread} is left" for thread in set(threading.enumerate()) - before[1]]
    return problems


def describe_failure(scenario: Scenario) -> str:
    """The report of a failing scenario, minimised; empty if it passes."""
    problems = _run_or_report(scenario)
    if not problems:
        return ""
    smallest = shrunk(scenario, lambda each: bool(_run_or_report(each)))
    rest = _run_or_report(smallest) or ["(not every time)"]
    return "\n".join(
        (
            f"scenario {scenario.seed}; to run_scenario it alone: MASTHEAD_SOAK_SEED={scenario.seed}",
            *problems[:_SHOWN],
            f"\nThis much of it is enough:\nplay({smallest})",
            *rest[:_SHOWN],
        )
    )


def _run_or_report(scenario: Scenario) -> list[str]:
    try:
        return run_scenario(scenario)
    except Exception as error:  # noqa: BLE001 - any error has to show the scenario
        return traceback.format_exception(error)


async def _run_in_loop(scenario: Scenario, folder: Path | None) -> list[str]:
    cluster = ClusterModel(scenario.resource, seed=scenario.seed, data=folder, has_watch_list=scenario.has_watch_list)
    async with cluster.open() as client:
        problems = await ScenarioRunner(scenario, cluster, client).perform()
    for _ in range(3):
        await asyncio.sleep(0)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    return problems + [f"{task!r} is left" for task in left]


def by_color(obj: Object) -> list[str]:
    return [obj.metadata.labels["color"]]


def compared(who: str, wanted: Mapping[str, Plain], found: Mapping[str, Object | None]) -> list[str]:
    problems = [f"{who} lacks {key}" for key in wanted.keys() - found.keys()]
    problems += [f"{who} has {key}, which is not there" for key in found.keys() - wanted.keys()]
    for key in wanted.keys() & found.keys():
        obj = found[key]
        if obj is None or plain(obj) != wanted[key]:
            version = obj.metadata.resource_version if obj is not None else "nothing"
            problems.append(
                f"{who} has {key} at {version}, where the server has {wanted[key]['metadata']['resourceVersion']}"
            )
    return problems


def open_files() -> set[str]:
    """The open files of this process, where that can be measured."""
    folder = Path("/proc/self/fd")
    if not folder.is_dir():
        return set()
    found: set[str] = set()
    for each in folder.iterdir():
        with contextlib.suppress(OSError):  # the folder itself, which was open while it was read
            found.add(f"{each.name} ({each.readlink()})")
    return found
