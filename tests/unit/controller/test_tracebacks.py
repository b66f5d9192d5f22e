"""Errors in the user's code are logged with the user's lines, and without ours."""

from __future__ import annotations

import asyncio
import json
import logging
import sys
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

import masthead
import masthead.aio
from masthead._controller.user_errors import describe_error, with_user_frames
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.testing import Environment, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

S = Secret.new("s", namespace="default")
HERE = __file__


async def read_missing(ctx: masthead.aio.ReconcileContext[Secret]) -> None:
    await ctx.client.core_v1.config_maps("default").get("missing")


def read_missing_in_thread(ctx: masthead.ReconcileContext[Secret]) -> None:
    ctx.client.core_v1.config_maps("default").get("missing")


async def apply_a_number(ctx: masthead.aio.ReconcileContext[Secret]) -> None:
    await ctx.apply(3)  # type: ignore[arg-type]


async def wait_for_ever(ctx: masthead.aio.ReconcileContext[Secret]) -> None:
    del ctx
    await asyncio.Event().wait()


async def exit_process(ctx: masthead.aio.ReconcileContext[Secret]) -> None:
    del ctx
    sys.exit(3)


async def read_missing_twice(ctx: masthead.aio.ReconcileContext[Secret]) -> None:
    async with asyncio.TaskGroup() as group:
        for _ in range(2):
            group.create_task(read_missing(ctx))


async def look_up(ctx: masthead.aio.ReconcileContext[Secret]) -> None:
    dict[str, int]()[str(ctx.request)]


async def failure_of(reconcile: Callable[..., object], caplog: pytest.LogCaptureFixture) -> str:
    """Return the logged traceback of a reconciler's first failure."""
    app = masthead.Manager("tracebacks")
    app.controller(Secret, timeout=5)(reconcile)
    async with Environment(app, objects=[S]) as env:
        await env.advance(6)
        assert len(env.failures) <= 1  # a TemporaryError is not listed
    record = next(entry for entry in caplog.records if "failed (attempt 1)" in entry.message)
    return logging.Formatter().formatException(record.exc_info) if record.exc_info else ""


@pytest.mark.parametrize(
    "reconcile", [read_missing, read_missing_in_thread, apply_a_number, wait_for_ever, exit_process]
)
def test_the_first_failure_has_a_traceback_of_user_code(
    reconcile: Callable[..., object], caplog: pytest.LogCaptureFixture
) -> None:
    @in_virtual_time
    async def play() -> None:
        text = await failure_of(reconcile, caplog)
        files = [line.split('"')[1] for line in text.splitlines() if line.lstrip().startswith("File ")]
        assert files == [HERE], text
        assert f"in {reconcile.__name__}" in text

    play()


@pytest.mark.parametrize(
    ("reconcile", "function_names"),
    [(read_missing_twice, {"read_missing", "read_missing_twice"}), (look_up, {"look_up"})],
)
def test_tracebacks_of_user_errors_have_no_lines_of_ours(
    reconcile: Callable[..., object], function_names: set[str], caplog: pytest.LogCaptureFixture
) -> None:
    @in_virtual_time
    async def play() -> None:
        text = await failure_of(reconcile, caplog)
        lines = [line for line in text.splitlines() if "File " in line]
        assert all(HERE in line for line in lines), text
        assert {line.rpartition(" in ")[2] for line in lines} == function_names

    play()


async def failures_of(reconcile: Callable[..., object]) -> str:
    """Return the report of a test environment about a failing reconciler."""
    app = masthead.Manager("failures")
    app.controller(Secret)(reconcile)
    async with Environment(app, objects=[S]) as env:
        await env.advance(1)
        (found,) = env.failures
    return found


def line_of(function: Callable[..., object], number: int) -> str:
    return f"{Path(HERE).name}:{function.__code__.co_firstlineno + number}"


@in_virtual_time
async def test_a_failure_names_the_line_of_the_users_code() -> None:
    found = await failures_of(look_up)
    assert "KeyError: 'default/s' at " in found
    assert line_of(look_up, 1) in found


@in_virtual_time
async def test_a_failure_of_a_group_names_its_errors() -> None:
    found = await failures_of(read_missing_twice)
    assert found.count('NotFoundError: get configmaps default/missing: configmaps "missing" not found') in {
        1,
        2,
    }
    assert line_of(read_missing, 1) in found


