"""Fields of features that kube-apiserver has turned off by default: it drops them, unless they are in use."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain

__all__ = ["dropped_on_create", "dropped_on_update"]


def dropped_on_create(*path: str) -> Callable[[Plain, Allocator], None]:
    """Return a hook that drops the field at a path from new objects."""
    return lambda obj, _allocate: _drop(obj, path)


def dropped_on_update(*path: str) -> Callable[[Plain, Plain], None]:
    """Return a hook that drops the field at a path from an update, unless the stored object has that field."""

    def drop(new: Plain, old: Plain) -> None:
        if _owner(old, path).get(path[-1]) is None:
            _drop(new, path)

    return drop


def _drop(obj: Plain, path: tuple[str, ...]) -> None:
    _owner(obj, path).pop(path[-1], None)


def _owner(obj: Plain, path: tuple[str, ...]) -> Plain:
    for name in path[:-1]:
        obj = part(obj, name)
    return obj
