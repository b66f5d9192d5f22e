"""``masthead describe`` and ``masthead events``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

import pytest
from tests.cli.terminal import Terminal, plain, run
from tests.cli.test_processes import CTRL_C, following

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.cli.conftest import Ran

    import masthead
    from masthead.server import Server

    Cli = Callable[..., Ran]


def event(name: str, reason: str, about: str, *, at: str, kind: str = "Normal") -> dict[str, Any]:
    return {
        "apiVersion": "v1",
        "kind": "Event",
        "metadata": {"name": name, "namespace": "shop"},
        "involvedObject": {"kind": "Pod", "name": about, "namespace": "shop"},
        "type": kind,
        "reason": reason,
        "message": f"{reason} of {about}",
        "firstTimestamp": at,
        "lastTimestamp": at,
    }


@pytest.fixture
def events(client: masthead.Client) -> Iterator[masthead.clientset.DynamicResource]:
    resource = client.dynamic("v1", "events", namespace="shop")
    resource.create(event("z", "Scheduled", "web-1", at="2026-03-01T11:00:00Z"))
    resource.create(event("a", "BackOff", "web-1", at="2026-03-01T12:00:00Z", kind="Warning"))
    resource.create(event("m", "Started", "web-2", at="2026-03-01T11:30:00Z"))
    yield resource
    resource.delete_collection()


def reasons(ran: Ran) -> list[str]:
    return [line.split()[2] for line in ran.out.splitlines()[1:]]


@pytest.mark.usefixtures("events")
def test_events_are_in_the_order_in_which_they_occurred(cli: Cli) -> None:
    assert reasons(cli("events -n shop")) == ["Scheduled", "Started", "BackOff"]
    assert cli("events -A").out.splitlines()[1].startswith("shop ")
    assert "SOURCE" in cli("events -n shop -o wide").out


@pytest.mark.usefixtures("events")
def test_events_are_selected_by_object_and_type(cli: Cli) -> None:
    assert reasons(cli("events -n shop --for pod/web-1")) == ["Scheduled", "BackOff"]
    assert reasons(cli("events -n shop --types warning")) == ["BackOff"]
    both = cli("events -n shop --types Warning --types Normal --for po/web-2")
    assert reasons(both) == ["Started"]


def test_no_events_are_no_error_but_no_namespace_is(cli: Cli) -> None:
    ran = cli("events -n shop --for pod/web-1")

    assert (ran.code, ran.out, ran.err) == (0, "", "No events found in shop namespace.\n")
    assert cli("events -n shp").code == 4
    assert cli("events --for podz/x").code == 4
    assert cli("events --for pod").code == 2


@pytest.mark.slow
def test_new_events_are_lines_and_a_lost_connection_is_said(
    environ: dict[str, str], events: masthead.clientset.DynamicResource, server: Server
) -> None:
    server.faults.drop_watch(after=5, resource="events")  # three events, their end, and the next one
    with following(environ, "events", "-n", "shop", "-w") as process:
        assert process.stdout is not None
        assert process.stderr is not None
        lines = [process.stdout.readline() for _ in range(4)]
        assert lines[-1].split()[2] == "BackOff"
        fault = server.faults.fail(503, verb="watch", resource="events", times=None)
        others = server.faults.fail(503, verb="list", resource="events", times=None)
        for name in ("n1", "n2"):
            events.create(event(name, f"New{name}", "web-1", at="2026-03-01T13:00:00Z"))
        assert process.stderr.readline().startswith("reconnecting: ")
        fault.remove()
        others.remove()
        seen = [process.stdout.readline().split()[2] for _ in range(2)]
        assert seen == ["Newn1", "Newn2"]
        # Each reason is said once: the lost connection, and perhaps a refusal before the faults were removed.
        said = next(line for line in process.stderr if not line.startswith("reconnecting: "))
        assert said == "connected again\n"


@pytest.mark.usefixtures("events")
def test_an_object_is_described_with_its_events(cli: Cli) -> None:
    text = cli("describe pod web-1 -n shop").out

    assert text.startswith("Pod shop/web-1  v1  ready 0/1  Pending\n")
    assert re.search(r"\n +image: +nginx\n", text)
    assert "BackOff of web-1" in text
    assert "Started" not in text
    assert "Events" not in cli("describe pod web-1 -n shop --no-events").out


def test_several_objects_and_custom_kinds_are_described(cli: Cli) -> None:
    both = cli("describe po/web-1 wd/small -n shop").out

    assert "Widget shop/small  example.com/v1\n" in both
    assert "\nSpec\n  size: 3\n" in both
    assert cli("describe pods -l app=web -n shop").out.count("Pod shop/") == 2


def test_that_events_may_not_be_read_does_not_hide_the_object(cli: Cli, server: Server) -> None:
    server.faults.fail(403, verb="list", resource="events", times=None)
    ran = cli("describe pod web-1 -n shop")

    assert ran.code == 0
    assert "Events\n  not known: " in ran.out


def test_what_does_not_exist_has_a_nearest(cli: Cli) -> None:
    ran = cli("describe pod/web1 pod/web-2 -n shop")

    assert ran.code == 4
    assert "Pod shop/web-2" in ran.out
    assert ran.err.startswith('masthead describe: pods "web1" not found in namespace shop\nhint: did you mean web-')


def test_a_terminal_has_colours_and_a_pipe_has_none(environ: dict[str, str]) -> None:
    with Terminal(["describe", "pod", "web-1", "-n", "shop"], environ) as screen:
        assert screen.finish() == 0
    piped = run(["describe", "pod", "web-1", "-n", "shop"], environ).stdout

    assert "\x1b[33mPending\x1b[0m" in screen.output
    assert "\x1b" not in piped
    assert plain(screen.output).splitlines()[0] == piped.splitlines()[0]


@pytest.mark.usefixtures("events")
def test_following_events_is_interrupted_at_once(environ: dict[str, str]) -> None:
    with Terminal(["events", "-A", "-w"], environ) as screen:
        screen.expect("BackOff of web-1")
        screen.press(CTRL_C)
        assert screen.finish() == 130
        assert "Traceback" not in screen.output
