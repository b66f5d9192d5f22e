"""`ListWatch`: one page of a list, or one connection of a watch.

It is the primitive below every list-watch of the library. Each method sends one request: when to send the next one, and
from which version, is decided by `masthead._sansio.listwatch`, and performed by `masthead._client.watch.WatchStream`,
`masthead._client.list_by_watch.watch_list` and the reflector.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final, Generic, Protocol, TypeVar

import msgspec

from masthead._client.pagination import name_kinds
from masthead._client.watch_event import read_events
from masthead._meta.list_reader import ListReader
from masthead._meta.object import Object
from masthead._module import set_module
from masthead._sansio.listwatch_steps import SILENCE_LIMIT, Failure
from masthead.errors import BadRequestError, CertificateError, ConnectError, DeadlineError, StatusError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, AsyncIterator, Awaitable, Callable, Mapping, Sequence
    from typing import Self

    from masthead._client.base import ClientContext
    from masthead._client.options import Query
    from masthead._client.pagination import ListQuery
    from masthead._client.resource_target import ResourceTarget
    from masthead._client.watch_event import WatchEvent
    from masthead._meta.gvk import GroupVersionResource
    from masthead._meta.object import ObjectList
    from masthead._meta.v1 import ResourceVersionMatch
    from masthead._rest.call import Call
    from masthead._rest.response_stream import ResponseStream
    from masthead.errors import DecodeError

__all__ = ["ListWatch", "ListWatchOptions", "ListerWatcher", "WatchConnection", "failure_of"]

T = TypeVar("T", bound=Object)

_TOO_LARGE: Final = "too large resource version"
_INVALID_VERSION: Final = "resourceVersion: Invalid value"
"""The server's message for a malformed version. Its code is 500, as if a retry could help."""


@set_module("masthead.cache")
@dataclass(frozen=True, slots=True, kw_only=True)
class ListWatchOptions:
    """The options of one list or watch request, under the API's names; empty for the API's default.

    Attributes:
        resource_version: How fresh a list must be; where a watch starts.
        resource_version_match: How exactly.
        limit: How many objects of a list; 0 for all.
        continue_: Where the page of a list starts.
        timeout_seconds: After how many seconds the server is to end a watch.
        send_initial_events: Whether a watch is to start with the current objects, and a bookmark behind them.
        key: Only the object of this key, as far as the source can select; it may return more.
        read_timeout: Seconds without a byte after which a watch counts as dead; None for the client's default.
        timeout: Seconds after which the response must have begun, credentials not counted; None for the client's
            default, which is never exceeded.
    """

    resource_version: str = ""
    resource_version_match: ResourceVersionMatch | None = None
    limit: int = 0
    continue_: str = ""
    timeout_seconds: int = 0
    send_initial_events: bool | None = None
    key: str = ""
    read_timeout: float | None = None
    timeout: float | None = None


@set_module("masthead.cache")
class ListerWatcher(Protocol[T]):
    """Anything that can be listed and watched. Implement it to cache objects that no client's resource serves."""

    @property
    def item(self) -> type[T]:
        """The class of the objects."""
        ...

    @property
    def resource(self) -> str:
        """The resource's name for messages, logs and metrics: ``pods``, ``deployments.apps``."""
        ...

    @property
    def supports_initial_events(self) -> bool:
        """Whether a watch can start with the current objects, as far as that is known. Read once, at the start."""
        ...

    def disable_initial_events(self) -> None:
        """Remember that a watch cannot start with the current objects."""
        ...

    async def list(self, options: ListWatchOptions, on_broken: Callable[[DecodeError], None]) -> ObjectList[T]:
        """Request one page.

        Args:
            options: Which page.
            on_broken: Called with an error for each object that cannot be decoded, which is then left out.

        Raises:
            MastheadError: If the request fails.
        """
        ...

    def watch(self, options: ListWatchOptions) -> AsyncGenerator[Sequence[WatchEvent[T]], None]:
        """Open one connection, and yield its events in order.

        Events that arrive together are yielded together. The first batch, which may be empty, is yielded as soon as the
        server has accepted the request. The generator ends when the server ends the watch.

        Raises:
            MastheadError: If it cannot be opened, is dropped, or ends with an ERROR event.
        """
        ...


