"""Merges of tolerations."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead_server.wire.plain import text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead_server.wire.plain import Plain

__all__ = ["includes", "merge_tolerations"]


def merge_tolerations(tolerations: Sequence[Plain]) -> list[Plain]:
    """Return tolerations without redundant ones; of equal ones the first stays."""
    merged: list[Plain] = []
    for index, toleration in enumerate(tolerations):
        later = (other for other in tolerations[index + 1 :] if not _are_same(other, toleration))
        if not any(includes(other, toleration) for other in (*merged, *later)):
            merged.append(toleration)
    return merged


def includes(wide: Plain, narrow: Plain) -> bool:
    """Tell whether a toleration tolerates everything that another one does."""
    if _are_same(wide, narrow):
        return True
    is_universal = not text(wide, "key") and text(wide, "operator") == "Exists"
    if text(wide, "key") != text(narrow, "key") and not is_universal:
        return False
    effect = text(wide, "effect")
    if effect and effect != text(narrow, "effect"):
        return False
    if effect == "NoExecute" and (limit := wide.get("tolerationSeconds")) is not None:
        seconds = narrow.get("tolerationSeconds")
        if seconds is None or seconds > limit:
            return False
    match text(wide, "operator"):
        case "" | "Equal":
            return text(narrow, "operator") == "Equal" and text(narrow, "value") == text(wide, "value")
        case "Exists":
            return True
        case _:
            return False


def _are_same(one: Plain, other: Plain) -> bool:
    fields = ("key", "operator", "value", "effect")
    is_same_taint = all(text(one, field) == text(other, field) for field in fields)
    return is_same_taint and one.get("tolerationSeconds") == other.get("tolerationSeconds")
