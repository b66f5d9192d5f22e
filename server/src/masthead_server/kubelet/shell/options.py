"""The options of the shell, such as ``set -e`` and ``set -o pipefail``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from masthead_server.kubelet.shell.control import UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["ShellOptions", "list_options", "read_shell_options"]

_NAMES: Final = {
    "allexport": "a",
    "errexit": "e",
    "monitor": "m",
    "noclobber": "C",
    "noglob": "f",
    "notify": "b",
    "nounset": "u",
    "pipefail": "pipefail",
    "xtrace": "x",
}
"""The options by their names. Jobs have no groups: m and b have no effect."""
_LETTERS: Final = frozenset(letter for letter in _NAMES.values() if len(letter) == 1)
_BAD_USE: Final = 2


class ShellOptions(NamedTuple):
    """Options among the arguments of ``set`` or ``sh``.

    Attributes:
        options: The options that are set now.
        others: Letters that only ``sh`` has.
        operands: The arguments behind the options; None if ``set`` keeps the positional parameters.
        lists: The sign of ``-o`` or ``+o`` without a name; empty without it.
    """

    options: frozenset[str]
    others: frozenset[str]
    operands: Sequence[str] | None
    lists: str = ""


def read_shell_options(
    arguments: Sequence[str], options: frozenset[str], others: frozenset[str] = frozenset()
) -> ShellOptions:
    """Read options up to the first operand.

    Args:
        arguments: The arguments.
        options: The options that are set already.
        others: Further letters that are valid.

    Raises:
        UsageError: If an option is unknown.
    """
    rest, found, lists = list(arguments), set[str](), ""
    while rest and rest[0][:1] in {"-", "+"} and len(rest[0]) > 1:
        word = rest.pop(0)
        if word == "--":
            return ShellOptions(options, frozenset(found), rest, lists)
        for letter in word[1:]:
            if letter == "o" and not rest:
                lists = word[0]
            elif letter == "o":
                options = _change(options, _option_named(word[0], rest.pop(0)), word[0])
            elif letter in others:
                found.add(letter)
            elif letter in _LETTERS:
                options = _change(options, letter, word[0])
            else:
                raise UsageError(f"Illegal option {word[0]}{letter}", _BAD_USE)
    # A single dash ends options, too.
    if rest[:1] == ["-"]:
        rest = rest[1:]
    return ShellOptions(options, frozenset(found), rest or None, lists)


def _option_named(sign: str, name: str) -> str:
    if name not in _NAMES:
        raise UsageError(f"Illegal option {sign}o {name}", _BAD_USE)
    return _NAMES[name]


def _change(options: frozenset[str], option: str, sign: str) -> frozenset[str]:
    return options | {option} if sign == "-" else options - {option}


def list_options(options: frozenset[str], sign: str) -> list[str]:
    """Return the lines of ``set -o``, or of ``set +o``: commands that restore the options."""
    if sign == "+":
        return [f"set {'-' if option in options else '+'}o {name}" for name, option in _NAMES.items()]
    settings = [f"{name:<15} {'on' if option in options else 'off'}" for name, option in _NAMES.items()]
    return ["Current option settings", *settings]
