"""What live views say about their connection."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._cli.terminal import say

if TYPE_CHECKING:
    import masthead

__all__ = ["connection_error", "report_connection"]


def connection_error(health: masthead.cache.InformerHealth) -> str:
    """Return why the display may be out of date, in a line; empty if the watches are open."""
    if health.is_connected or not health.failures:
        return ""
    # The type of the error is for programs.
    kind, _, message = " ".join(health.last_error.split()).partition(": ")
    return message if kind.isidentifier() else health.last_error


def report_connection(error: str, last_error: str) -> str:
    """Print why the connection is lost, once for each reason, and once that it is open again.

    Args:
        error: Why it is lost now; empty if it is not.
        last_error: The result of the previous call.

    Returns:
        Why it is lost now.
    """
    if error and error != last_error:
        say(f"reconnecting: {error}")
    elif last_error and not error:
        say("connected again")
    return error