@set_module("masthead.aio.cache")
class WatchConnection(Generic[T]):
    """One connection of a watch: an async iterator of batches of events.

    A server's ERROR event is raised as a `StatusError`, behind the events before it.
    """

    __slots__ = ("_batches", "_error", "_stream", "_target")

    def __init__(self, stream: ResponseStream, target: ResourceTarget[T]) -> None:
        self._stream = stream
        self._target = target
        self._batches: AsyncIterator[list[bytes]] = stream.batches()
        self._error: StatusError | None = None

    def __aiter__(self) -> Self:
        return self

    async def __anext__(self) -> Sequence[WatchEvent[T]]:
        # The events before it have been given out by the previous call.
        if self._error is not None:
            raise self._error
        lines = await anext(self._batches)
        events: list[WatchEvent[T]] = []
        for event in read_events(self._target.item, lines):
            if isinstance(event, StatusError):
                event.resource = event.resource or self._target.name
                # Raised by the next call: the events before it are valid.
                self._error = event
                break
            events.append(event)
        return events

    def close(self) -> None:
        """Close the connection, also while another task reads from it."""
        self._stream.close()

    async def aclose(self) -> None:
        """Close the connection."""
        self.close()


@set_module("masthead.aio.cache")
class ListWatch(Generic[T]):
    """Lists and watches a resource of a client, in one namespace or in all, filtered by selectors.

    Returned by the ``list_watch`` method of a resource. It remembers, together with everything else that uses the
    client, whether the server supports initial events (``sendInitialEvents``).

    One instance belongs to one event loop; requests may overlap.
    """

    def __init__(
        self,
        context: ClientContext,
        query: ListQuery,
        *,
        item: type[T],
        resource: str,
        namespace: str | None,
        find_target: Callable[[], Awaitable[ResourceTarget[T]]],
        build_call: Callable[[str, Query, float | None], Awaitable[Call]],
    ) -> None:
        """Describe what to list and watch. Nothing is sent.

        Args:
            context: The connection, and the known features of the server.
            query: The selectors, and what else is common to all requests.
            item: The class of the objects.
            resource: The resource's name in messages.
            namespace: The objects' namespace; None for all.
            find_target: Looks the resource up.
            build_call: Builds the call for a verb, a query and a read timeout.

        Raises:
            SelectorError: If a selector is invalid.
        """
        self._context = context
        self._query = query
        self._selectors = query.params()
        self._item = item
        self._resource = resource
        self._namespace = namespace
        self._find_target = find_target
        self._build_call = build_call
        self._gvr: GroupVersionResource | None = None

    @property
    def item(self) -> type[T]:
        """The class of the objects."""
        return self._item

    @property
    def resource(self) -> str:
        """The resource's name; before the first request, as the caller wrote it."""
        return self._resource

    @property
    def server(self) -> str:
        """The server's name in logs."""
        return self._context.rest.server

    @property
    def has_reached(self) -> bool:
        """Whether the client has ever reached the server."""
        return self._context.rest.has_reached

    @property
    def namespace(self) -> str | None:
        """The objects' namespace; None for all namespaces, and for cluster-scoped resources."""
        return self._namespace

    @property
    def selectors(self) -> Mapping[str, str]:
        """The selectors under the API's names: ``labelSelector`` and so on."""
        return dict(self._selectors)

    @property
    def page_size(self) -> int:
        """How many objects a page of a list holds by default."""
        return self._context.defaults.page_size

    @property
    def checks_watch_lists(self) -> bool:
        """Whether the client compares watch-lists with plain lists."""
        return self._context.defaults.check_watch_lists

    @property
    def silence_limit(self) -> float:
        """Seconds without a byte after which a watch counts as dead by default."""
        return min(SILENCE_LIMIT, self._context.rest.settings.read_timeout)

    @property
    def supports_initial_events(self) -> bool:
        """Whether a watch can start with the current objects, as far as any user of the client has found out."""
        return self._gvr not in self._context.without_initial_events

    def disable_initial_events(self) -> None:
        """Remember that a watch cannot start with the current objects."""
        if self._gvr is not None:
            self._context.without_initial_events.add(self._gvr)

    def with_shards(self, selector: str | None) -> ListWatch[T]:
        """The same objects, of other shards.

        Args:
            selector: The shard selector; None for all shards.
        """
        made = ListWatch(
            self._context,
            replace(self._query, shard_selector=selector),
            item=self._item,
            resource=self._resource,
            namespace=self._namespace,
            find_target=self._find_target,
            build_call=self._build_call,
        )
        made._gvr = self._gvr
        return made

    async def target(self) -> ResourceTarget[T]:
        """Look the resource up, once.

        Raises:
            MastheadError: If it cannot be looked up, or does not exist.
        """
        target = await self._find_target()
        self._gvr = target.resource
        return target

    async def list_page(
        self, options: ListWatchOptions, on_broken: Callable[[DecodeError], None] | None = None
    ) -> ObjectList[T]:
        """Request one page.

        Args:
            options: Which page.
            on_broken: Called with an error for each object that cannot be decoded, which is then left out. Without it,
                the first such object raises.

        Raises:
            MastheadError: If the request fails.
        """
        query = replace(
            self._query,
            resource_version=options.resource_version or None,
            resource_version_match=options.resource_version_match,
            limit=options.limit or None,
            continue_=options.continue_ or None,
        )
        target = await self.target()
        params = _with_key(options.key, query.params())
        async with await self._open("list", params, options, attempts=1) as stream:
            # As a stream, because a long list may take its time: only a silent one is given up.
            # Decoded as it arrives, so that a list of many objects does not hold the event loop.
            reader = ListReader(target.items, on_broken)
            async for chunk in stream.chunks():
                reader.feed(chunk)
        page = reader.finish()
        name_kinds(page)
        return page

    async def open_watch(
        self, options: ListWatchOptions, *, attempts: int | None = 1, is_raw: bool = False
    ) -> WatchConnection[T]:
        """Open one connection.

        Bookmarks are always requested: they keep the version fresh, and without them a quiet stream looks like a dead
        connection.

        Args:
            options: Where the watch starts.
            attempts: The maximum number of attempts, the first included; None for the client's default.
            is_raw: Send the request even if the server is known not to support initial events.

        Raises:
            BadRequestError: If initial events are requested, and the server is known not to support them.
            MastheadError: If it cannot be opened.
        """
        target = await self.target()
        # The same error as the server's: the caller need not know which of the two refused.
        if options.send_initial_events and not is_raw and not self.supports_initial_events:
            raise BadRequestError(
                "the server does not support initial events", verb="watch", resource=target.name, code=400
            )
        query = replace(
            self._query,
            resource_version=options.resource_version or None,
            resource_version_match=options.resource_version_match or self._query.resource_version_match,
            timeout_seconds=options.timeout_seconds or self._query.timeout_seconds,
        )
        params = [*query.params(), ("watch", "true"), ("allowWatchBookmarks", "true")]
        if options.send_initial_events is not None:
            params.append(("sendInitialEvents", "true" if options.send_initial_events else "false"))
        return WatchConnection(await self._open("watch", params, options, attempts), target)

    async def _open(self, verb: str, query: Query, options: ListWatchOptions, attempts: int | None) -> ResponseStream:
        call = await self._build_call(verb, query, options.read_timeout)
        rest = self._context.rest
        # The caller may shorten the timeout of the client, and not extend it.
        timeout = None if options.timeout is None else min(options.timeout, rest.settings.timeout)
        return await rest.open(msgspec.structs.replace(call, attempts=attempts, timeout=timeout))

    def __repr__(self) -> str:
        where = "everywhere" if self._namespace is None else f"in {self._namespace!r}"
        return f"<ListWatch of {self._resource} {where}>"


