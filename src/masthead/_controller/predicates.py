"""Predicates: filters for changes of watched objects.

::

    spec_or_annotations = masthead.predicates.generation_changed | masthead.predicates.annotations_changed

    @app.controller(Website, predicate=spec_or_annotations)
    async def reconcile(ctx: masthead.aio.ReconcileContext[Website], site: Website) -> None: ...

Predicates do not shrink the cache: the objects are still listed, watched and stored. Selectors do.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, TypeAlias, cast

from masthead._cache.callables import check_plain
from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._meta.object import Object

__all__ = [
    "ChangeEvent",
    "Predicate",
    "always",
    "annotations_changed",
    "fields_changed",
    "generation_changed",
    "labels_changed",
    "metadata_changed",
    "predicate_of",
    "when",
]


@set_module("masthead.predicates")
@dataclass(frozen=True, slots=True)
class ChangeEvent:
    """A change of a watched object.

    Attributes:
        old: The object before; None if it was added.
        new: The object after; None if it was deleted.
        is_initial: Whether the object existed before the controller started.
        is_resync: Whether the object is unchanged and delivered by a resync.
    """

    old: Object | None
    new: Object | None
    is_initial: bool = False
    is_resync: bool = False

    @property
    def object(self) -> Object:
        """The object after the change, or before its deletion."""
        return cast("Object", self.new if self.new is not None else self.old)


@set_module("masthead.predicates")
class Predicate:
    """A filter for changes. Combine predicates with ``&``, ``|`` and ``~``.

    Args:
        test: Called with every change. It must neither block nor mutate the objects. If it raises, the error is logged,
            and the change passes.

    Raises:
        ArgumentError: If the test is not a plain function.
    """

    __slots__ = ("_test",)

    def __init__(self, test: Callable[[ChangeEvent], bool]) -> None:
        check_plain("a predicate", test)
        self._test = test

    def __call__(self, event: ChangeEvent) -> bool:
        """Whether the change leads to a reconcile."""
        return bool(self._test(event))

    def __and__(self, other: Predicate) -> Predicate:
        """Combine two predicates: both must pass."""
        return Predicate(lambda event: self(event) and other(event))

    def __or__(self, other: Predicate) -> Predicate:
        """Combine two predicates: one must pass."""
        return Predicate(lambda event: self(event) or other(event))

    def __invert__(self) -> Predicate:
        """Negate the predicate."""
        return Predicate(lambda event: not self(event))


PredicateLike: TypeAlias = Predicate | Callable[[ChangeEvent], bool]
"""A predicate, or a plain function of one change."""


def predicate_of(given: PredicateLike | None) -> Predicate | None:
    """Turn a predicate or a function into a predicate.

    Raises:
        ArgumentError: If the argument is neither.
    """
    return given if given is None or isinstance(given, Predicate) else Predicate(given)


def _on_update(differs: Callable[[Object, Object], bool]) -> Predicate:
    """Return a predicate for adds, deletes, resyncs, and updates that differ."""

    def test(event: ChangeEvent) -> bool:
        if event.old is None or event.new is None or event.is_resync:
            return True
        # A recreated object is a different object even if all fields are equal.
        return event.old.metadata.uid != event.new.metadata.uid or differs(event.old, event.new)

    return Predicate(test)


always: Final = Predicate(lambda _: True)
"""Every change."""

generation_changed: Final = _on_update(
    lambda old, new: (
        old.metadata.generation != new.metadata.generation
        or (old.metadata.deletion_timestamp is None) != (new.metadata.deletion_timestamp is None)
    )
)
"""Updates of the spec and the start of a deletion; not of status, labels or annotations. Adds and deletes pass."""

labels_changed: Final = _on_update(lambda old, new: old.metadata.labels != new.metadata.labels)
"""Updates that change labels. Adds and deletes pass."""

annotations_changed: Final = _on_update(lambda old, new: old.metadata.annotations != new.metadata.annotations)
"""Updates that change annotations. Adds and deletes pass."""

metadata_changed: Final = (
    labels_changed
    | annotations_changed
    | _on_update(lambda old, new: old.metadata.finalizers != new.metadata.finalizers)
    | _on_update(lambda old, new: old.metadata.owner_references != new.metadata.owner_references)
)
"""Updates that change labels, annotations, finalizers or owners. Adds and deletes pass."""


@set_module("masthead.predicates")
def fields_changed(*paths: str) -> Predicate:
    """Return a predicate for updates that change at least one of several fields. Adds and deletes pass.

    Args:
        paths: Fields by their wire names, such as ``spec.replicas`` or ``data``.

    Raises:
        ArgumentError: If there is no path, or a path is empty.
    """
    if not paths or not all(paths):
        raise ArgumentError("name the fields, such as fields_changed('spec.replicas')", value=paths)
    split = [path.split(".") for path in paths]
    return _on_update(lambda old, new: any(_value_at(old, path) != _value_at(new, path) for path in split))


@set_module("masthead.predicates")
def when(test: Callable[[ChangeEvent], bool]) -> Predicate:
    """Return a predicate for a function: ``when(lambda event: event.object.metadata.name != "ignored")``.

    Raises:
        ArgumentError: If the argument is not a plain function.
    """
    return Predicate(test)


def _value_at(obj: Object, path: Sequence[str]) -> object:
    """Return the value at a path of wire names; None if it is unset."""
    value: object = obj.to_dict()
    for name in path:
        if not isinstance(value, dict):
            return None
        value = cast("dict[str, object]", value).get(name)
    return value
