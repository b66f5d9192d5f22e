"""The options of an informer."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Generic, Literal, TypeAlias, TypedDict, TypeVar, get_args

from masthead._cache.callables import check_plain
from masthead._errors.options import explain_options
from masthead._meta.object import Object
from masthead._module import set_module
from masthead._sansio.backoff import Backoff
from masthead._sansio.handler_buffer import LIMIT
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from masthead._cache.store.storage import Stored
    from masthead._cache.store.transforms import Transform
    from masthead._client.options import FieldSelection, LabelSelection
    from masthead._sansio.changes import Queue
    from masthead._sansio.deltafifo import KeyListerGetter
    from masthead._sansio.store_indices import IndexFunc
    from masthead.metrics import Metrics

__all__ = ["CommonInformerArguments", "Hold", "InformerArguments", "InformerOptions", "options_of"]

T = TypeVar("T", bound=Object)

Hold: TypeAlias = Literal["lazy", "eager", "compact"]
"""How a store keeps objects: decoded on access, decoded on arrival, or compressed."""


@set_module("masthead.cache")
class CommonInformerArguments(TypedDict, Generic[T], total=False):
    """The keyword arguments that `SharedInformerFactory` passes on to its informers; see `InformerOptions`."""

    resync: float
    transform: Transform[T] | None
    hold: Hold
    page_size: int
    watch_list: bool
    stall_after: float | None
    buffer_limit: int
    detect_mutations: bool | None
    metrics: Metrics | None
    backoff: Callable[[], Backoff]


@set_module("masthead.cache")
class InformerArguments(CommonInformerArguments[T], total=False):
    """The keyword arguments of `SharedInformer`; see `InformerOptions`."""

    indexers: Mapping[str, IndexFunc[T]] | None
    label_selector: LabelSelection | None
    field_selector: FieldSelection | None
    shard_selector: str | None
    name: str
    queue: Callable[[KeyListerGetter[Stored]], Queue[Stored]] | None


@set_module("masthead.cache")
@dataclass(frozen=True, slots=True, kw_only=True)
class InformerOptions(Generic[T]):
    """The options of an informer.

    Attributes:
        resync: Seconds between resyncs, which deliver every object to the handlers again without a request; 0 for
            never.
        indexers: Index functions by the name of their index. The namespace index is built in.
        label_selector: Labels that objects must have.
        field_selector: Fields that objects must have.
        shard_selector: The shard that objects must belong to, on servers with sharded list and watch.
        transform: Applied to each object before it is stored; see `masthead._cache.store.transforms`.
        hold: How objects are stored: ``lazy``, decoded on access; ``eager``, decoded on arrival; ``compact``,
            compressed, and decoded on every access.
        name: The name in logs and metrics; by default that of the resource.
        page_size: Objects per page of a list; 0 to choose by the server.
        watch_list: Whether to request the initial state as a watch-list, with a plain list as the fallback.
        stall_after: Seconds without a byte after which a watch counts as dead and is reopened; None for 28, or the
            client's read timeout if that is less. Below 75, idle watches end earlier than this, because a server need
            not send anything to them.
        buffer_limit: Notifications buffered per handler before they are merged by object.
        detect_mutations: Whether to detect mutations of shared objects; None to ask the environment variable
            MASTHEAD_MUTATION_DETECTOR.
        metrics: Receives the metrics; None for none.
        queue: Factory for a queue between list-watch and store, such as `DeltaFIFO`; None to apply changes immediately.
        backoff: Factory for the retry backoff after refusals, and after watches shorter than a second. An unreachable
            server is tried about every second.

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
        # Checked here, where the caller's line is in the traceback, and not in the task that uses the option.
        for name, (is_valid, expected) in _CHECKS.items():
            value: object = getattr(self, name)
            if not is_valid(value):
                raise ArgumentError(f"{name} is {value!r}; give {expected}", value=value)
        if self.transform is not None:
            check_plain("a transform", self.transform)


def options_of(call: str, options: CommonInformerArguments[T]) -> InformerOptions[T]:
    """Build the options of an informer from the keywords of its caller.

    Args:
        call: The call as the user writes it, for errors.
        options: The keywords.

    Raises:
        TypeError: If there is no such option.
        ArgumentError: If an option is invalid.
    """
    try:
        return InformerOptions(**options)
    except TypeError as error:
        raise explain_options(error, call, InformerOptions, options) from None


def _is_count(value: object) -> bool:
    # A bool is an int, too, but True is most likely a misplaced argument.
    return isinstance(value, int) and not isinstance(value, bool) and value >= 0


def _is_seconds(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and 0 <= value < math.inf


def _is_metrics(value: object) -> bool:
    # Metrics without parentheses is a class, which has the methods as well.
    return not isinstance(value, type) and all(
        callable(getattr(value, method, None)) for method in ("counter", "gauge", "histogram")
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
        "an object with counter, gauge and histogram, such as masthead.metrics.PrometheusMetrics()",
    ),
    "queue": (
        lambda value: value is None or callable(value),
        "a function that makes a queue, such as DeltaFIFO itself",
    ),
    "backoff": (callable, "a function that makes a Backoff, such as Backoff itself"),
}
"""A predicate for each checked option, and the advice for the error."""
