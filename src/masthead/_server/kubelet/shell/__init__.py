"""The built-in shell: what commands do that no handler is registered for."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from masthead._server.kubelet.process import ExecProcess

__all__ = ["ExecutableNotFoundError", "run_builtin"]


class ExecutableNotFoundError(Exception):
    """There is no such command, in the words of a container runtime."""

    def __init__(self, name: str) -> None:
        super().__init__(f'exec: "{name}": executable file not found in $PATH')


async def run_builtin(process: ExecProcess) -> int:
    """Run a command; returns the exit code.

    Raises:
        ExecutableNotFoundError: If there is no such command.
    """
    raise ExecutableNotFoundError(process.argv[0])
