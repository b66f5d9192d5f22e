"""The commands of the built-in shell that are not about files; `COMMANDS` has all of them."""

from __future__ import annotations

import asyncio
import re
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead_server.kubelet.filesystem import Directory, RegularFile, Symlink
from masthead_server.kubelet.shell import copy_commands, file_commands, text_commands
from masthead_server.kubelet.shell.expr import expr
from masthead_server.kubelet.shell.gzip import run_gunzip, run_gzip
from masthead_server.kubelet.shell.printf import format_pieces, unescape
from masthead_server.kubelet.shell.sed import sed
from masthead_server.kubelet.shell.state import PIECE
from masthead_server.kubelet.shell.tar import run_tar

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Mapping

    from masthead_server.kubelet.filesystem import Node
    from masthead_server.kubelet.shell.state import CommandIO

    Act: TypeAlias = Callable[[list[str], CommandIO], Awaitable[int]]

__all__ = ["COMMANDS"]

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
        await io.complain("printf: usage: printf FORMAT [ARGUMENT...]")
        return _BAD_USE
    text = ""
    for piece in format_pieces(arguments[0], arguments[1:]):
        text += piece
        if len(text) >= PIECE:
            await io.stdout.write(text.encode("utf-8", "surrogateescape"))
            await asyncio.sleep(0)  # a short format may print very much
            text = ""
    await io.stdout.write(text.encode("utf-8", "surrogateescape"))
    return 0


async def _env(_arguments: list[str], io: CommandIO) -> int:
    for name, value in io.state.env.items():
        await io.print(f"{name}={value}")
    return 0


async def _printenv(arguments: list[str], io: CommandIO) -> int:
    if not arguments:
        return await _env(arguments, io)
    status = 0
    for name in arguments:
        if name in io.state.env:
            await io.print(io.state.env[name])
        else:
            status = 1
    return status


async def _export(arguments: list[str], io: CommandIO) -> int:
    for argument in arguments:
        name, equals, value = argument.partition("=")
        if equals:
            io.state.assign(name, value)
    return 0


async def _unset(arguments: list[str], io: CommandIO) -> int:
    for argument in arguments:
        io.state.env.pop(argument, None)
    return 0


async def _set(_arguments: list[str], _io: CommandIO) -> int:
    return 0  # -e, -x and the like change nothing here


async def _pwd(_arguments: list[str], io: CommandIO) -> int:
    await io.print(io.state.cwd)
    return 0


async def _cd(arguments: list[str], io: CommandIO) -> int:
    path = io.state.path(arguments[0] if arguments else io.state.env.get("HOME", "/"))
    io.state.files.directory(path)
    io.state.cwd = path
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


async def _date(arguments: list[str], io: CommandIO) -> int:
    # Setting the clock is refused like a date that cannot be read: the clock is the server's.
    if operand := next((argument for argument in arguments if not argument.startswith(("+", "-"))), ""):
        await io.complain(f"date: invalid date '{operand}'")
        return 1
    form = next((argument[1:] for argument in arguments if argument.startswith("+")), "%a %b %e %H:%M:%S UTC %Y")
    now = io.state.clock.now()
    known = {"s": str(int(now.timestamp())), "N": f"{now.microsecond * 1000:09d}", "n": "\n", "%": "%"}

    def put(found: re.Match[str]) -> str:
        return known.get(found[1]) or now.strftime(found[0])

    await io.print(re.sub(r"%([a-zA-Z%])", put, form))
    return 0


async def _uptime(_arguments: list[str], io: CommandIO) -> int:
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


async def _read(arguments: list[str], io: CommandIO) -> int:
    """Read a line into variables: the last one gets the rest."""
    names = [word for word in arguments if not word.startswith("-")] or ["REPLY"]
    line = await io.stdin.read_line()
    words = line.decode("utf-8", "replace").removesuffix("\n").split(None, len(names) - 1)
    for index, name in enumerate(names):
        io.state.assign(name, words[index].strip() if index < len(words) else "")
    return int(not line.endswith(b"\n"))


async def _yes(arguments: list[str], io: CommandIO) -> int:
    text = " ".join(arguments) or "y"
    while True:
        await io.print(text)
        await asyncio.sleep(0)


async def _whoami(_arguments: list[str], io: CommandIO) -> int:
    await io.print("root")
    return 0


async def _id(arguments: list[str], io: CommandIO) -> int:
    await io.print("0" if arguments else "uid=0(root) gid=0(root) groups=0(root)")
    return 0


async def _uname(arguments: list[str], io: CommandIO) -> int:
    await io.print("x86_64" if "-m" in arguments else "Linux")
    return 0


