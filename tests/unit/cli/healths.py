"""Healths of informers, as live views see them."""

from __future__ import annotations

from masthead.cache import InformerHealth


def health(error: str = "", failures: int = 0, *, is_connected: bool = False) -> InformerHealth:
    """The health of an informer that has synced."""
    return InformerHealth(
        state="watching",
        is_synced=True,
        version="1",
        objects=1,
        staleness=0,
        since_event=0,
        last_error=error,
        since_error=0,
        failures=failures,
        relists=0,
        reconnects=0,
        broken={},
        pending={},
        handler_failures={},
        is_connected=is_connected,
    )
