"""A simulation of replicas that share a collection: random delays, losses, partitions, pauses, crashes and clocks.

A scenario is a seed. Replicas are generators, which yield `Sleep` and `Call`; the simulator runs them in virtual time,
loses and delays their requests and responses, independently, and checks after every event that no two work on one slot.
"""

from __future__ import annotations

import heapq
import itertools
import random
from collections.abc import Callable, Generator
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from masthead._sansio.lease_records import (
    Create,
    Lease,
    LeaseRecord,
    LeaseTiming,
    Read,
    TryOutcome,
    TryResult,
)
from masthead._sansio.leases import Election
from masthead._sansio.shard_machine import ShardMachine
from masthead._sansio.shard_table import GroupView, MemberLease, ShardTable, StoredTable, TableWrite
from masthead._sansio.sharding import ShardSet

SLOTS = 12
TIMING = LeaseTiming(15.0, 10.0, 2.0)
SLOWEST, FASTEST = 0.86, 1.2
"""Rates of clocks. Their ratio is below that of lease duration and renew deadline, as is required."""
STOPPING = 0.3
"""Seconds that work may take to stop when it must."""
FAULTS_UNTIL = 120.0
QUIET_FOR = 90.0
TABLE = "table"
EPOCH = datetime(2030, 1, 1, tzinfo=UTC)


TROUBLES = (
    "join",
    "leave",
    "crash",
    "pause",
    "pause",
    "cut",
    "cut",
    "blind",
    "sabotage",
    "nothing",
    "nothing",
)


class ConflictError(Exception):
    """A write was refused: its condition does not hold."""


class NoResponseError(Exception):
    """There is no response."""


class SafetyError(AssertionError):
    """Two replicas work on one slot."""


@dataclass
class Stored:
    """An object of the server: a lease, or the table."""

    uid: str
    version: int
    record: LeaseRecord | None = None
    table: str = ""


class Server:
    """Leases and a table, with versions; conditional writes, and consistent lists."""

    def __init__(self, *, honours_conditions: bool = True) -> None:
        self.objects: dict[str, Stored] = {}
        self._versions = itertools.count(1)
        self._honours_conditions = honours_conditions

    def list(self) -> GroupView:
        found = self.objects.get(TABLE)
        table = None
        if found is not None:
            try:
                table = StoredTable(ShardTable.read(found.table), found.uid, str(found.version))
            except ValueError as error:
                table = StoredTable(None, found.uid, str(found.version), str(error))
        leases = tuple(
            member_lease(name, replica) for name, replica in self.objects.items() if replica.record is not None
        )
        return GroupView(leases, table)

    def get(self, name: str) -> Lease | None:
        return self._lease(name) if name in self.objects else None

    def _lease(self, name: str) -> Lease:
        """An object as a write returns it; that of the table has no record."""
        found = self.objects[name]
        return Lease(found.record or LeaseRecord(), found.uid, str(found.version))

    def create(self, name: str, record: LeaseRecord | None = None, table: str = "") -> Lease:
        if name in self.objects:
            raise ConflictError
        version = next(self._versions)
        self.objects[name] = Stored(f"u{version}", version, record, table)
        return self._lease(name)

    def update(self, name: str, version: str, record: LeaseRecord | None = None, table: str = "") -> Lease:
        found = self.objects.get(name)
        if found is None or (self._honours_conditions and str(found.version) != version):
            raise ConflictError
        if (found.record, found.table) != (record, table):  # a write that changes nothing makes no version
            self.objects[name] = Stored(found.uid, next(self._versions), record, table)
        return self._lease(name)

    def delete(self, name: str, version: str) -> None:
        if name not in self.objects or str(self.objects[name].version) != version:
            raise ConflictError
        del self.objects[name]


def member_lease(name: str, stored: Stored) -> MemberLease:
    """A lease as a member lists it."""
    record = stored.record
    assert record is not None
    return MemberLease(
        name,
        stored.uid,
        str(stored.version),
        record.holder,
        record.seconds,
        record.transitions,
        str(record.renewed),
        is_new=record.acquired == record.renewed,
        division=f"{SLOTS}-uid",
    )


@dataclass
class Sleep:
    """Wait, by the replica's own clock."""

    seconds: float


@dataclass
class Call:
    """A request: what the server does, and for how long its response is waited for, by the own clock."""

    perform: Callable[[], Any]
    timeout: float = 5.0


Process = Generator[Sleep | Call, Any, None]


