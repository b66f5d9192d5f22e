"""``masthead demo``: informers and a controller at work on a cluster that misbehaves."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str], *, name: str = "masthead demo") -> int:  # noqa: ARG001 - it knows its name
    """Run the demo; return the exit code: 0 if everything is in sync in the end.

    Args:
        arguments: The arguments after ``demo``.
        name: The name of the command in messages.

    Raises:
        ModuleNotFoundError: If the server is not installed.
    """
    # Names the extra if the server is not installed.
    import masthead.server  # noqa: F401 # pyright: ignore[reportUnusedImport]
    from masthead_server.demo.show import main as show

    return show(arguments)
