"""The options of an informer, as one value."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeAlias, TypeVar, get_args

from masthead._cache.callables import check_plain
from masthead._meta.object import Object
from masthead._module import set_module
from masthead._sansio.backoff import Backoff
from masthead._sansio.buffer import LIMIT
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from masthead._cache.store.storage import Stored
    from masthead._cache.store.transforms import Transform
    from masthead._client.options import FieldSelection, LabelSelection
    from masthead._sansio.changes import Queue
    from masthead._sansio.deltafifo import KeyListerGetter
    from masthead._sansio.store import IndexFunc
    from masthead.metrics import Metrics

__all__ = ["Hold", "InformerOptions"]

T = TypeVar("T", bound=Object)

Hold: TypeAlias = Literal["lazy", "eager", "compact"]
"""How a store keeps objects: decoded on access, decoded at once, or compressed."""


@set_module("masthead.cache")
@dataclass(frozen=True, slots=True, kw_only=True)
class InformerOptions(Generic[T]):
    """The options of an informer; `SharedInformer` documents each of them under the same name.

    Raises:
        ArgumentError: If an option is invalid.
    """

    resync: float = 0.0
    indexers: Mapping[str, IndexFunc[T]] | None = None
    label_selector: LabelSelection | None = None
    field_selector: FieldSelection | None = None
    shard_selector: str | None = None
    transform: Transform[T] | None = None
    hold: Hold = "lazy"
    name: str = ""
    page_size: int = 0
    watch_list: bool = True
    stall_after: float | None = None
    buffer_limit: int = LIMIT
    detect_mutations: bool | None = None
    metrics: Metrics | None = None
    queue: Callable[[KeyListerGetter[Stored]], Queue[Stored]] | None = None
    backoff: Callable[[], Backoff] = Backoff

    def __post_init__(self) -> None:
        for name, (is_valid, expected) in _CHECKS.items():
            value: object = getattr(self, name)
            if not is_valid(value):
                raise ArgumentError(f"{name} is {value!r}; give {expected}", value=value)
        if self.transform is not None:
            check_plain("a transform", self.transform)


def _is_count(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_seconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _is_metrics(value: object) -> bool:
    return not isinstance(value, type) and all(
        callable(getattr(value, each, None)) for each in ("counter", "gauge", "histogram")
    )


_CHECKS: Final[Mapping[str, tuple[Callable[[object], bool], str]]] = {
    "resync": (_is_seconds, "seconds, such as 600.0, or 0 for never"),
    "indexers": (
        lambda value: value is None or isinstance(value, Mapping),
        "functions by name, such as {'node': lambda pod: [pod.spec.node_name]}",
    ),
    "hold": (lambda value: value in get_args(Hold), " or ".join(map(repr, get_args(Hold)))),
    "page_size": (_is_count, "a whole number, or 0 for what suits the server"),
    "stall_after": (
        lambda value: value is None or (_is_seconds(value) and bool(value)),
        "some seconds, or None for the default",
    ),
    "buffer_limit": (_is_count, "a whole number"),
    "metrics": (
        lambda value: value is None or _is_metrics(value),
        "an object with counter, gauge and histogram, such as masthead.PrometheusMetrics()",
    ),
    "queue": (
        lambda value: value is None or callable(value),
        "a function that makes a queue, such as DeltaFIFO itself",
    ),
    "backoff": (callable, "a function that makes a Backoff, such as Backoff itself"),
}
"""Whether an option is valid, and what would be."""
