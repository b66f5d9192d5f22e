"""What can be listed and watched: the source of every cache."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

import msgspec

from masthead._client.pagination import ListQuery, name_kinds
from masthead._client.read_verbs import source_of
from masthead._client.watch_event import read_events
from masthead._meta.object import Object
from masthead.errors import BadRequestError, StatusError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Callable, Mapping, Sequence

    from masthead._client.options import FieldSelection, LabelSelection, Query
    from masthead._client.read_verbs import ReadVerbs
    from masthead._client.watch_event import WatchEvent
    from masthead._meta.gvk import GroupVersionResource
    from masthead._meta.object import ObjectList
    from masthead._meta.v1 import ResourceVersionMatch
    from masthead._rest.response_stream import ResponseStream
    from masthead.errors import DecodeError

__all__ = ["ListOptions", "ListWatch", "ResourceListWatch", "log_label"]

T = TypeVar("T", bound=Object)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListOptions:
    """What one list or watch is asked with; the API's names, and empty for what is not said.

    Attributes:
        resource_version: How fresh a list must be; where a watch begins.
        resource_version_match: How exactly.
        limit: How many objects of a list; 0 for all.
        continue_: Where the page of a list begins.
        timeout_seconds: After how long the server is to end a watch.
        send_initial_events: Whether a watch is to begin with what there is, and a bookmark behind it.
        key: Only the object of this key, as far as the source can select; it may answer with more.
        read_timeout: Seconds without a byte after which a watch counts as dead; None for the client's own.
    """

    resource_version: str = ""
    resource_version_match: ResourceVersionMatch | None = None
    limit: int = 0
    continue_: str = ""
    timeout_seconds: int = 0
    send_initial_events: bool = False
    key: str = ""
    read_timeout: float | None = None


class ListWatch(Protocol[T]):
    """Anything that can be listed and watched. Implement it to cache what does not come from a client's resource."""

    @property
    def item(self) -> type[T]:
        """What the objects are."""
        ...

    @property
    def resource(self) -> str:
        """What is listed, for messages, logs and metrics: ``pods``, ``deployments.apps``."""
        ...

    @property
    def knows_initial_events(self) -> bool:
        """Whether a watch can begin with what there is, as far as that is known. Asked once, at the start."""
        ...

    def forget_initial_events(self) -> None:
        """Take note that a watch cannot begin with what there is."""
        ...

    async def list(self, options: ListOptions, on_broken: Callable[[DecodeError], None]) -> ObjectList[T]:
        """Ask for one page.

        Args:
            options: Which.
            on_broken: Called with each object that cannot be decoded, which is then left out.

        Raises:
            MastheadError: if there is none.
        """
        ...

    def watch(self, options: ListOptions) -> AsyncGenerator[Sequence[WatchEvent[T]], None]:
        """Open one connection, and give the events that come over it, in the order in which they come.

        Those that came together are given together. The first, which may be empty, is given as soon as the server has
        agreed. The iterator ends when the server ends the watch.

        Raises:
            MastheadError: if it cannot be opened, breaks, or ends with an ERROR event.
        """
        ...


