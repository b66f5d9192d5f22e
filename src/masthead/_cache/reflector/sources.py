"""The sources of an informer, by scope."""

from __future__ import annotations

import inspect
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Final, TypeVar, cast

from masthead._cache.reflector.foreign import Source, as_source
from masthead._client.listwatch import ListWatch
from masthead._client.read_verbs import ReadVerbs
from masthead._meta.object import Object
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from masthead._cache.options import InformerOptions
    from masthead._client.listwatch import ListerWatcher

__all__ = ["log_label", "sources_of"]

T = TypeVar("T", bound=Object)

_MEMBERS: Final = ("item", "resource", "supports_initial_events", "disable_initial_events", "list", "watch")
"""The members of a `ListerWatcher`."""


def sources_of(
    given: ReadVerbs[T] | ListWatch[T] | ListerWatcher[T] | Sequence[ReadVerbs[T]],
    options: InformerOptions[T],
) -> Mapping[str, Source[T]]:
    """Return the sources of an informer by namespace; a single source has the empty name.

    Raises:
        ArgumentError: If the sequence is empty, a source cannot be listed and watched, two have the same namespace, or
            a selector is passed for a source that is not a resource of a client.
        SelectorError: If a selector is invalid.
    """
    label_selector, field_selector, shard_selector = (
        options.label_selector,
        options.field_selector,
        options.shard_selector,
    )
    selectors = {
        "label_selector": label_selector,
        "field_selector": field_selector,
        "shard_selector": shard_selector,
    }

    def list_watch(resource: ReadVerbs[T]) -> Source[T]:
        return resource.list_watch(
            label_selector=label_selector,
            field_selector=field_selector,
            shard_selector=shard_selector,
        )

    if isinstance(given, ReadVerbs):
        return {"": list_watch(given)}
    if isinstance(given, Sequence):
        return _by_namespace([(resource, list_watch(resource)) for resource in _check_resources(given)])
    if unused := [name for name, selector in selectors.items() if selector is not None]:
        # An ignored selector would cache objects that it was to exclude.
        raise ArgumentError(f"{unused[0]} is for resources of a client; give it to the source itself")
    if isinstance(given, ListWatch):
        return {"": given}
    # A class has the members, too, but they lack `self`.
    if isinstance(given, type) or not all(hasattr(given, name) for name in _MEMBERS):
        raise ArgumentError(f"{_describe(given)} can be neither listed nor watched; {_advice(given)}", value=given)
    if inspect.iscoroutinefunction(given.watch):
        # It would otherwise fail only when the first watch is opened.
        raise ArgumentError(f"{type(given).__name__}.watch must give events with yield, not return them", value=given)
    return {"": as_source(given)}


def _describe(source: object) -> str:
    return f"the class {source.__name__}" if isinstance(source, type) else f"a {type(source).__name__}"


def _advice(given: object) -> str:
    """Advice for an object that is not a source."""
    name = getattr(given, "__name__", "")
    if isinstance(given, type):
        if issubclass(given, Object):
            return f"give a resource such as client.core_v1.pods(), or ask a factory: factory.informer({name})"
        return f"give an object: {name}(...)"
    if inspect.isroutine(given):
        return f"call it, and give what it returns: {name}()"
    return (
        "give a resource such as client.core_v1.pods(), several of them, or a ListerWatcher, which has "
        f"{', '.join(_MEMBERS)}. A resource of masthead.Client goes with masthead.SharedInformer"
    )


def _check_resources(resources: Sequence[ReadVerbs[T]]) -> Sequence[ReadVerbs[T]]:
    if not resources:
        raise ArgumentError("there is nothing to watch: give at least one resource", value=resources)
    for resource in resources:
        if not isinstance(cast("object", resource), ReadVerbs):
            raise ArgumentError(
                f"{_describe(resource)} is no resource of a client; {_advice(resource)}", value=resource
            )
    return resources


def _by_namespace(pairs: Sequence[tuple[ReadVerbs[T], Source[T]]]) -> Mapping[str, Source[T]]:
    if len(pairs) == 1:
        # A single source is the whole store, whatever its namespace.
        return {"": pairs[0][1]}
    sources: dict[str, Source[T]] = {}
    for resource, source in pairs:
        namespace = resource.namespace
        # A key belongs to one scope: overlapping sources would both report it.
        if not namespace or namespace in sources:
            raise ArgumentError(
                "of several resources, each must be of another namespace, such as "
                "[client.core_v1.pods(namespace) for namespace in namespaces]",
                value=namespace,
            )
        sources[namespace] = source
    return sources


def log_label(source: Source[T], name: str = "", scope: str = "") -> str:
    """A source's name in logs: ``pods in shop of 10.0.0.1:6443``."""
    server = f" of {source.server}" if isinstance(source, ListWatch) else ""
    return f"{name or source.resource}{f' in {scope}' if scope else ''}{server}"