async def _hostname(arguments: list[str], io: CommandIO) -> int:
    host, flag = io.state.host, "".join(arguments)
    short, _, domain = host.fqdn.partition(".")
    shown = {"": host.name, "-f": host.fqdn, "-s": short, "-d": domain, "-i": " ".join(host.addresses)}
    if flag not in shown:
        problem = f"unrecognized option: {flag}" if flag.startswith("-") else "sethostname: Operation not permitted"
        await io.complain(f"hostname: {problem}")
        return 1
    await io.print(shown[flag])
    return 0


async def _test(arguments: list[str], io: CommandIO) -> int:
    negates = bool(arguments) and arguments[0] == "!"
    found = _is_true(arguments[1:] if negates else arguments, io)
    if found is None:
        await io.complain("test: unknown operand")
        return _BAD_USE
    return int(found == negates)


async def _bracket(arguments: list[str], io: CommandIO) -> int:
    if not arguments or arguments[-1] != "]":
        await io.complain("[: missing ]")
        return _BAD_USE
    return await _test(arguments[:-1], io)


async def _double_bracket(arguments: list[str], io: CommandIO) -> int:
    # The parser has refused what single brackets cannot do.
    if not arguments or arguments[-1] != "]]":
        await io.complain("[[: missing ]]")
        return _BAD_USE
    return await _test(arguments[:-1], io)


def _is_true(words: list[str], io: CommandIO) -> bool | None:
    """The value of an expression; None if it is invalid."""
    if len(words) <= 1:
        return bool(words and words[0])
    if len(words) == 2:
        return _is_true_of(words[0], words[1], io)
    if len(words) > 3:
        return None
    left, operator, right = words
    if operator in {"=", "==", "!="}:
        return (left == right) == (operator != "!=")
    try:
        one, other = int(left), int(right)
    except ValueError:
        return None
    compared = {
        "-eq": one == other,
        "-ne": one != other,
        "-lt": one < other,
        "-le": one <= other,
        "-gt": one > other,
        "-ge": one >= other,
    }
    return compared.get(operator)


def _is_true_of(operator: str, operand: str, io: CommandIO) -> bool | None:
    if operator in {"-n", "-z"}:
        return bool(operand) == (operator == "-n")
    if operator not in {"-e", "-f", "-d", "-s", "-r", "-w", "-x", "-L", "-h"}:
        return None
    node: Node | None
    try:
        node = io.state.files.get(io.state.path(operand), follow=operator not in {"-L", "-h"})
    except OSError:
        return False
    if operator == "-f":
        return isinstance(node, RegularFile)
    if operator == "-d":
        return isinstance(node, Directory)
    if operator in {"-L", "-h"}:
        return isinstance(node, Symlink)
    return not isinstance(node, RegularFile) or operator != "-s" or node.size > 0


COMMANDS: Final[Mapping[str, Act]] = {
    ":": _true,
    "[": _bracket,
    "[[": _double_bracket,
    "base64": text_commands.encode,
    "basename": text_commands.basename,
    "cat": file_commands.cat,
    "cd": _cd,
    "chmod": file_commands.chmod,
    "cp": copy_commands.cp,
    "cut": text_commands.cut,
    "date": _date,
    "dd": copy_commands.dd,
    "dirname": text_commands.dirname,
    "echo": _echo,
    "env": _env,
    "export": _export,
    "expr": expr,
    "false": _false,
    "grep": text_commands.grep,
    "gunzip": run_gunzip,
    "gzip": run_gzip,
    "head": file_commands.head,
    "hostname": _hostname,
    "id": _id,
    "ln": copy_commands.ln,
    "ls": file_commands.ls,
    "mkdir": file_commands.mkdir,
    "mv": copy_commands.mv,
    "printenv": _printenv,
    "printf": _printf,
    "pwd": _pwd,
    "read": _read,
    "rm": file_commands.rm,
    "sed": sed,
    "seq": _seq,
    "set": _set,
    "sha256sum": text_commands.digest,
    "sleep": _sleep,
    "sort": text_commands.sort,
    "sync": _true,
    "tail": file_commands.tail,
    "tar": run_tar,
    "tee": text_commands.tee,
    "test": _test,
    "touch": file_commands.touch,
    "tr": text_commands.tr,
    "true": _true,
    "uname": _uname,
    "uniq": text_commands.uniq,
    "unset": _unset,
    "uptime": _uptime,
    "wc": file_commands.wc,
    "whoami": _whoami,
    "yes": _yes,
}
"""Every command by its name."""
