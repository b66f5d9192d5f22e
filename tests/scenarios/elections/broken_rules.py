"""Electors with one rule broken: the scenarios must notice each."""

from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from masthead._leaderelection.elector import Term
from masthead._sansio.leases import Election
from masthead.aio import LeaderElector

if TYPE_CHECKING:
    from collections.abc import Callable
    from datetime import datetime

    import pytest

    from masthead._leaderelection.leadership import Leadership

_read, _written, _begin, _lead, _record = (
    Election.read,
    Election.written,
    Election.begin,
    LeaderElector._lead,
    Election._record,
)


def judge_by_remote_timestamps(patch: pytest.MonkeyPatch) -> None:
    """The age of another's lease is the own wall clock minus its renewTime."""

    def read(self: Election, lease: Any, now: float, wall: datetime, random: Callable[[], float]) -> Any:
        if lease is not None and lease.record.renewed is not None:
            self._observed = lease
            self._observed_at = now - (wall - lease.record.renewed).total_seconds()
        return _read(self, lease, now, wall, random)

    patch.setattr(Election, "read", read)


def count_from_the_response(patch: pytest.MonkeyPatch) -> None:
    """The own lease is valid from the response, not from the request."""
    patch.setattr(Election, "written", lambda self, lease, _, now: _written(self, lease, now, now))


def observe_before_reading(patch: pytest.MonkeyPatch) -> None:
    """Another's lease counts from the request, not from the response."""
    began: dict[int, float] = {}

    def begin(self: Election, now: float, *args: Any) -> Any:
        began[id(self)] = now
        return _begin(self, now, *args)

    def read(self: Election, lease: Any, now: float, *args: Any) -> Any:
        before = self._observed
        step = _read(self, lease, now, *args)
        if before is None or lease is None or before.record != lease.record:
            self._observed_at = began.get(id(self), now)
        return step

    patch.setattr(Election, "begin", begin)
    patch.setattr(Election, "read", read)


def work_until_the_lease_ends(patch: pytest.MonkeyPatch) -> None:
    """The whole lease is for work, and nothing is left for its end and for clocks that differ."""
    patch.setattr(Election, "valid_until", property(lambda self: self.lease_until))


def ignore_the_deadline(patch: pytest.MonkeyPatch) -> None:
    """The work goes on until another holder is seen."""
    patch.setattr(Term, "_miss_renewal", lambda _: None)


def trust_the_identity(patch: pytest.MonkeyPatch) -> None:
    """What has the own identity is own."""
    patch.setattr(Election, "_is_own", lambda self, record: record.holder == self._identity)


def create_at_once(patch: pytest.MonkeyPatch) -> None:
    """A lease that does not exist is free."""
    patch.setattr(Election, "_after_absence", lambda self, _: self._create())


def write_the_same_record_twice(patch: pytest.MonkeyPatch) -> None:
    """All writes of a try have one renewTime, as in client-go."""

    def read(self: Election, lease: Any, now: float, wall: datetime, random: Callable[[], float]) -> Any:
        stamp = self._stamp
        patched = _stamp_of
        self._stamp_of = lambda *_: stamp  # type: ignore[method-assign]
        try:
            return _read(self, lease, now, wall, random)
        finally:
            self._stamp_of = lambda *args: patched(self, *args)  # type: ignore[method-assign]

    patch.setattr(Election, "read", read)


_stamp_of = Election._stamp_of


def keep_the_transitions(patch: pytest.MonkeyPatch) -> None:
    """A new term has the transitions of the last one."""

    def record(self: Election) -> Any:
        made = _record(self)
        return replace(made, transitions=max(0, made.transitions - (self._term is None)))

    patch.setattr(Election, "_record", record)


def release_before_the_work_ends(patch: pytest.MonkeyPatch) -> None:
    """The lease is released when the elector is cancelled, as in client-go."""

    async def lead(self: LeaderElector, term: Term, work: Any) -> Any:
        async def released(leadership: Leadership) -> Any:
            task = asyncio.get_running_loop().create_task(work(leadership))
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                if not term.state.reason:
                    await term._candidate.release_quietly()
                task.cancel()
                await asyncio.wait({task})
                raise

        return await _lead(self, term, released)

    patch.setattr(LeaderElector, "_lead", lead)


def campaign_before_the_work_ends(patch: pytest.MonkeyPatch) -> None:
    """After a loss the elector campaigns again while the work still ends."""

    async def lead(self: LeaderElector, term: Term, work: Any) -> Any:
        async def detached(leadership: Leadership) -> Any:
            task = asyncio.get_running_loop().create_task(work(leadership))
            try:
                return await asyncio.shield(task)
            except asyncio.CancelledError:
                task.cancel()
                raise

        return await _lead(self, term, detached)

    patch.setattr(LeaderElector, "_lead", lead)


BROKEN_RULES: dict[Callable[[pytest.MonkeyPatch], None], int] = {
    judge_by_remote_timestamps: 1,
    count_from_the_response: 193,
    observe_before_reading: 137,
    work_until_the_lease_ends: 24,
    ignore_the_deadline: 1,
    trust_the_identity: 0,
    create_at_once: 41,
    write_the_same_record_twice: 147,
    keep_the_transitions: 0,
    release_before_the_work_ends: 28,
    campaign_before_the_work_ends: 0,
}
"""Each, with the seed of a scenario that notices it; with another Python it may be another."""
