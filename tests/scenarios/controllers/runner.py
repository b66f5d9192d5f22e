"""Plays a scenario of controllers: an operator, its users and all that goes wrong, in virtual time."""

from __future__ import annotations

import asyncio
import contextlib
import random
import tempfile
import threading
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from tests.scenarios.controllers.operator import FINALIZER, SUMMARY, Counting, OperatorUnderTest, Plot
from tests.scenarios.controllers.scenario import (
    NAMESPACES,
    BreakWatches,
    Compact,
    ControllerScenario,
    CrashReplica,
    CutOff,
    Fail,
    Heal,
    Misbehave,
    PauseReplica,
    RestartServer,
    StartReplica,
    StopReplica,
    Wait,
    shrunk,
)
from tests.scenarios.controllers.users import Users
from tests.scenarios.runner import open_files

import masthead
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.errors import ConnectError
from masthead.meta import Patch
from masthead.testing import Environment
from masthead.testing.virtual_time import now, run

if TYPE_CHECKING:
    from tests.scenarios.controllers.scenario import Step

    from masthead._transport.contract import Transport, TransportRequest, TransportResponse
    from masthead.testing import Replica

_SHOWN: Final = 12
_PATIENCE: Final = 20_000.0
"""Virtual seconds until everything has settled."""
_LONGEST_BACKOFF: Final = 1_100.0


class BreakableTransport:
    """Passes requests on, but for a while."""

    def __init__(self, transport: Transport) -> None:
        self._transport = transport
        self.cut_off_until = 0.0

    async def send(self, request: TransportRequest) -> TransportResponse:
        if now() < self.cut_off_until:
            raise ConnectError("cut off on purpose")
        return await self._transport.send(request)

    async def close(self) -> None:
        await self._transport.close()


