"""Slow validation: which objects are validated in a thread.

Patterns and rules may take a second on a large object. Small objects, which are nearly all, cannot make them that slow.
"""

from __future__ import annotations

from typing import Final, cast

__all__ = ["is_large"]

_MANY_ITEMS: Final = 50
_MUCH_TEXT: Final = 10_000


def is_large(value: object) -> bool:
    """Tell whether an object has a list or map of many items anywhere, or much text in all."""
    # An explicit stack: an object may be nested more deeply than Python's recursion allows.
    stack, characters = [value], 0
    while stack:
        node = stack.pop()
        if isinstance(node, str):
            characters += len(node)
            if characters > _MUCH_TEXT:
                return True
        elif isinstance(node, dict | list):
            children = cast("list[object]", list(node.values()) if isinstance(node, dict) else node)
            if len(children) > _MANY_ITEMS:
                return True
            stack += children
    return False
