"""Fields of features that kube-apiserver has turned off by default: it drops them, unless they are in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain

__all__ = ["dropped_on_create", "dropped_on_update", "owner_at"]


def dropped_on_create(*path: str) -> Callable[[Plain, Allocator], None]:
    """Return a hook that drops the field at a path from new objects."""
    return lambda obj, _allocate: _drop(obj, path)


def dropped_on_update(*path: str) -> Callable[[Plain, Plain], None]:
    """Return a hook that drops the field at a path from an update, unless the stored object has that field."""

    def drop(new: Plain, old: Plain) -> None:
        if owner_at(old, path).get(path[-1]) is None:
            _drop(new, path)

    return drop


def _drop(obj: Plain, path: tuple[str, ...]) -> None:
    owner_at(obj, path).pop(path[-1], None)


def owner_at(obj: Plain, path: tuple[str, ...]) -> Plain:
    """Return the object with the field at a path, or an empty object."""
    for name in path[:-1]:
        obj = part(obj, name)
    return obj
