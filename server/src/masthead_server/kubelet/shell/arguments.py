"""The options and the input lines of text commands."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from masthead_server.kubelet.shell.control import UsageError
from masthead_server.kubelet.shell.devices import open_input

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Mapping

    from masthead_server.kubelet.shell.state import CommandIO

__all__ = ["iter_lines", "read_options"]


async def iter_lines(paths: list[str], io: CommandIO) -> AsyncIterator[str]:
    """The lines of files, without their ends.

    Raises:
        OSError: If there is no such file.
    """
    for path in paths or ["-"]:
        source = open_input(path, io)
        while line := await source.read_line():
            yield line.decode("utf-8", "surrogateescape").removesuffix("\n")
            await asyncio.sleep(0)  # files wait for nothing


def read_options(
    arguments: list[str],
    flags: str,
    with_value: str = "",
    *,
    long: Mapping[str, str] | None = None,
    status: int = 1,
) -> tuple[dict[str, str], list[str]]:
    """Options with their values, and operands.

    Args:
        arguments: The arguments.
        flags: The letters of options without a value.
        with_value: The letters of options that take a value.
        long: Long options, with their dashes, and the letters of which they are other names.
        status: The exit code of a command that does not understand its arguments.

    Raises:
        UsageError: If an option is unknown, or has no value.
    """
    options, operands = dict[str, str](), list[str]()
    rest = list(arguments)
    while rest:
        word = rest.pop(0)
        if word == "--":
            return options, operands + rest
        if not word.startswith("-") or word == "-":
            operands.append(word)
            continue
        if word.startswith("--"):
            name, equals, value = word.partition("=")
            letter = (long or {}).get(name, "")
            # An option that would be ignored could change the result.
            if not letter or (equals and letter not in with_value):
                raise UsageError(f"unrecognized option '{word}'", status)
            word = f"-{letter}{value}"
        for index, letter in enumerate(word[1:], 1):
            if letter in with_value:
                if index + 1 == len(word) and not rest:
                    raise UsageError(f"option requires an argument -- '{letter}'", status)
                value = word[index + 1 :] or rest.pop(0)
                # The patterns of grep and the commands of sed add up; otherwise the last value counts.
                options[letter] = f"{options[letter]}\n{value}" if letter == "e" and letter in options else value
                break
            if letter not in flags:
                raise UsageError(f"invalid option -- '{letter}'", status)
            options[letter] = ""
    return options, operands
