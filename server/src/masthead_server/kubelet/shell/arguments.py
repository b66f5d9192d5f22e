"""The options and the input lines of text commands."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

from masthead_server.kubelet.shell.devices import open_input

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

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


def read_options(arguments: list[str], with_value: str) -> tuple[dict[str, str], list[str]]:
    """Short options with their values, and operands.

    Args:
        arguments: The arguments.
        with_value: The letters of options that take a value.
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
        for index, letter in enumerate(word[1:], 1):
            if letter in with_value:
                options[letter] = word[index + 1 :] or (rest.pop(0) if rest else "")
                break
            options[letter] = ""
    return options, operands
