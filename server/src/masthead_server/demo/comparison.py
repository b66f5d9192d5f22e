"""Compares caches with the server."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeVar

import masthead

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

T = TypeVar("T", bound=masthead.Object)


@dataclass(frozen=True, slots=True)
class Agreement:
    """One comparison of the caches with the cluster, by keys and versions.

    Attributes:
        cached: The number of cached objects.
        cluster: The number of objects that the cluster listed.
        differing: The number of objects that only one of them has, or in another version.
    """

    cached: int
    cluster: int
    differing: int

    @property
    def is_equal(self) -> bool:
        """Whether the caches have exactly the cluster's objects."""
        return self.differing == 0


def compare_versions(cached: Mapping[str, str], cluster: Mapping[str, str]) -> Agreement:
    """Compare two mappings from objects to versions."""
    different = cached.items() ^ cluster.items()
    return Agreement(len(cached), len(cluster), len({key for key, _ in different}))


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
