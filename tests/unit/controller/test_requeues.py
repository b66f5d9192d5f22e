"""Requeues: after the requested time, but never in a hot loop."""

from __future__ import annotations

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import Secret
from masthead.errors import ArgumentError
from masthead.testing import Environment, in_virtual_time
from masthead.testing.virtual_time import now

S = Secret.new("s", namespace="default")


async def times_of(answer: masthead.controller.Result | Exception, seconds: float) -> list[float]:
    """Return the times of reconciles with a constant result, relative to the first."""
    app, runs = masthead.Manager("requeues"), list[float]()

    @app.controller(Secret)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> masthead.controller.Result:
        del ctx
        runs.append(now())
        if isinstance(answer, Exception):
            raise answer
        return answer

    async with Environment(app, objects=[S]) as env:
        await env.advance(seconds)
        assert env.failures == []
    return [time - runs[0] for time in runs]


@in_virtual_time
async def test_a_requeue_at_once_is_rate_limited_and_named(caplog: pytest.LogCaptureFixture) -> None:
    runs = await times_of(masthead.controller.Result(requeue_after=0), 60)
    assert runs[:4] == pytest.approx([0, 0.005, 0.015, 0.035])
    assert len(runs) == 14
    (message,) = [text for text in caplog.messages if "requeue_after=0" in text]
    assert "default/s has returned requeue_after=0 10 times in a row, and runs again in 2.56 s" in message


@pytest.mark.parametrize("seconds", [1e-9, 0.001, 0.1])
@in_virtual_time
async def test_a_requeue_after_a_tiny_time_waits_a_tenth_of_a_second(seconds: float) -> None:
    runs = await times_of(masthead.controller.Result(requeue_after=seconds), 1)
    assert runs == pytest.approx([number / 10 for number in range(len(runs))])
    assert 10 <= len(runs) <= 11


@in_virtual_time
async def test_a_longer_requeue_comes_at_its_time() -> None:
    assert await times_of(masthead.controller.Result(requeue_after=0.25), 1.1) == pytest.approx(
        [0, 0.25, 0.5, 0.75, 1.0]
    )


@pytest.mark.parametrize(("delay", "expected"), [(0, [0, 0.005, 0.015, 0.035, 0.075, 0.155]), (1e-9, [0, 0.1, 0.2])])
@in_virtual_time
async def test_a_temporary_error_without_a_delay_is_rate_limited_too(delay: float, expected: list[float]) -> None:
    runs = await times_of(masthead.TemporaryError("again", delay=delay), 0.29)
    assert runs == pytest.approx(expected)


@in_virtual_time
async def test_immediate_requeues_are_reset_by_another_result() -> None:
    app, runs = masthead.Manager("answers"), list[float]()

    @app.controller(Secret)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret], _: Secret) -> masthead.controller.Result:
        del ctx
        runs.append(now())
        return masthead.controller.Result(requeue_after=10 if len(runs) % 5 == 0 else 0)

    async with Environment(app, objects=[S]) as env:
        await env.advance(25)
    assert runs[6] - runs[5] == pytest.approx(0.005)


@pytest.mark.parametrize("seconds", [-1, -1e-9, float("nan"), float("inf"), True, "5"])
def test_what_is_no_time_from_now_on_is_refused(seconds: float) -> None:
    with pytest.raises(ArgumentError, match="number of seconds, 0 or more"):
        masthead.controller.Result(requeue_after=seconds)
    with pytest.raises(ArgumentError, match="number of seconds, 0 or more"):
        masthead.TemporaryError("again", delay=seconds)
