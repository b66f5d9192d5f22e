"""Taints of nodes, and the tolerations of pods."""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final

import msgspec

from masthead._meta import typeinfo

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from masthead_server.scheduling.facts import Taint

__all__ = ["Toleration", "is_tolerated", "read_tolerations"]

_CACHED: Final = 1024


class Toleration(msgspec.Struct, frozen=True):
    """A toleration of a pod."""

    key: str = ""
    operator: str = ""
    value: str = ""
    effect: str = ""


_decode: Callable[[bytes], tuple[Toleration, ...]] = typeinfo.json_decoder(tuple[Toleration, ...]).decode


@lru_cache(maxsize=_CACHED)
def read_tolerations(written: bytes) -> tuple[Toleration, ...]:
    """Decode the tolerations of a pod; the pods of a workload share them."""
    return _decode(written) if written else ()


def is_tolerated(taint: Taint, tolerations: Iterable[Toleration]) -> bool:
    """Tell whether one of the tolerations tolerates a taint."""
    return any(_tolerates(toleration, taint) for toleration in tolerations)


def _tolerates(toleration: Toleration, taint: Taint) -> bool:
    # An empty effect or key matches any, and both together match all taints.
    if toleration.effect not in {"", taint.effect} or toleration.key not in {"", taint.key}:
        return False
    match toleration.operator:
        case "Exists":
            return True
        case "" | "Equal":
            return toleration.value == taint.value
        case _:
            # The operators Gt and Lt need a disabled feature gate; validation refuses them.
            return False