class ControllerScenarioRunner:
    """One run of a scenario."""

    def __init__(self, scenario: ControllerScenario, env: Environment, operator: OperatorUnderTest) -> None:
        self.scenario = scenario
        self.env = env
        self.operator = operator
        self.problems: list[str] = []
        self.transports: dict[str, BreakableTransport] = {}
        self.later: list[asyncio.Task[None]] = []
        self.users = Users(env.client)
        operator.on_race = self.users.race

    async def perform(self) -> list[str]:
        """Play it to its end; returns the problems."""
        for namespace in NAMESPACES:
            summary = ConfigMap.new(SUMMARY, labels={"kind": SUMMARY})
            await self.env.client.core_v1.config_maps(namespace).create(summary)
        for step in self.scenario.before:
            await self._do(step)
        for _ in range(self.scenario.operator.replicas):
            await self._start_replica()
        for step in self.scenario.steps:
            await self._do(step)
        await self._calm_down()
        await self._check_state("in the end")
        self._check_foreign_changes_seen()
        await self._check_quiet("nothing happens")
        await self._check_restart()
        await self._check_one_change()
        return self.problems + self.operator.judge.problems

    # Steps.

    async def _do(self, step: Step) -> None:
        match step:
            case Wait(seconds):
                await asyncio.sleep(seconds)
            case Misbehave(mishap):
                self.operator.mishaps.append(mishap)
            case Fail() | Heal() | Compact() | BreakWatches() | RestartServer():
                await self._afflict(step)
            case StartReplica() | StopReplica() | CrashReplica() | PauseReplica() | CutOff():
                await self._change_replicas(step)
            case _:
                await self.users.do(step)

    async def _afflict(self, step: Fail | Heal | Compact | BreakWatches | RestartServer) -> None:
        server = self.env.server
        match step:
            case Fail(fault, how):
                getattr(server.faults, fault)(**how)
            case Heal():
                server.faults.clear()
            case Compact():
                server.compact()
            case BreakWatches():
                for watch in list(server._handler.watchers):
                    watch.abort()
            case RestartServer(down):
                await self.env.stop_server()
                await asyncio.sleep(down)
                await self.env.start_server()

    async def _change_replicas(self, step: StartReplica | StopReplica | CrashReplica | PauseReplica | CutOff) -> None:
        match step:
            case StartReplica():
                # Without an election, two would be a mistake of the user.
                if self.scenario.operator.elects or not self.env.replicas:
                    await self._start_replica()
            case StopReplica(which) if replica := self._replica(which):
                await replica.stop()
            case CrashReplica(which) if replica := self._replica(which):
                await replica.crash()
            case PauseReplica(which, seconds) if replica := self._replica(which):
                self._pause(replica, seconds)
            case CutOff(which, seconds) if replica := self._replica(which):
                self.transports[replica.name].cut_off_until = now() + seconds
            case _:
                pass  # there is no such replica

    async def _start_replica(self) -> None:
        replica = await self.env.start(self.operator.manager)
        made: list[BreakableTransport] = []

        def wrap(transport: Transport) -> Transport:
            made.append(BreakableTransport(transport))
            return made[0]

        replica.client.rest.wrap_transport(wrap)
        self.transports[replica.name] = made[0]

    def _replica(self, which: int) -> Replica | None:
        running = [replica for replica in self.env.replicas if not replica.is_paused]
        return running[which % len(running)] if running else None

    def _pause(self, replica: Replica, seconds: float) -> None:
        self.operator.judge.paused.add(id(replica.client.rest))
        replica.pause()

        async def resume() -> None:
            await asyncio.sleep(seconds)
            if replica.is_paused:
                replica.resume()

        self.later.append(asyncio.get_running_loop().create_task(resume()))

    # The end.

    async def _calm_down(self) -> None:
        """Let nothing go wrong any more, and wait until nothing is left to do."""
        self.env.server.faults.clear()
        self.operator.mishaps.clear()
        for transport in self.transports.values():
            transport.cut_off_until = 0.0
        for task in self.later:
            await task
        if not self.env.replicas:
            await self._start_replica()
        await self.env.wait_for_idle(retries_within=_LONGEST_BACKOFF, timeout=_PATIENCE)
        await self.env.advance(10)  # postponed reconciles
        await self.env.wait_for_idle(retries_within=_LONGEST_BACKOFF, timeout=_PATIENCE)

    async def _check_state(self, when: str) -> None:
        """Compare what there is with what there should be."""
        client = self.env.client
        plots = {item.key: item for item in (await client.resource(Plot).list()).items}
        secrets = {item.key: item for item in (await client.core_v1.secrets(None).list()).items}
        maps = (await client.core_v1.config_maps(None).list(label_selector="plot")).items
        for plot in plots.values():
            self._check_plot(plot, secrets, maps, when)
        owned = {owner_reference.uid for one in maps for owner_reference in one.metadata.owner_references}
        uids = {each.metadata.uid for each in plots.values()}
        self._complain_if(owned - uids, f"{when}: copies of plots that are gone")
        outside = self.operator.outside.things
        self._complain_if(outside.keys() - uids, f"{when}: things of plots that are gone")
        self._complain_if(uids - outside.keys(), f"{when}: plots without a thing")
        for namespace in NAMESPACES:
            summary = await client.core_v1.config_maps(namespace).get(SUMMARY)
            count = str(sum(each.metadata.namespace == namespace for each in plots.values()))
            if summary.data.get("count") != count:
                self.problems.append(
                    f"{when}: {namespace} has {count} plots, and a summary of {summary.data.get('count')}"
                )

    def _check_plot(self, plot: Plot, secrets: dict[str, Secret], maps: list[ConfigMap], when: str) -> None:
        where = f"{when}: plot {plot.key}"
        if plot.metadata.deletion_timestamp is not None:
            self.problems.append(f"{where} is being deleted, and stays")
            return
        if FINALIZER not in plot.metadata.finalizers:
            self.problems.append(f"{where} has no finalizer")
        secret = secrets.get(f"{plot.metadata.namespace}/{plot.spec.secret}")
        text = str(secret.data.get("text")) if secret is not None else ""
        wanted = {"color": plot.spec.color, "secret": text}
        copies = [each for each in maps if any(o.uid == plot.metadata.uid for o in each.metadata.owner_references)]
        if len(copies) != plot.spec.copies:
            self.problems.append(f"{where} has {len(copies)} copies, and wants {plot.spec.copies}")
        for copy in copies:
            if {**copy.data, **wanted} != copy.data:
                self.problems.append(f"{where}: copy {copy.metadata.name} has {copy.data}, and not {wanted}")
        status = plot.status
        if status.copies != plot.spec.copies or status.observed_generation != plot.metadata.generation:
            self.problems.append(
                f"{where}: generation {plot.metadata.generation}, {plot.spec.copies} copies, and status {status}"
            )

    async def _check_quiet(self, when: str) -> None:
        """An operator that has nothing to do writes nothing."""
        self.env.clear()
        await self.env.advance(130)
        await self.env.wait_for_idle()
        if self.env.writes:
            self.problems.append(f"{when}, and yet: {', '.join(self.env.writes[:_SHOWN])}")

    async def _check_restart(self) -> None:
        """A new process looks at everything, and has nothing to write either."""
        for replica in self.env.replicas:
            await replica.stop()
        self.env.clear()
        await self._start_replica()
        await self.env.wait_for_idle(retries_within=_LONGEST_BACKOFF, timeout=_PATIENCE)
        if self.env.writes:
            self.problems.append(f"after a restart: {', '.join(self.env.writes[:_SHOWN])}")

    async def _check_one_change(self) -> None:
        """One change leads to one reconcile, and to another that finds nothing to do, unless own writes are ignored."""
        plan = self.scenario.operator
        if plan.requeue or plan.resync:
            return
        plots = self.env.client.resource(Plot, "default")
        spec = {"color": "black", "copies": 2}
        await self.users.put(plots, Plot.new("last", spec=spec), {"spec": spec})
        await self.env.wait_for_idle(retries_within=_LONGEST_BACKOFF, timeout=_PATIENCE)
        before = self.operator.judge.reconciles.copy()
        change = Patch.merge({"spec": {"color": "white", "copies": 2 + plan.workers % 2}})
        await plots.patch("last", change)
        await self.env.wait_for_idle(retries_within=_LONGEST_BACKOFF, timeout=_PATIENCE)
        done = self.operator.judge.reconciles - before
        # A patch that names no version is not known to be an own write.
        expected = {1 if plan.ignores_own else 2} if plan.style != "generate" else {1, 2, 3}
        if done["plots", "default/last"] not in expected:
            self.problems.append(f"one change led to {done}")
        await self._check_state("after one change")
        await self._check_quiet("after one change, nothing happens")

    def _check_foreign_changes_seen(self) -> None:
        """For each change of others, there was a reconcile that saw it, unless one has deleted the object unseen."""
        judge = self.operator.judge
        for resource, key, uid, version in self.users.writes:
            found = judge.seen.get(("plots", key), {}).get(resource, 0)
            if found < version and key in self._living() and not judge.was_deleted(uid):
                self.problems.append(f"no reconcile of {key} has seen version {version} of {resource}, only {found}")

    def _living(self) -> set[str]:
        return set(self.env.server.versions(masthead.GroupVersionResource("example.com", "v1", "plots")))

    def _complain_if(self, found: Any, what: str) -> None:
        if found:
            self.problems.append(f"{what}: {sorted(found)}")


