"""The blocking leader elector: the work is called in the caller's thread, and the lease is renewed behind it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Any

import pytest

import masthead
import masthead.server
from masthead import EventRecorder, LeaderElector
from masthead.errors import ArgumentError, ClosedError, LeadershipLostError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead import Client
    from masthead.leaderelection import Leadership
    from masthead.server import Server

SHORT: dict[str, Any] = {"lease_duration": 1.0, "renew_deadline": 0.6, "retry_period": 0.1}
FAST: dict[str, Any] = {**SHORT, "retry_period": 0.02}
LONG = 60.0
"""Seconds until a test gives up."""


@pytest.fixture(scope="module")
def server() -> Iterator[Server]:
    with masthead.server.run(bootstrap=False) as server:
        yield server


@pytest.fixture
def client(server: Server) -> Iterator[Client]:
    server.faults.clear()
    with masthead.Client(kubeconfig=server.kubeconfig()) as client:
        yield client
    server.faults.clear()


@pytest.fixture
def name(request: pytest.FixtureRequest) -> str:
    """A lease for each test."""
    return str(request.node.name).replace("_", "-").lower()[:60].strip("-")


def holder(client: Client, name: str) -> str:
    lease = client.dynamic("coordination.k8s.io/v1", "leases", namespace="default").get(name)
    return str(lease["spec"]["holderIdentity"])


class InThread:
    """An elector that runs in a thread of its own."""

    def __init__(self, elector: LeaderElector, work: Any) -> None:
        self.result: object = None
        self.error: BaseException | None = None
        self._thread = threading.Thread(target=self._run, args=(elector, work), daemon=True)
        self._thread.start()

    def _run(self, elector: LeaderElector, work: Any) -> None:
        try:
            self.result = elector.run(work)
        except BaseException as error:  # noqa: BLE001
            self.error = error

    def wait(self) -> InThread:
        self._thread.join(LONG)
        assert not self._thread.is_alive()
        return self


def test_the_work_is_called_in_this_thread_and_its_result_returned(client: Client, name: str) -> None:
    elector = LeaderElector(client, name, "default", identity="a")
    seen: list[object] = []

    def work(leadership: Leadership) -> int:
        leadership.check()
        seen.extend([threading.current_thread(), elector.is_leader, elector.leader, holder(client, name)])
        return 42

    assert elector.run(work) == 42
    assert seen == [threading.current_thread(), True, "a", "a"]
    assert holder(client, name) == ""
    assert not elector.is_leader


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt, SystemExit])
def test_what_the_work_raises_is_raised_after_the_release(client: Client, error: type[BaseException]) -> None:
    name = error.__name__.lower()

    def work(_: Leadership) -> None:
        raise error

    with pytest.raises(error):
        LeaderElector(client, name, "default").run(work)
    assert holder(client, name) == ""


def test_stop_ends_the_work_and_then_releases_the_lease(client: Client, name: str) -> None:
    elector = LeaderElector(client, name, "default", identity="a")
    started = threading.Event()
    seen: list[str] = []

    def work(leadership: Leadership) -> None:
        started.set()
        assert leadership.wait_for_loss(LONG)
        seen.append(holder(client, name))

    running = InThread(elector, work)
    assert started.wait(LONG)
    elector.stop()

    assert running.wait().error is None
    assert seen == ["a"]
    assert holder(client, name) == ""


def test_work_that_is_stopped_by_its_check_is_not_an_error(client: Client, name: str) -> None:
    elector = LeaderElector(client, name, "default")
    started = threading.Event()

    def work(leadership: Leadership) -> None:
        started.set()
        while True:
            leadership.wait_for_loss(LONG)
            leadership.check()

    running = InThread(elector, work)
    assert started.wait(LONG)
    elector.stop()

    assert running.wait().error is None
    assert running.result is None


def test_stop_ends_a_campaign(client: Client, name: str) -> None:
    first, second = (LeaderElector(client, name, "default", identity=each) for each in "ab")
    campaigning = threading.Event()
    third = LeaderElector(client, name, "default", identity="c", on_new_leader=lambda _: campaigning.set())

    def work(_: Leadership) -> str:
        waiting = InThread(third, lambda _: "unreachable")
        assert campaigning.wait(LONG)
        third.stop()
        assert waiting.wait().error is None
        assert waiting.result is None
        return "done"

    assert first.run(work) == "done"
    assert second.run(lambda _: "too") == "too"


@pytest.mark.slow
def test_the_leadership_is_lost_when_the_lease_cannot_be_renewed(client: Client, server: Server, name: str) -> None:
    elector = LeaderElector(client, name, "default", **SHORT)
    terms: list[int] = []

    def work(leadership: Leadership) -> str:
        terms.append(leadership.token.transitions)
        if len(terms) == 2:
            return "second term"
        fault = server.faults.fail(500, resource="leases", verb="update", times=None)
        assert not leadership.wait_for_loss(0.01)
        assert leadership.wait_for_loss(LONG)
        with pytest.raises(LeadershipLostError, match="not renewed"):
            leadership.check()
        fault.remove()
        return "lost"

    assert elector.run(work) == "second term"
    assert terms == [0, 1]


@pytest.mark.slow
def test_an_elector_that_does_not_campaign_again_raises(client: Client, server: Server, name: str) -> None:
    elector = LeaderElector(client, name, "default", recampaign=False, **SHORT)

    def work(leadership: Leadership) -> None:
        server.faults.fail(500, resource="leases", times=None)
        assert leadership.wait_for_loss()

    with pytest.raises(LeadershipLostError):
        elector.run(work)


@pytest.mark.slow
def test_work_that_does_not_return_is_overdue(client: Client, server: Server, name: str) -> None:
    overdue = threading.Event()
    elector = LeaderElector(client, name, "default", on_overdue=overdue.set, recampaign=False, **SHORT)

    def work(_: Leadership) -> None:
        server.faults.fail(500, resource="leases", times=None)
        assert overdue.wait(LONG)
        assert elector.is_overdue
        with pytest.raises(LeadershipLostError):
            elector.health_check(-0.5)

    with pytest.raises(LeadershipLostError):
        elector.run(work)
    assert not elector.is_overdue


def test_callbacks_may_call_the_client_and_block(client: Client, name: str) -> None:
    seen: list[str] = []
    elector = LeaderElector(
        client,
        name,
        "default",
        identity="a",
        on_started_leading=lambda: seen.append(holder(client, name)),
        on_stopped_leading=lambda: seen.append("stopped"),
        on_new_leader=lambda identity: seen.append(f"new leader {identity}"),
    )

    elector.run(lambda leadership: leadership.wait_for_loss(0.3))

    assert seen == [
        "new leader a",
        "a",
        "stopped",
    ]


def test_a_recorder_writes_an_event_when_a_term_begins_and_when_it_ends(client: Client, name: str) -> None:
    with EventRecorder(client, "operator") as recorder:
        elector = LeaderElector(client, name, "default", identity="a", recorder=recorder)
        elector.run(lambda _: None)

    events = client.core_v1.events("default").list(field_selector=f"involvedObject.name={name}")
    assert [(event.type, event.reason, event.message) for event in events] == [
        ("Normal", "LeaderElection", "a became leader"),
        ("Normal", "LeaderElection", "a stopped leading"),
    ]


def test_a_function_in_place_of_a_recorder_is_refused(client: Client, name: str) -> None:
    function: Any = print
    with pytest.raises(ArgumentError, match=r"recorder is of type builtin_function_or_method"):
        LeaderElector(client, name, "default", recorder=function)


@pytest.mark.parametrize("error", [StopIteration, KeyboardInterrupt, ValueError])
def test_whatever_a_callback_raises_is_logged(
    client: Client, error: type[BaseException], caplog: pytest.LogCaptureFixture
) -> None:
    def fail() -> None:
        raise error

    elector = LeaderElector(client, f"callback-{error.__name__.lower()}", "default", on_started_leading=fail)
    elector.run(lambda _: None)

    assert "on_started_leading failed" in caplog.text
    assert error.__name__ in caplog.text


def test_a_client_that_is_closed_ends_the_leadership(server: Server, name: str) -> None:
    client = masthead.Client(kubeconfig=server.kubeconfig())
    elector = LeaderElector(client, name, "default")
    started = threading.Event()

    def work(leadership: Leadership) -> None:
        started.set()
        assert leadership.wait_for_loss(LONG)

    running = InThread(elector, work)
    assert started.wait(LONG)
    client.close()

    assert isinstance(running.wait().error, ClosedError)


def test_two_threads_cannot_run_one_elector(client: Client, name: str) -> None:
    elector = LeaderElector(client, name, "default")

    def work(_: Leadership) -> None:
        with pytest.raises(RuntimeError, match="runs already"):
            elector.run(lambda _: None)

    elector.run(work)
    assert elector.run(lambda _: "again") == "again"


def test_a_coroutine_function_is_refused(client: Client, name: str) -> None:
    async def work(_: Leadership) -> None:
        pass

    with pytest.raises(ArgumentError, match=r"use masthead\.aio\.LeaderElector"):
        LeaderElector(client, name, "default").run(work)


def test_many_threads_work_one_after_the_other(client: Client, name: str) -> None:
    """Each increments a number that nothing else protects."""
    number = 0
    in_work = threading.Lock()

    def work(leadership: Leadership) -> None:
        nonlocal number
        assert in_work.acquire(blocking=False), "two work at once"
        before = number
        assert not leadership.wait_for_loss(0.005)
        number = before + 1
        in_work.release()

    electors = [LeaderElector(client, name, "default", identity=str(each), **FAST) for each in range(6)]
    for running in [InThread(elector, work) for elector in electors]:
        assert running.wait().error is None

    assert number == 6
