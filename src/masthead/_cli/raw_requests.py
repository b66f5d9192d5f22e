"""Requests to any path, whose responses are printed as they are."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from masthead._cli.terminal import write_data

if TYPE_CHECKING:
    import masthead

__all__ = ["print_raw"]


def print_raw(client: masthead.Client, path: str) -> None:
    """Print the response to a path as it arrives.

    Args:
        client: The client.
        path: The path, maybe with a query.

    Raises:
        MastheadError: As any call.
    """
    # As it arrives: paths may lead to large lists, and to watches.
    with client.rest.stream(path, accept="*/*") as response:
        for piece in response.chunks():
            _put(piece)
    sys.stdout.flush()


def _put(piece: bytes) -> None:
    # A terminal gets text without control characters, everything else the bytes.
    if sys.stdout.isatty():
        write_data(piece.decode("utf-8", "replace"))
    else:
        sys.stdout.flush()
        sys.stdout.buffer.write(piece)
