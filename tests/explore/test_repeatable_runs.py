"""The same schedule gives the same trace: in another process, and in this one."""

from __future__ import annotations

from itertools import islice
from typing import TYPE_CHECKING

import pytest

from masthead.testing._explore.determinism_check import compare_runs
from masthead.testing._explore.explore import Setup, make_pool
from masthead.testing._explore.jobs import Job, RunOutcome
from masthead.testing._explore.learning import study
from masthead.testing._explore.plan import SchedulePlan
from tests.explore.test_explore import make_bad, make_good, workload

if TYPE_CHECKING:
    from masthead.testing._explore.schedule import Schedule


@pytest.mark.slow
def test_two_processes_give_the_same_traces() -> None:
    assert compare_runs(make_bad, workload, count=40) == (40, [])


def digests_of(schedules: list[Schedule], processes: int) -> list[str]:
    """Run schedules of the good operator, and return the hashes of their traces."""
    setup = Setup(make_good, workload, {})
    with make_pool(setup.performer, processes) as pool:
        knowledge = study(pool, 0).knowledge
        assert knowledge is not None
        pool.prepare(knowledge)
        replies = [pool.wait(number) for number in [pool.submit(Job(schedule)) for schedule in schedules]]
    return [reply.result.digest for reply in replies if reply is not None and isinstance(reply.result, RunOutcome)]


@pytest.mark.slow
def test_a_replay_in_this_process_gives_the_trace_of_the_exploration() -> None:
    setup = Setup(make_good, workload, {})
    with make_pool(setup.performer, 0) as pool:
        knowledge = study(pool, 0).knowledge
    assert knowledge is not None
    plan = SchedulePlan(knowledge.runs[0])
    schedules = [planned.schedule for planned in islice(iter(plan.next, None), 25)]

    local, forked = digests_of(schedules, 0), digests_of(schedules, 2)
    assert len(local) == len(schedules)
    assert local == forked