class ResourceListWatch(Generic[T]):
    """A resource of a client, in one namespace or in all, filtered by selectors.

    Raises:
        SelectorError: if a selector is none.
    """

    def __init__(
        self,
        resource: ReadVerbs[T],
        *,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
        shard_selector: str | None = None,
    ) -> None:
        self._resource = resource
        self._source = source_of(resource)
        self._wish = ListQuery(
            label_selector=label_selector, field_selector=field_selector, shard_selector=shard_selector
        )
        self._selectors = self._wish.params()
        self._found: GroupVersionResource | None = None

    @property
    def item(self) -> type[T]:
        """What the objects are."""
        return self._source.item

    @property
    def resource(self) -> str:
        """What is listed; what is looked up by name is called by that name."""
        return self._source.title

    @property
    def server(self) -> str:
        """What logs call the server."""
        return self._source.access.rest.server

    @property
    def namespace(self) -> str | None:
        """Whose objects; None for all namespaces, and for what lives in none."""
        return self._resource.namespace

    @property
    def selectors(self) -> Mapping[str, str]:
        """What the objects are filtered by, under the API's names: ``labelSelector`` and so on."""
        return dict(self._selectors)

    @property
    def knows_initial_events(self) -> bool:
        """Whether a watch can begin with what there is, as far as anybody who uses the client has found out."""
        return self._found not in self._source.access.without_initial_events

    def forget_initial_events(self) -> None:
        """Take note that a watch cannot begin with what there is."""
        if self._found is not None:
            self._source.access.without_initial_events.add(self._found)

    async def list(self, options: ListOptions, on_broken: Callable[[DecodeError], None]) -> ObjectList[T]:
        """Ask for one page.

        Raises:
            MastheadError: if there is none.
        """
        wish = replace(
            self._wish,
            resource_version=options.resource_version or None,
            resource_version_match=options.resource_version_match,
            limit=options.limit or None,
            continue_=options.continue_ or None,
        )
        target = await self._source.target()
        async with await self._open(
            "list", _only(options.key, wish.params()), options.read_timeout
        ) as stream:
            # As a stream, because a long list may take its time, and only one that falls silent is given up.
            body = b"".join([chunk async for chunk in stream.chunks()])
        page = target.items.from_wire(body, on_error=on_broken)
        name_kinds(page)
        return page

    async def watch(self, options: ListOptions) -> AsyncGenerator[Sequence[WatchEvent[T]], None]:
        """Open one connection, and give the events that come over it.

        Raises:
            MastheadError: if it cannot be opened, breaks, or ends with an ERROR event.
        """
        target = await self._source.target()
        self._found = target.resource
        if options.send_initial_events and not self.knows_initial_events:
            # Somebody else who uses the client has found out. It is as if the server had said so once more.
            raise BadRequestError(
                "the server begins no watch with what there is", verb="watch", resource=target.name, code=400
            )
        async with await self._open("watch", self._watch_query(options), options.read_timeout) as stream:
            yield ()
            async with contextlib.aclosing(stream.batches()) as batches:
                async for lines in batches:
                    events: list[WatchEvent[T]] = []
                    for event in read_events(target.item, lines):
                        if isinstance(event, StatusError):
                            yield events
                            event.resource = event.resource or target.name
                            raise event
                        events.append(event)
                    yield events

    async def _open(self, verb: str, query: Query, read_timeout: float | None) -> ResponseStream:
        """Send a request, once: when it is sent again is for whoever lists and watches to decide."""
        call = await self._source.call(verb, query, read_timeout)
        return await self._source.access.rest.open(msgspec.structs.replace(call, retries=0))

    def _watch_query(self, options: ListOptions) -> Query:
        wish = replace(
            self._wish,
            resource_version=options.resource_version or None,
            timeout_seconds=options.timeout_seconds or None,
        )
        query = [*wish.params(), ("watch", "true"), ("allowWatchBookmarks", "true")]
        return [*query, *_INITIAL_EVENTS] if options.send_initial_events else query


def log_label(source: ListWatch[T], name: str = "", scope: str = "") -> str:
    """What logs call a source: ``pods in shop of 10.0.0.1:6443``."""
    server = f" of {source.server}" if isinstance(source, ResourceListWatch) else ""
    return f"{name or source.resource}{f' in {scope}' if scope else ''}{server}"


_INITIAL_EVENTS: Final = (("sendInitialEvents", "true"), ("resourceVersionMatch", "NotOlderThan"))


def _only(key: str, query: Query) -> Query:
    """The same query for one object."""
    if not key:
        return query
    namespace, _, name = key.rpartition("/")
    terms = [value for option, value in query if option == "fieldSelector"]
    terms.append(f"metadata.name={name}")
    if namespace:
        terms.append(f"metadata.namespace={namespace}")
    rest = [pair for pair in query if pair[0] != "fieldSelector"]
    return [*rest, ("fieldSelector", ",".join(terms))]