@dataclass
class Rules:
    """What a mutant does otherwise."""

    machine: type[ShardMachine] = ShardMachine
    drains: bool = True
    honours_conditions: bool = True
    stops: bool = True
    timing: LeaseTiming = TIMING
    looks_at_table: bool = True
    troubles: tuple[str, ...] = TROUBLES
    """Events of the replicas; some are frequent, so that defects show up soon."""
    slowness: float | None = None
    has_extreme_clocks: bool = False


class Replica:
    """One process: an elector for its lease, a loop for the table, and workers."""

    def __init__(self, world: World, name: str) -> None:
        self.world, self.name = world, name
        self.random = world.random
        rates = (SLOWEST, FASTEST)
        extreme = world.rules.has_extreme_clocks
        self.rate = self.random.choice(rates) if extreme else self.random.uniform(*rates)
        self.offset = self.random.uniform(0, 1000)
        self.rules = world.rules
        self.election = Election(name, world.rules.timing)
        self.machine = self.rules.machine(total=SLOTS, by="uid", lease_duration=TIMING.lease_duration)
        self.until = self.seen_until = float("-inf")
        self.working: set[int] = set()
        self.announced = ShardSet(total=SLOTS)
        self.is_leaving = self.is_dead = False
        self.is_member = False
        self.paused_until = 0.0
        self.cut_until = self.blind_until = 0.0
        self.drain_time = self.random.choice([0.0, 1.0, 6.0])
        world.spawn(self, self._live())

    def now(self) -> float:
        return self.offset + self.rate * self.world.time

    @property
    def may_be_at_work(self) -> bool:
        """Whether it may still be at work. A paused process does nothing."""
        if self.is_dead or self.world.time < self.paused_until:
            return False
        if not self.rules.stops:
            return True
        return self.now() < min(self.until, self.seen_until) + self.rate * STOPPING

    @property
    def is_valid(self) -> bool:
        return self.now() < min(self.until, self.seen_until)

    # Its processes

    def _live(self) -> Process:
        while not self.is_leaving:
            yield from self._campaign()
            if not self.is_member:
                break
            term = self.world.group(self._renew(), self._follow_table(), self._apply(), self._watch())
            self.world.spawn_all(self, term)
            while not term.is_over:
                yield Sleep(0.5)
            self.working.clear()
            self.announced = ShardSet(total=SLOTS)
            self.is_member = False
            if self._leaves():
                yield from self._attempt(is_release=True)
            self.election.end_term()
        self.is_dead = True

    def _leaves(self) -> bool:
        return self.is_leaving

    def _watch(self) -> Process:
        """Ends the term when it must, or when the replica is to leave and has drained."""
        while self.is_valid and self.is_member:
            if self.is_leaving:
                yield Sleep(self.drain_time)
                return
            yield Sleep(0.4)

    def _campaign(self) -> Process:
        while not self.is_leaving:
            result = yield from self._attempt()
            if result.outcome is TryOutcome.HELD:
                assert self.election.observed is not None
                lease = self.election.observed
                self.machine.join(f"{lease.uid}:{lease.record.transitions}")
                self.until = self.election.valid_until
                self.seen_until = self.until if self.rules.looks_at_table else float("inf")
                self.is_member = True
                return
            yield Sleep(self.election.next_try(self.now(), self.now(), self.random.random))

    def _renew(self) -> Process:
        while True:
            yield Sleep(TIMING.retry_period)
            result = yield from self._attempt()
            if result.outcome is TryOutcome.HELD and self.is_valid:
                self.until = self.election.valid_until
            elif result.outcome is TryOutcome.LOST:
                self.until = float("-inf")
                self.is_member = False

    def _attempt(self, *, is_release: bool = False) -> Generator[Sleep | Call, Any, TryResult]:
        begin = self.election.begin_release if is_release else self.election.begin
        step = begin(self.now(), EPOCH + timedelta(seconds=self.now()), self.random.random)
        server, name = self.world.server, self.name
        while not isinstance(step, TryResult):
            sent = self.now()
            try:
                if isinstance(step, Read):
                    found = yield Call(partial(server.get, name))
                    wall = EPOCH + timedelta(seconds=self.now())
                    step = self.election.read(found, self.now(), wall, lambda: 0.5)
                    continue
                if isinstance(step, Create):
                    stored = yield Call(partial(server.create, name, step.record))
                else:
                    stored = yield Call(partial(server.update, name, step.version, step.record))
                step = self.election.written(stored, sent, self.now())
            except (ConflictError, NoResponseError):
                step = self.election.failed()
        return step

    def _follow_table(self) -> Process:
        server = self.world.server
        while True:
            sent = self.now()
            try:
                if self.world.time < self.blind_until:
                    raise NoResponseError
                view = yield Call(server.list)
            except NoResponseError:
                yield Sleep(TIMING.retry_period)
                continue
            plan = self.machine.observe(view, self.now())
            if not plan.is_member:
                self.is_member = False
                return
            if self.rules.looks_at_table:
                self.seen_until = sent + TIMING.renew_deadline
            done = yield from self._perform(plan)
            yield Sleep(0.05 if done else TIMING.retry_period)

    def _perform(self, plan: Any) -> Generator[Sleep | Call, Any, bool]:
        server, done = self.world.server, False
        stamp = EPOCH + timedelta(seconds=self.now())
        for lease in plan.fences:
            ended = LeaseRecord("", 1, stamp, stamp, lease.transitions)
            found = yield from self._try(partial(server.update, lease.name, lease.version, ended))
            done = done or found is not None
        for lease in plan.deletions:
            yield from self._try(partial(server.delete, lease.name, lease.version))
        write: TableWrite | None = plan.write
        if write is not None:
            text = write.table.write()
            if write.version:
                written = yield from self._try(lambda: server.update(TABLE, write.version, table=text))
            else:
                written = yield from self._try(lambda: server.create(TABLE, table=text))
            if written is not None:
                self.machine.written(write, written.uid)
                done = True
        return done

    def _try(self, perform: Callable[[], Any]) -> Generator[Sleep | Call, Any, Lease | None]:
        """Send a request; returns what the server does, or nothing if it failed."""
        try:
            found: Lease | None = yield Call(perform)
        except (ConflictError, NoResponseError):
            return None
        return found

    def _apply(self) -> Process:
        """Workers: start on gained slots, stop on lost slots, then acknowledge."""
        while True:
            share = self.machine.share
            if share == self.announced and not self.machine.draining:
                yield Sleep(0.4)
                continue
            self.announced = share
            if self.rules.drains:
                yield Sleep(self.drain_time * self.random.random())
                self.working &= share.slots
                self.machine.acknowledge(share)
            else:
                self.machine.acknowledge(share)
                yield Sleep(self.drain_time)
                self.working &= share.slots
            # A slot lost in the meantime must not be started.
            self.working |= share.slots & self.machine.share.slots


