"""``getopts``: reads the options of a script or function, one with each call."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.shell.control import UsageError
from masthead_server.kubelet.shell.state import OptionPosition
from masthead_server.kubelet.shell.variables import NAME

if TYPE_CHECKING:
    from masthead_server.kubelet.shell.state import CommandIO, ShellState

__all__ = ["getopts"]

_BAD_USE: Final = 2


async def getopts(arguments: list[str], io: CommandIO) -> int:
    """Set a variable to the next option, ``OPTARG`` to its value, and ``OPTIND``; 1 behind the last option."""
    if len(arguments) < 2 or not NAME.fullmatch(arguments[1]):
        raise UsageError("usage: getopts OPTSTRING NAME [ARGUMENT...]", _BAD_USE)
    known, name, *words = arguments
    state = io.state
    words = words or list(state.arguments[1:])
    letter = _next_letter(words, state)
    if not letter:
        state.assign(name, "?")
        return 1
    position = known.removeprefix(":").find(letter) if letter != ":" else -1
    takes_value = position >= 0 and known.removeprefix(":")[position + 1 : position + 2] == ":"
    problem, value = "", _take_value(words, state) if takes_value else ""
    if position < 0:
        problem = f"Illegal option -{letter}"
        found = "?"
    elif value is None:
        problem = f"No arg for -{letter} option"
        found = ":" if known.startswith(":") else "?"
    else:
        found = letter
        state.assign("OPTARG", value)
    if problem:
        await _report(problem, letter, io, is_silent=known.startswith(":"))
    state.assign(name, found)
    return 0


async def _report(problem: str, letter: str, io: CommandIO, *, is_silent: bool) -> None:
    # A colon in front leaves the message to the script.
    if is_silent:
        io.state.assign("OPTARG", letter)
        return
    io.state.variables.unset("OPTARG")
    await io.complain(problem)


def _index(state: ShellState) -> int:
    text = state.variables.get("OPTIND", "1")
    return int(text) if re.fullmatch("[1-9][0-9]{0,6}", text) else 1


def _next_letter(words: list[str], state: ShellState) -> str:
    """The next letter of the options; empty behind the last one."""
    if _index(state) != state.options_read.next_word:
        # The script has set OPTIND to start again.
        _move(_index(state), state)
    _, index, offset = state.options_read
    word = words[index - 1] if index <= len(words) else ""
    if offset == 1 and (len(word) < 2 or not word.startswith("-") or word == "--"):
        _move(index + (word == "--"), state)
        return ""
    if offset + 1 < len(word):
        _move(index + 1, state, OptionPosition(index + 1, index, offset + 1))
    else:
        _move(index + 1, state)
    return word[offset : offset + 1]


def _take_value(words: list[str], state: ShellState) -> str | None:
    """The value of an option: the rest of its word, or the next word."""
    _, index, offset = state.options_read
    if index > len(words):
        return None
    _move(index + 1, state)
    return words[index - 1][offset if offset > 1 else 0 :]


def _move(next_word: int, state: ShellState, position: OptionPosition | None = None) -> None:
    state.options_read = position or OptionPosition(next_word, next_word, 1)
    state.assign("OPTIND", str(next_word))
