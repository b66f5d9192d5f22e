"""What live views say about their connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.unit.cli.healths import health

from masthead._cli.connection import connection_error, report_connection

if TYPE_CHECKING:
    import pytest


REFUSED = "ConnectError: watch pods: 10.0.0.1 refused the connection; try again"


def test_the_connection_error_is_the_last_error_in_a_line_without_its_type() -> None:
    assert connection_error(health(REFUSED, 2, is_connected=False)) == (
        "watch pods: 10.0.0.1 refused the connection; try again"
    )
    assert connection_error(health("UnauthorizedError: no\nway", 1, is_connected=False)) == "no way"


def test_a_watch_that_is_open_again_is_no_error_though_nothing_has_come_yet() -> None:
    assert connection_error(health(REFUSED, 2, is_connected=True)) == ""
    assert connection_error(health(REFUSED, 0, is_connected=False)) == ""  # it is listed


def test_each_error_is_reported_once_and_its_end_once(capsys: pytest.CaptureFixture[str]) -> None:
    problem = ""
    for found in ("", "refused", "refused", "Unauthorized", "Unauthorized", "", ""):
        problem = report_connection(found, problem)
    printed = capsys.readouterr()
    assert (printed.out, printed.err.splitlines()) == (
        "",
        ["reconnecting: refused", "reconnecting: Unauthorized", "connected again"],
    )
