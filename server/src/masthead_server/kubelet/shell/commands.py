"""The commands of the built-in shell that are not about files; `COMMANDS` has all of them."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead_server.kubelet.shell import conditions, copy_commands, file_commands, text_commands
from masthead_server.kubelet.shell.arguments import read_options
from masthead_server.kubelet.shell.control import UsageError
from masthead_server.kubelet.shell.date_command import date
from masthead_server.kubelet.shell.expr import expr
from masthead_server.kubelet.shell.gzip import run_gunzip, run_gzip
from masthead_server.kubelet.shell.job_control import kill
from masthead_server.kubelet.shell.listing import ls
from masthead_server.kubelet.shell.printf import PrintfError, format_pieces, unescape
from masthead_server.kubelet.shell.programs import env
from masthead_server.kubelet.shell.sed import sed
from masthead_server.kubelet.shell.streams import PIECE
from masthead_server.kubelet.shell.tar import run_tar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from masthead_server.kubelet.shell.state import CommandIO

    Act: TypeAlias = Callable[[list[str], CommandIO], Awaitable[int]]

__all__ = ["COMMANDS", "Act"]

_UNITS: Final = {"": 1, "s": 1, "m": 60, "h": 3600, "d": 86_400}
_DURATION: Final = re.compile(r"([0-9]*\.?[0-9]+)([smhd]?)")
_MAX_SLEEP: Final = 10.0**9
_BAD_USE: Final = 2


async def _echo(arguments: list[str], io: CommandIO) -> int:
    end, has_escapes = "\n", False
    while arguments and re.fullmatch(r"-[neE]+", arguments[0]):
        for letter in arguments[0][1:]:
            if letter == "n":
                end = ""
            else:
                has_escapes = letter == "e"
        arguments = arguments[1:]
    text, is_ended = " ".join(arguments), False
    if has_escapes:
        text, is_ended = unescape(text)
    await io.stdout.write(f"{text}{'' if is_ended else end}".encode("utf-8", "surrogateescape"))
    return 0


async def _printf(arguments: list[str], io: CommandIO) -> int:
    if arguments[:1] == ["--"]:
        arguments = arguments[1:]
    if not arguments:
        raise UsageError("usage: printf FORMAT [ARGUMENT...]", _BAD_USE)
    text, problems = "", list[str]()
    try:
        for piece in format_pieces(arguments[0], arguments[1:], problems):
            text += piece
            if len(text) >= PIECE:
                await io.stdout.write(text.encode("utf-8", "surrogateescape"))
                await asyncio.sleep(0)  # a short format may print very much
                text = ""
    except PrintfError as error:
        await io.stdout.write(text.encode("utf-8", "surrogateescape"))
        raise UsageError(str(error), _BAD_USE) from error
    await io.stdout.write(text.encode("utf-8", "surrogateescape"))
    for problem in problems:
        await io.complain(f"printf: {problem}: expected numeric value")
    return int(bool(problems))


async def _printenv(arguments: list[str], io: CommandIO) -> int:
    environment = io.state.variables.environment()
    if not arguments:
        return await env([], io)
    status = 0
    for name in arguments:
        if name in environment:
            await io.print(environment[name])
        else:
            status = 1
    return status


async def _pwd(arguments: list[str], io: CommandIO) -> int:
    read_options(arguments, "LP")
    await io.print(io.state.cwd)
    return 0


async def _true(_arguments: list[str], _io: CommandIO) -> int:
    return 0


async def _false(_arguments: list[str], _io: CommandIO) -> int:
    return 1


async def _sleep(arguments: list[str], io: CommandIO) -> int:
    seconds = 0.0
    for argument in arguments:
        found = _DURATION.fullmatch(argument)
        if found is None and argument != "infinity":
            await io.complain(f"sleep: invalid number '{argument}'")
            return 1
        seconds += float(found[1]) * _UNITS[found[2]] if found is not None else _MAX_SLEEP
    if seconds:
        await io.state.sleep(min(seconds, _MAX_SLEEP))
    return 0


async def _uptime(arguments: list[str], io: CommandIO) -> int:
    read_options(arguments, "")
    await io.print(f" {io.state.clock.now():%H:%M:%S} up 0 min,  load average: 0.00, 0.00, 0.00")
    return 0


async def _seq(arguments: list[str], io: CommandIO) -> int:
    # At most 15 digits: `int` takes quadratic time.
    if not 1 <= len(arguments) <= 3 or not all(re.fullmatch(r"-?[0-9]{1,15}", word) for word in arguments):
        await io.complain("seq: usage: seq [FIRST [INC]] LAST")
        return 1
    numbers = [int(word) for word in arguments]
    first, last = numbers[0] if len(numbers) > 1 else 1, numbers[-1]
    step = numbers[1] if len(numbers) == 3 else 1
    if not step:
        await io.complain("seq: zero increment")
        return 1
    for number in range(first, last + (1 if step > 0 else -1), step):
        await io.print(str(number))
        await asyncio.sleep(0)  # it may print very much
    return 0


async def _yes(arguments: list[str], io: CommandIO) -> int:
    text = " ".join(arguments) or "y"
    while True:
        await io.print(text)
        await asyncio.sleep(0)


async def _whoami(arguments: list[str], io: CommandIO) -> int:
    read_options(arguments, "")
    await io.print("root")
    return 0


async def _id(arguments: list[str], io: CommandIO) -> int:
    options, operands = read_options(arguments, "ugGn")
    if operands and operands[0] not in {"root", "0"}:
        raise UsageError(f"unknown user {operands[0]}")
    name = "root" if "n" in options else "0"
    await io.print(name if options else "uid=0(root) gid=0(root) groups=0(root)")
    return 0


async def _uname(arguments: list[str], io: CommandIO) -> int:
    options, _ = read_options(arguments, "asnrvmpio", long={"--all": "a"})
    parts = {
        "s": "Linux",
        "n": io.state.host.name,
        "r": "6.1.0",
        "v": "#1 SMP",
        "m": "x86_64",
        "p": "unknown",
        "i": "unknown",
        "o": "GNU/Linux",
    }
    shown = "snrvmo" if "a" in options else [letter for letter in parts if letter in options] or ["s"]
    await io.print(" ".join(parts[letter] for letter in shown))
    return 0


async def _hostname(arguments: list[str], io: CommandIO) -> int:
    options, names = read_options(arguments, "fsdi")
    if names:
        await io.complain("hostname: sethostname: Operation not permitted")
        return 1
    host = io.state.host
    short, _, domain = host.fqdn.partition(".")
    shown = {"f": host.fqdn, "s": short, "d": domain, "i": " ".join(host.addresses)}
    await io.print(next((text for letter, text in shown.items() if letter in options), host.name))
    return 0


COMMANDS: Final[Mapping[str, Act]] = {
    "[": conditions.bracket,
    "[[": conditions.double_bracket,
    "base64": text_commands.encode,
    "basename": text_commands.basename,
    "cat": file_commands.cat,
    "chmod": file_commands.chmod,
    "cp": copy_commands.cp,
    "cut": text_commands.cut,
    "date": date,
    "dd": copy_commands.dd,
    "dirname": text_commands.dirname,
    "echo": _echo,
    "env": env,
    "expr": expr,
    "false": _false,
    "grep": text_commands.grep,
    "gunzip": run_gunzip,
    "gzip": run_gzip,
    "head": file_commands.head,
    "hostname": _hostname,
    "id": _id,
    "kill": kill,
    "ln": copy_commands.ln,
    "ls": ls,
    "mkdir": file_commands.mkdir,
    "mv": copy_commands.mv,
    "printenv": _printenv,
    "printf": _printf,
    "pwd": _pwd,
    "rm": file_commands.rm,
    "sed": sed,
    "seq": _seq,
    "sha256sum": text_commands.digest,
    "sleep": _sleep,
    "sort": text_commands.sort,
    "sync": _true,
    "tail": file_commands.tail,
    "tar": run_tar,
    "tee": text_commands.tee,
    "test": conditions.run_test,
    "touch": file_commands.touch,
    "tr": text_commands.tr,
    "true": _true,
    "uname": _uname,
    "uniq": text_commands.uniq,
    "uptime": _uptime,
    "wc": file_commands.wc,
    "whoami": _whoami,
    "yes": _yes,
}
"""Every command by its name."""