@dataclass
class Group:
    """Processes that end together."""

    processes: tuple[Process, ...]
    is_over: bool = False


@dataclass(order=True)
class Event:
    time: float
    number: int
    run: Callable[[], None] = field(compare=False)


class World:
    """A server, replicas, and everything that goes wrong.

    Args:
        seed: What happens.
        rules: What the replicas do otherwise than they should.
    """

    def __init__(self, seed: int, rules: Rules | None = None) -> None:
        self.random = random.Random(seed)
        self.rules = rules or Rules()
        self.server = Server(honours_conditions=self.rules.honours_conditions)
        self.time = 0.0
        self.replicas: list[Replica] = []
        self._events: list[Event] = []
        self._numbers = itertools.count()
        self._names = itertools.count()
        self._loss = self.random.choice([0.0, 0.02, 0.1, 0.3])
        self._slowness = self.rules.slowness or self.random.choice([0.05, 0.5, 3.0])
        self._quiet = False

    # Scheduling

    def at(self, time: float, run: Callable[[], None]) -> None:
        heapq.heappush(self._events, Event(max(time, self.time), next(self._numbers), run))

    def group(self, *processes: Process) -> Group:
        return Group(processes)

    def spawn_all(self, replica: Replica, group: Group) -> None:
        for process in group.processes:
            self._step(replica, process, group, None, None)

    def spawn(self, replica: Replica, process: Process) -> None:
        self.at(self.time, lambda: self._step(replica, process, Group(()), None, None))

    def _step(self, replica: Replica, process: Process, group: Group, value: Any, error: Exception | None) -> None:
        if replica.is_dead or group.is_over:
            return
        if self.time < replica.paused_until:
            self.at(replica.paused_until, lambda: self._step(replica, process, group, value, error))
            return
        try:
            wanted = process.throw(error) if error is not None else process.send(value)
        except StopIteration:
            group.is_over = True
            return
        if isinstance(wanted, Sleep):
            after = wanted.seconds / replica.rate
            self.at(self.time + after, lambda: self._step(replica, process, group, None, None))
        else:
            self._send(replica, process, group, wanted)

    def _send(self, replica: Replica, process: Process, group: Group, call: Call) -> None:
        """Deliver a request and its response, each late or never. A request may arrive after its timeout."""
        is_open = [True]

        def respond(value: Any, error: Exception | None) -> None:
            if is_open[0]:
                is_open[0] = False
                self._step(replica, process, group, value, error)

        def arrive() -> None:
            value: Any = None
            error: Exception | None = None
            try:
                value = call.perform()
            except ConflictError as conflict:
                error = conflict
            self.check()
            if not self._is_lost(replica):
                self.at(self.time + self._delay(), lambda: respond(value, error))

        if not self._is_lost(replica):
            self.at(self.time + self._delay(), arrive)
        self.at(self.time + call.timeout / replica.rate, lambda: respond(None, NoResponseError()))

    def _is_lost(self, replica: Replica) -> bool:
        return not self._quiet and (self.time < replica.cut_until or self.random.random() < self._loss)

    def _delay(self) -> float:
        if self._quiet:
            return 0.02
        delay = self.random.expovariate(1 / self._slowness)
        # Some writes are very slow, and arrive after their timeout.
        return delay + (self.random.uniform(5, 40) if self.random.random() < 0.03 else 0.0)

    # What happens

    def run(self) -> None:
        """Run the scenario to its end.

        Raises:
            SafetyError: If two replicas work on one slot.
            AssertionError: If not every slot is owned in the end.
        """
        for _ in range(self.random.randint(1, 4)):
            self._add()
        time = self.random.expovariate(1 / 8)
        while time < FAULTS_UNTIL:
            self.at(time, self._disturb)
            time += self.random.expovariate(1 / 8)
        self._run_until(FAULTS_UNTIL)
        self._quiet = True
        if not any(not replica.is_dead and not replica.is_leaving for replica in self.replicas):
            self._add()
        self._run_until(FAULTS_UNTIL + QUIET_FOR)
        self._check_end()

    def _run_until(self, time: float) -> None:
        while self._events and self._events[0].time <= time:
            event = heapq.heappop(self._events)
            self.time = event.time
            event.run()
            self.check()
        self.time = time

    def _add(self) -> None:
        self.replicas.append(Replica(self, f"r{next(self._names)}"))

    def _disturb(self) -> None:
        living = [replica for replica in self.replicas if not replica.is_dead]
        chosen = self.random.choice(living) if living else None
        what = self.random.choice(self.rules.troubles)
        if what == "join" and len(living) < 5:
            self._add()
        elif chosen is None:
            return
        elif what == "leave":
            chosen.is_leaving = True
        elif what == "crash":
            chosen.is_dead = True
            if self.random.random() < 0.5:  # restarted, with the same identity
                self.at(
                    self.time + self.random.uniform(0, 20),
                    lambda: self.replicas.append(Replica(self, chosen.name)),
                )
        elif what == "pause":
            chosen.paused_until = self.time + self.random.choice([1.0, 8.0, 14.0, 20.0, 40.0])
        elif what == "cut":
            chosen.cut_until = self.time + self.random.choice([3.0, 9.0, 14.0, 18.0, 60.0])
        elif what == "isolate":
            chosen.cut_until = self.time + 60.0
        elif what == "blind":
            chosen.blind_until = self.time + self.random.choice([8.0, 30.0])
        elif what == "delete table":
            self.server.objects.pop(TABLE, None)
        elif what == "sabotage":
            self._sabotage()

    def _sabotage(self) -> None:
        """Delete a held lease or the table, or touch a lease."""
        held = [
            name
            for name, replica in self.server.objects.items()
            if replica.record is not None and replica.record.holder
        ]
        if not held:
            return
        name = self.random.choice(held)
        if self.random.random() < 0.3:
            self.server.objects.pop(TABLE, None)
        elif self.random.random() < 0.5:
            del self.server.objects[name]
        else:
            stored = self.server.objects[name]
            self.server.objects[name] = replace(stored, version=next(self.server._versions))

    # What must be true

    def check(self) -> None:
        seen: set[int] = set()
        for replica in self.replicas:
            if replica.working and replica.may_be_at_work:
                if both := seen & replica.working:
                    raise SafetyError(f"at {self.time:.2f} s {replica.name} and another work on {sorted(both)}")
                seen |= replica.working

    def _check_end(self) -> None:
        living = [replica for replica in self.replicas if not replica.is_dead]
        counts = sorted(len(replica.working) for replica in living)
        assert sum(counts) == SLOTS, f"in the end only {counts} of {SLOTS} slots are worked on"
        assert counts[-1] - counts[0] <= 1, f"the shares are {counts}"
        assert all(replica.is_valid for replica in living)
