"""What live views say about their connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._cli.terminal import say

if TYPE_CHECKING:
    import masthead

__all__ = ["report_connection", "trouble_of"]


def trouble_of(health: masthead.Health) -> str:
    """Why what is shown may be out of date, in a line; empty if the watches are open."""
    if health.is_connected or not health.failures:
        return ""
    # The type of the error is for programs.
    kind, _, message = " ".join(health.last_error.split()).partition(": ")
    return message if kind.isidentifier() else health.last_error


def report_connection(found: str, problem: str) -> str:
    """Say why the connection is lost, once for each reason, and once that it is there again.

    Args:
        found: Why it is lost now; empty if it is not.
        problem: What was returned the last time.

    Returns:
        Why it is lost now.
    """
    if found and found != problem:
        say(f"reconnecting: {found}")
    elif problem and not found:
        say("connected again")
    return found