def failure_of(error: Exception) -> Failure:
    """Describe an error to the list-watch machine."""
    if not isinstance(error, StatusError):
        # A certificate that is refused once will be refused again, so that such a server is not asked as often.
        return Failure(
            silent=isinstance(error, DeadlineError),
            unreachable=isinstance(error, ConnectError) and not isinstance(error, CertificateError),
        )
    causes = error.details.causes if error.details is not None else []
    too_large = any(cause.reason == "ResourceVersionTooLarge" for cause in causes)
    # API servers from 1.17.0 to 1.18.5 say so only in the message.
    return Failure(
        code=error.code,
        reason=error.reason,
        retry_after=error.retry_after,
        too_large=too_large or _TOO_LARGE in error.message.lower(),
        is_final=_INVALID_VERSION in error.message,
    )


def _with_key(key: str, query: Query) -> Query:
    """The same query, for one object."""
    if not key:
        return query
    namespace, _, name = key.rpartition("/")
    # Joined into one selector: of a repeated parameter, the server reads only the first.
    terms = [value for option, value in query if option == "fieldSelector"]
    terms.append(f"metadata.name={name}")
    if namespace:
        terms.append(f"metadata.namespace={namespace}")
    rest = [pair for pair in query if pair[0] != "fieldSelector"]
    return [*rest, ("fieldSelector", ",".join(terms))]
