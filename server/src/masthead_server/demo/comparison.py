"""Compares a cache with the server."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

import masthead

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

T = TypeVar("T", bound=masthead.Object)


def differences(what: str, copy: Mapping[str, T], server: Mapping[str, T]) -> Iterator[str]:
    """The differences between a cache and the server's objects, object by object."""
    for key in sorted(copy.keys() | server.keys()):
        if key not in copy:
            yield f"{what} lacks {key}"
        elif key not in server:
            yield f"{what} still has {key}"
        # Whole objects, and not versions alone: a cache could have the right version with wrong content.
        elif copy[key] != server[key]:
            mine, theirs = (objects[key].metadata.resource_version for objects in (copy, server))
            yield f"{what} has {key} at version {mine}, and the server at {theirs}"
