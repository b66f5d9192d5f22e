"""What live views say about their connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead import Health
from masthead._cli.connection import report_connection, trouble_of

if TYPE_CHECKING:
    import pytest


def health(error: str, failures: int, *, is_connected: bool) -> Health:
    return Health(
        state="watching",
        is_synced=True,
        version="1",
        objects=1,
        staleness=0,
        since_event=0,
        last_error=error,
        since_error=0,
        failures=failures,
        relists=0,
        reconnects=0,
        broken={},
        pending={},
        handler_failures={},
        is_connected=is_connected,
    )


REFUSED = "ConnectError: watch pods: 10.0.0.1 refused the connection; try again"


def test_the_trouble_is_the_last_error_in_a_line_without_its_type() -> None:
    assert trouble_of(health(REFUSED, 2, is_connected=False)) == (
        "watch pods: 10.0.0.1 refused the connection; try again"
    )
    assert trouble_of(health("UnauthorizedError: no\nway", 1, is_connected=False)) == "no way"


def test_a_watch_that_is_open_again_is_no_trouble_though_nothing_has_come_yet() -> None:
    assert trouble_of(health(REFUSED, 2, is_connected=True)) == ""
    assert trouble_of(health(REFUSED, 0, is_connected=False)) == ""  # it is listed


def test_each_trouble_is_reported_once_and_its_end_once(capsys: pytest.CaptureFixture[str]) -> None:
    problem = ""
    for found in ("", "refused", "refused", "Unauthorized", "Unauthorized", "", ""):
        problem = report_connection(found, problem)
    printed = capsys.readouterr()
    assert (printed.out, printed.err.splitlines()) == (
        "",
        ["reconnecting: refused", "reconnecting: Unauthorized", "connected again"],
    )
