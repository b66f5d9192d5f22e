"""``sed`` of the built-in shell: substitutions, and ``p``, ``d`` and ``q``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final

from masthead._regexp.pattern import MatchLimitError
from masthead_server.kubelet.shell.arguments import iter_lines, read_options
from masthead_server.kubelet.shell.patterns import MAX_PATTERN, PatternError, compile_expression
from masthead_server.kubelet.shell.streams import FileOutput

if TYPE_CHECKING:
    from masthead._regexp.pattern import Pattern
    from masthead_server.kubelet.shell.state import CommandIO

__all__ = ["sed"]

_SUBSTITUTION: Final = re.compile(r"([0-9]*|\$)s(.)((?:\\.|(?!\2).)*)\2((?:\\.|(?!\2).)*)\2([gpI]*)", re.DOTALL)
_LINE_COMMAND: Final = re.compile(r"(?:([0-9]{1,9})(?:,([0-9]{1,9}|\$))?|/((?:\\.|[^/])*)/)?([pdq])")


async def sed(arguments: list[str], io: CommandIO) -> int:
    """Change lines: ``s/a/b/g`` and ``p``, ``d``, ``q`` for lines by number or pattern; ``-n``, ``-E``, ``-i``."""
    options, operands = read_options(arguments, "nEri", "e")
    script = options.get("e") or (operands.pop(0) if operands else "")
    is_extended = "E" in options or "r" in options
    try:
        steps = [_SedStep(text, is_extended=is_extended) for text in _sed_commands(script)]
        written = list[str]()
        number = 0
        async for line in iter_lines(operands, io):
            number += 1
            shown, goes_on = _edit(line, number, steps, is_silent="n" in options)
            if "i" in options:
                written += shown
            else:
                for text in shown:
                    await io.print(text)
            if not goes_on:
                break
    except (PatternError, MatchLimitError) as error:
        await io.complain(f"sed: {error}")
        return 1
    if "i" in options and operands:
        target = FileOutput(io.state.files.create(io.state.path(operands[0])))
        for text in written:
            await target.write(f"{text}\n".encode("utf-8", "surrogateescape"))
    return 0


def _sed_commands(script: str) -> list[str]:
    if len(script) > MAX_PATTERN:
        raise PatternError("script too long")
    return [text.strip() for text in re.split(r"\n|;\s*(?=[0-9/$sdpq])", script) if text.strip()]


class _SedStep:
    """A command of sed.

    Args:
        text: The command.
        is_extended: Whether its patterns are extended ones.
    """

    def __init__(self, text: str, *, is_extended: bool) -> None:
        self.pattern: Pattern | None = None
        self.replacement = ""
        self.flags = ""
        self.first, self.last = 0, 0
        if (found := _SUBSTITUTION.fullmatch(text)) is not None:
            self.kind, self.replacement, self.flags = "s", found[4], found[5]
            self.first = self.last = int(found[1][:9]) if found[1].isdigit() else 0
            source = found[3].replace(f"\\{found[2]}", found[2])
            self.pattern = compile_expression(source, is_extended=is_extended, ignores_case="I" in found[5])
            if re.search(r"\\[1-9]", found[4]):
                raise PatternError("references to groups are not a part of this shell")
        elif (line := _LINE_COMMAND.fullmatch(text)) is not None:
            self.kind = line[4]
            self.first = int(line[1] or 0)
            self.last = self.first if not line[2] else 10**9 if line[2] == "$" else int(line[2])
            if line[3] is not None:
                self.pattern = compile_expression(line[3], is_extended=is_extended)
        else:
            raise PatternError(f"unsupported command: {text}")

    def applies(self, line: str, number: int) -> bool:
        """Tell whether its address matches a line."""
        if self.first and not self.first <= number <= self.last:
            return False
        return self.pattern is None or self.pattern.search(line)

    def substitute(self, line: str) -> str:
        """Replace the matches."""
        assert self.pattern is not None
        pieces, position = list[str](), 0
        while position <= len(line) and (span := self.pattern.find(line, position)) is not None:
            start, end = span
            pieces += [line[position:start], _fill(self.replacement, line[start:end])]
            # An empty match must not be found again.
            pieces.append(line[end : end + 1] if end == start else "")
            position = end + (end == start)
            if "g" not in self.flags:
                break
        return "".join([*pieces, line[position:]])


def _fill(replacement: str, matched: str) -> str:
    """Expand a replacement, in which ``&`` is the match."""
    return re.sub(r"\\(.)|&", lambda found: found[1] or matched, replacement)


def _edit(line: str, number: int, steps: list[_SedStep], *, is_silent: bool) -> tuple[list[str], bool]:
    """Apply the commands to a line; return the output, and whether to read more lines."""
    shown: list[str] = []
    for step in steps:
        if not step.applies(line, number):
            continue
        if step.kind == "d":
            return shown, True
        if step.kind == "q":
            return [*shown, *([] if is_silent else [line])], False
        if step.kind == "s":
            line = step.substitute(line)
        if step.kind == "p" or "p" in step.flags:
            shown.append(line)
    return [*shown, *([] if is_silent else [line])], True
