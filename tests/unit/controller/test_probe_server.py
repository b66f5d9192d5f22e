"""Probes: responses to the kubelet if checks fail, hang or misbehave."""

from __future__ import annotations

import asyncio
import logging
import threading
from typing import TYPE_CHECKING

import pytest
from tests.unit.controller.probing import fetch

from masthead._controller.checks import CheckGroup
from masthead._controller.probe_server import ProbeServer, respond_checks
from masthead._endpoint.http_requests import EndpointRequest
from masthead.errors import ArgumentError, ConfigError
from masthead.testing.virtual_time import in_virtual_time, now

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._controller.checks import Check


async def healthy() -> None: ...


def broken() -> None:
    raise ConnectionError("the database\nis gone")


async def hanging() -> None:
    await asyncio.Event().wait()


def probes(health: Mapping[str, Check], ready: Mapping[str, Check] | None = None) -> ProbeServer:
    return ProbeServer(health, ready or {}, probe_bind="127.0.0.1:0")


@in_virtual_time
async def test_healthy_checks_are_ok() -> None:
    async with probes({"ping": healthy, "plain": lambda: None}) as server:
        for path in ("/healthz", "/livez", "/readyz", "/healthz/"):
            found = await fetch(server.probe_port, path)
            assert (found.status, found.text) == (200, "ok")
            assert found.headers["content-type"] == "text/plain; charset=utf-8"


@in_virtual_time
async def test_verbose_lists_all_checks() -> None:
    async with probes({"b": healthy, "a": healthy}) as server:
        found = await fetch(server.probe_port, "/livez?verbose")
        assert found.text == "[+]a ok\n[+]b ok\nlivez check passed\n"


@in_virtual_time
async def test_a_failed_check_is_named_with_its_reason_on_one_line() -> None:
    async with probes({"ping": healthy, "database": broken}) as server:
        found = await fetch(server.probe_port, "/healthz?verbose")
        assert found.status == 500
        assert found.text == "[-]database failed: the database is gone\n[+]ping ok\nhealthz check failed\n"


@in_virtual_time
@pytest.mark.parametrize("path", ["/healthz", "/readyz", "/livez"])
async def test_only_local_clients_get_the_reason_of_a_failure(path: str) -> None:
    async with probes({"database": broken}, {"database": broken}) as server:
        for target, host in ((path, "localhost"), (f"{path}?verbose", "evil.example")):
            found = await fetch(server.probe_port, target, host=host)
            assert found.text.startswith("[-]database failed: reason withheld\n")
        alone = await fetch(server.probe_port, f"{path}/database")
        assert (alone.status, alone.text) == (500, "reason withheld\n")


@pytest.mark.parametrize("peer", ["192.0.2.7", "2001:db8::7", "::ffff:192.0.2.7", ""])
async def test_verbose_shows_no_reason_to_other_machines(peer: str) -> None:
    checks = CheckGroup({"database": broken})
    request = EndpointRequest("GET", "/readyz", {"verbose": [""]}, {"host": "localhost"}, peer=peer)
    found = await respond_checks(checks, request)
    assert found.body == b"[-]database failed: reason withheld\nreadyz check failed\n"
    checks.close()


@in_virtual_time
async def test_health_and_readiness_are_different_checks() -> None:
    async with probes({"ping": healthy}, {"synced": broken}) as server:
        assert (await fetch(server.probe_port, "/healthz")).status == 200
        assert (await fetch(server.probe_port, "/livez")).status == 200
        assert (await fetch(server.probe_port, "/readyz")).status == 500


@in_virtual_time
async def test_a_check_can_be_asked_for_alone_or_left_out() -> None:
    async with probes({"ping": healthy, "database": broken, "a/b": healthy}) as server:
        assert (await fetch(server.probe_port, "/healthz/ping")).status == 200
        assert (await fetch(server.probe_port, "/healthz/a/b")).status == 200
        alone = await fetch(server.probe_port, "/healthz/database?verbose")
        assert (alone.status, alone.text) == (500, "the database is gone\n")
        assert (await fetch(server.probe_port, "/healthz?exclude=database")).text == "ok"
        without = await fetch(server.probe_port, "/healthz?exclude=database&exclude=nothing&verbose")
        assert without.text.split("\n")[1] == "[+]database excluded: ok"
        assert 'warn: there is nothing to exclude under the name of "nothing"' in without.text
        missing = await fetch(server.probe_port, "/healthz/nothing")
        assert missing.status == 404
        assert "there are: a/b, database, ping" in missing.text


@in_virtual_time
async def test_checks_that_are_added_later_are_run() -> None:
    checks: dict[str, Check] = {}
    async with probes(checks) as server:
        assert (await fetch(server.probe_port, "/healthz")).status == 200
        checks["late"] = broken
        assert (await fetch(server.probe_port, "/healthz")).status == 500


@in_virtual_time
async def test_a_check_that_hangs_counts_as_failed_after_a_second() -> None:
    async with probes({"ping": healthy, "slow": hanging, "slower": hanging}) as server:
        found = await fetch(server.probe_port, "/healthz?verbose")
        assert found.status == 500
        assert "[-]slow failed: no result after 1.0 s\n[-]slower failed" in found.text
        assert "[+]ping ok" in found.text
        assert now() == pytest.approx(1.0, abs=0.1)


