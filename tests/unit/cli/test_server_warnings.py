"""Warnings of the server on the command line: each text once, in bounded memory, and never within a live display."""

from __future__ import annotations

import io
from typing import TYPE_CHECKING

from rich.console import Console

from masthead._cli.server_warnings import ServerWarningPrinter
from masthead._cli.terminal import drawing, live_display, say_beside
from masthead.rest import ServerWarning

if TYPE_CHECKING:
    import pytest


class Screen(io.StringIO):
    """A terminal."""

    def isatty(self) -> bool:
        return True


def test_each_text_is_told_once() -> None:
    printed: list[str] = []
    printer = ServerWarningPrinter(no_color=True, write=printed.append)
    for text in ("old", "older", "old"):
        printer(ServerWarning(text))

    assert printed == ["Warning: old", "Warning: older"]


def test_not_all_texts_are_remembered_for_ever() -> None:
    printed: list[str] = []
    printer = ServerWarningPrinter(no_color=True, write=printed.append)
    for number in range(1001):
        printer(ServerWarning(str(number)))
    printer(ServerWarning("0"))

    assert printed.count("Warning: 0") == 2


def test_a_warning_stands_above_a_live_display(monkeypatch: pytest.MonkeyPatch) -> None:
    screen = Screen()
    monkeypatch.setattr("sys.stderr", screen)
    console = Console(file=screen, force_terminal=True, width=40, color_system=None)
    with live_display(console) as live:
        live.update("table", refresh=True)
        say_beside("Warning: old")
    say_beside("afterwards")

    assert screen.getvalue().split("Warning: old\n")[1].startswith("table")
    assert screen.getvalue().endswith("afterwards\n")


def test_a_warning_goes_to_an_error_output_that_is_no_terminal(
    capsys: pytest.CaptureFixture[str],
) -> None:
    screen = Screen()
    with drawing(Console(file=screen)):
        say_beside("Warning: old")

    assert (screen.getvalue(), capsys.readouterr().err) == ("", "Warning: old\n")