def test_a_group_of_many_errors_is_named_in_short() -> None:
    inner = ExceptionGroup("inner", [ValueError("x" * 10_000), KeyError("k")])
    group = ExceptionGroup("outer", [inner, *(TypeError(str(number)) for number in range(1_000))])
    text = describe_error(group)
    assert "KeyError: 'k'; TypeError: 0; and 999 more" in text
    assert len(text) < 500


@in_virtual_time
async def test_a_failure_names_the_error_that_it_was_raised_from(caplog: pytest.LogCaptureFixture) -> None:
    async def give_up(ctx: masthead.aio.ReconcileContext[Secret]) -> None:
        try:
            await look_up(ctx)
        except KeyError as error:
            raise masthead.PermanentError("bad settings") from error

    found = await failures_of(give_up)
    assert "PermanentError: bad settings (caused by KeyError: 'default/s') at " in found
    assert "failed (attempt 1): bad settings (caused by KeyError: 'default/s')" in caplog.text


def test_the_cause_of_an_error_of_ours_is_not_repeated() -> None:
    error = masthead.errors.NotFoundError("gone")
    error.__cause__ = KeyError("internal")
    assert "internal" not in describe_error(error)


def test_an_error_that_is_its_own_cause_can_be_described() -> None:
    error = ValueError("round")
    error.__cause__ = ExceptionGroup("group", [error])
    assert "caused by ExceptionGroup: group" in describe_error(error)
    assert with_user_frames(error) is error


@in_virtual_time
async def test_one_failure_in_ten_is_logged_with_its_traceback(caplog: pytest.LogCaptureFixture) -> None:
    app = masthead.Manager("tracebacks")
    app.controller(Secret)(read_missing)
    async with Environment(app, objects=[S]) as env:
        await env.advance(30)
        assert len(env.failures) == 1
    records = [record for record in caplog.records if "failed (attempt" in record.message]
    assert len(records) > 11
    assert [number for number, record in enumerate(records) if record.exc_info] == [0, 10]


@pytest.mark.parametrize("error", [masthead.TemporaryError("not yet"), masthead.PermanentError("never")])
@pytest.mark.parametrize("level", [logging.INFO, logging.DEBUG])
def test_intended_failures_have_a_traceback_only_at_debug_level(
    error: Exception, level: int, caplog: pytest.LogCaptureFixture
) -> None:
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret]) -> None:
        del ctx
        raise error

    @in_virtual_time
    async def play() -> None:
        with caplog.at_level(level, "masthead"):
            text = await failure_of(reconcile, caplog)
        assert bool(text) == (level == logging.DEBUG)

    play()


@in_virtual_time
async def test_errors_of_sources_timers_and_mappers_have_user_tracebacks(
    caplog: pytest.LogCaptureFixture,
) -> None:
    app = masthead.Manager("others")

    def map_to_nothing(obj: ConfigMap, cache: masthead.controller.CacheReader) -> Any:
        return cache.by_index(Secret, "missing", obj.key)

    @app.controller(Secret, watches={ConfigMap: map_to_nothing})
    async def reconcile(ctx: masthead.aio.ReconcileContext[Secret]) -> None:
        del ctx

    @app.timer(1)
    async def tick(client: masthead.aio.Client) -> None:
        await client.core_v1.config_maps("default").get("missing")

    @app.source
    async def source(client: masthead.aio.Client) -> AsyncIterator[str]:
        await client.core_v1.config_maps("default").get("missing")
        yield "default/s"

    async with Environment(app, objects=[ConfigMap.new("a", namespace="default")]) as env:
        await env.advance(2)
        assert len(env.failures) == 3
    for name in ("map_to_nothing", "tick", "source"):
        texts = [logging.Formatter().formatException(record.exc_info) for record in caplog.records if record.exc_info]
        (text,) = {text for text in texts if f"in {name}" in text}
        assert [line for line in text.splitlines() if "File " in line and HERE not in line] == []


def test_errors_of_others_keep_their_whole_traceback() -> None:
    with pytest.raises(ValueError, match="Expecting") as raised:
        json.loads("{")
    before = traceback.format_exception(raised.value)
    assert with_user_frames(raised.value) is raised.value
    assert traceback.format_exception(raised.value) == before
    assert any("raw_decode" in line for line in before)


def test_an_error_without_lines_of_the_user_has_no_traceback() -> None:
    error = masthead.TemporaryError("made, and not raised")
    assert with_user_frames(error) is None