@in_virtual_time
async def test_a_check_that_ignores_its_cancellation_is_not_started_again() -> None:
    starts = 0
    release = asyncio.Event()

    async def stubborn() -> None:
        nonlocal starts
        starts += 1
        while not release.is_set():
            try:
                await release.wait()
            except asyncio.CancelledError:
                continue

    async with probes({"stubborn": stubborn}) as server:
        for seconds in ("1.0", "1.0", "1.0"):
            found = await fetch(server.probe_port, "/healthz/stubborn?verbose")
            assert found.text == f"no result after {seconds} s\n"
        assert starts == 1
        release.set()
        await asyncio.sleep(0)
        assert (await fetch(server.probe_port, "/healthz/stubborn")).status == 200
        assert starts == 2


@in_virtual_time
async def test_probes_at_the_same_time_share_one_run() -> None:
    runs = 0

    async def slow() -> None:
        nonlocal runs
        runs += 1
        await asyncio.sleep(0.5)

    async with probes({"slow": slow}) as server:
        found = await asyncio.gather(*(fetch(server.probe_port, "/healthz") for _ in range(20)))
        assert {response.status for response in found} == {200}
        assert runs == 1


@pytest.mark.slow
async def test_a_blocking_check_uses_one_thread() -> None:
    release = threading.Event()
    calls: list[str] = []

    def blocking() -> None:
        calls.append(threading.current_thread().name)
        release.wait(30)

    async with probes({"blocking": blocking, "ping": healthy}) as server:
        first = await asyncio.gather(
            *(fetch(server.probe_port, "/healthz/blocking") for _ in range(3)),
            fetch(server.probe_port, "/healthz/ping"),
        )
        assert [response.status for response in first] == [500, 500, 500, 200]
        assert (await fetch(server.probe_port, "/healthz/blocking")).status == 500
        assert [name.rpartition("-")[0] for name in calls] == ["masthead-probe"]
        release.set()
        async with asyncio.timeout(30):
            while (await fetch(server.probe_port, "/healthz/blocking")).status != 200:  # noqa: ASYNC110
                await asyncio.sleep(0)


@pytest.mark.parametrize("error", [SystemExit, KeyboardInterrupt])
@pytest.mark.parametrize("is_async", [True, False])
def test_a_check_that_wants_to_exit_does_not(error: type[BaseException], is_async: bool) -> None:
    def plain() -> None:
        raise error

    async def coroutine() -> None:
        raise error

    @in_virtual_time
    async def run() -> None:
        async with probes({"exit": coroutine if is_async else plain}) as server:
            found = await fetch(server.probe_port, "/healthz/exit?verbose")
            assert (found.status, found.text) == (500, f"the check raised {error.__name__}\n")

    run()


@in_virtual_time
async def test_a_check_that_raises_stop_iteration_fails() -> None:
    async with probes({"first": lambda: next(iter(()))}) as server:
        found = await fetch(server.probe_port, "/healthz/first?verbose")
        assert (found.status, found.text) == (500, "the check raised StopIteration\n")


class UnprintableError(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("error", "reason"),
    [
        (ValueError(), "ValueError"),
        (UnprintableError(), "UnprintableError"),
        (ValueError("Bearer abcdefghijk"), "Bearer <hidden>"),
        (ValueError("\x1b[31mred\r\nHTTP/1.1 200 OK"), "red HTTP/1.1 200 OK"),
    ],
)
def test_every_reason_is_one_safe_line(error: Exception, reason: str) -> None:
    async def check() -> None:
        raise error

    @in_virtual_time
    async def run() -> None:
        async with probes({"it": check}) as server:
            assert (await fetch(server.probe_port, "/healthz/it?verbose")).text == f"{reason}\n"

    run()


@in_virtual_time
async def test_a_change_of_health_is_logged_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "masthead.controller")
    is_broken = True

    async def check() -> None:
        if is_broken:
            raise ValueError("no")

    async with probes({"it": check}) as server:
        for _ in range(3):
            await fetch(server.probe_port, "/healthz")
        is_broken = False
        for _ in range(3):
            await fetch(server.probe_port, "/healthz")
    logged = [record.getMessage() for record in caplog.records if "check" in record.getMessage()]
    assert logged == ["check it failed: no", "check it is healthy again"]


@in_virtual_time
async def test_equal_addresses_share_a_listener_and_others_do_not() -> None:
    async with ProbeServer(
        {}, {}, debug=dict, probe_bind="127.0.0.1:0", metrics_bind="127.0.0.1:0", debug_bind="localhost:0"
    ) as server:
        assert server.probe_port == server.metrics_port != server.debug_port
        index = await fetch(server.probe_port, "/")
        assert index.text == "/healthz\n/livez\n/readyz\n/metrics\n"
        assert (await fetch(server.probe_port, "/debug")).status == 404
        assert (await fetch(server.debug_port, "/debug")).status == 200
        assert (await fetch(server.debug_port, "/healthz")).status == 404


@in_virtual_time
async def test_zero_is_off() -> None:
    async with ProbeServer({}, {}, probe_bind="0", metrics_bind="0", debug_bind="0") as server:
        assert (server.probe_port, server.metrics_port, server.debug_port) == (None, None, None)


@in_virtual_time
async def test_an_address_that_is_taken_leaves_nothing_open() -> None:
    async with probes({}) as server:
        other = ProbeServer({}, {}, probe_bind="127.0.0.1:0", metrics_bind=f"127.0.0.1:{server.probe_port}")
        with pytest.raises(ConfigError, match="/metrics: cannot listen on 127"):
            await other.__aenter__()
        assert other.probe_port is not None
        with pytest.raises(ConnectionRefusedError):
            await fetch(other.probe_port, "/healthz")


def test_an_invalid_address_is_named() -> None:
    with pytest.raises(ArgumentError, match="debug_bind: 'x' is not an address"):
        ProbeServer({}, {}, debug_bind="x")