def run_scenario(scenario: ControllerScenario) -> list[str]:
    """Run a scenario; returns the problems, if any."""
    before = open_files(), set(threading.enumerate())
    random.seed(scenario.seed)
    with contextlib.ExitStack() as stack:
        options: dict[str, object] = {"seed": scenario.seed}
        if scenario.needs_file:
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="masthead-"))
            options["data"] = Path(folder) / "objects"
        problems = run(_run_in_loop(scenario, options))
    problems += [f"{leak} is left open" for leak in open_files() - before[0]]
    problems += [f"{thread} is left" for thread in set(threading.enumerate()) - before[1] if not thread.daemon]
    return problems


async def _run_in_loop(scenario: ControllerScenario, options: dict[str, object]) -> list[str]:
    operator = OperatorUnderTest(scenario.operator)
    async with Environment(
        crds=[Plot],
        server_options=options,
        leader_election_namespace="default",
        graceful_timeout=10.0,
        # Renewing costs most of the time, in real seconds.
        lease_duration=45.0,
        renew_deadline=30.0,
        retry_period=7.0,
    ) as env:
        runner = ControllerScenarioRunner(scenario, env, operator)
        if scenario.is_exact:
            operator.most_copies = Counting(env.server, operator.judge)
        problems = await runner.perform()
    for _ in range(3):
        await asyncio.sleep(0)
    left = asyncio.all_tasks() - {asyncio.current_task()}
    return problems + [f"{task!r} is left" for task in left]


def describe_failure(scenario: ControllerScenario) -> str:
    """The report of a failing scenario, minimised; empty if it passes."""
    problems = _run_or_report(scenario)
    if not problems:
        return ""
    smallest = shrunk(scenario, lambda each: bool(_run_or_report(each)))
    rest = _run_or_report(smallest) or ["(not every time)"]
    return "\n".join(
        (
            f"scenario {scenario.seed}; to run it alone: MASTHEAD_SOAK_SEED={scenario.seed}",
            *problems[:_SHOWN],
            f"\nThis much of it is enough:\nrun_scenario({smallest})",
            *rest[:_SHOWN],
        )
    )


def _run_or_report(scenario: ControllerScenario) -> list[str]:
    try:
        return run_scenario(scenario)
    except (Exception, asyncio.CancelledError) as error:  # noqa: BLE001 - any error has to show the scenario
        return traceback.format_exception(error)
