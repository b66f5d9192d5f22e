"""The builtins of the shell by their names."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.shell import flow_builtins, job_control, variable_builtins
from masthead_server.kubelet.shell.getopts import getopts

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.kubelet.shell.commands import Act
    from masthead_server.kubelet.shell.state import CommandIO

__all__ = ["BUILTINS", "SPECIAL_BUILTINS", "is_builtin"]


def is_builtin(name: str) -> bool:
    """Tell whether a name is that of a builtin, which only a shell knows."""
    return name in SPECIAL_BUILTINS or name in BUILTINS


async def _do_nothing(_arguments: list[str], _io: CommandIO) -> int:
    return 0


SPECIAL_BUILTINS: Final[Mapping[str, Act]] = {
    ".": flow_builtins.source,
    ":": _do_nothing,
    "break": flow_builtins.break_loop,
    "continue": flow_builtins.continue_loop,
    "eval": flow_builtins.evaluate,
    "exec": flow_builtins.execute,
    "exit": flow_builtins.exit_shell,
    "export": variable_builtins.export,
    "local": variable_builtins.local,
    "readonly": variable_builtins.read_only,
    "return": flow_builtins.return_from,
    "set": variable_builtins.set_options,
    "shift": variable_builtins.shift,
    "trap": job_control.trap,
    "unset": variable_builtins.unset,
}
"""What POSIX calls special: errors end the shell, and assignments in front of them last."""
BUILTINS: Final[Mapping[str, Act]] = {
    "cd": variable_builtins.cd,
    "command": partial(flow_builtins.run_unnamed, is_builtin=is_builtin),
    "getopts": getopts,
    "read": variable_builtins.read,
    "type": partial(flow_builtins.describe_names, is_builtin=is_builtin, is_verbose=True),
    "wait": job_control.wait,
}
