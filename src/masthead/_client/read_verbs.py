"""The read verbs: get, list, watch and wait_for.

Every verb raises what `masthead._rest.client.RestClient.call` raises, `NameFormatError` for a name that is
not valid in a path, `SelectorError` and `ArgumentError` for invalid options, and `DecodeError` for a
response that cannot be decoded.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, Unpack, cast, overload

from msgspec.structs import replace

from masthead._client.base import BaseResource, LazyTarget, default_for
from masthead._client.list_by_watch import watch_list
from masthead._client.listwatch import ListWatch
from masthead._client.options import NO_DEFAULT, integer_text, read_query
from masthead._client.pagination import ListParameters, ListQuery, PageTimeout, iter_pages, list_all, name_kinds
from masthead._client.wait import wait_for
from masthead._client.watch import WatchStream
from masthead._errors.options import explain_arguments
from masthead._meta.object import Object, ObjectList
from masthead._module import set_module
from masthead.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from masthead._client.conditions import ObjectWaitCondition, WaitCondition
    from masthead._client.options import FieldSelection, IterArguments, LabelSelection, ListArguments, Query
    from masthead._client.tables import TablePage
    from masthead._meta.v1 import ResourceVersionMatch
    from masthead._printers.table import PrintedTable
    from masthead._rest.call import Call
    from masthead.errors import DecodeError

__all__ = ["ReadVerbs"]

T = TypeVar("T", bound=Object)
D = TypeVar("D")


@set_module("masthead.aio.clientset")
class ReadVerbs(BaseResource[T], Generic[T]):
    """Reads the objects of a kind, in one namespace or in all."""

    @overload
    async def get(
        self,
        name: str,
        *,
        resource_version: str | None = None,
        timeout: float | None = None,
    ) -> T: ...
    @overload
    async def get(
        self, name: str, *, default: D, resource_version: str | None = None, timeout: float | None = None
    ) -> T | D: ...
    @explain_arguments
    async def get(
        self,
        name: str,
        *,
        default: D = NO_DEFAULT,
        resource_version: str | None = None,
        timeout: float | None = None,
    ) -> T | D:
        """Read one object.

        Args:
            name: The object's name.
            default: What to return, such as None, if no object has that name; without it, that is an error. A kind
                that the server does not have is an error in any case.
            resource_version: How fresh the object must be; None for the newest state.
            timeout: Timeout of the whole call in seconds, retries included; None for the client's default.

        Raises:
            NotFoundError: If no object has that name.
        """
        target = await self._target()
        query = read_query(resource_version) if resource_version else None
        call = self._build_call(target, "get", name=name, query=query, timeout=timeout)
        try:
            response = await self._context.rest.call(call)
        except NotFoundError as error:
            return default_for(error, default)
        return target.item.from_wire(response.body)

    async def exists(self, name: str, *, resource_version: str | None = None, timeout: float | None = None) -> bool:
        """Whether there is an object of that name, as `get` would find it."""
        # A whole object, because metadata alone is not to be had from every aggregated API.
        return await self.get(name, default=None, resource_version=resource_version, timeout=timeout) is not None

    @explain_arguments
    async def list(self, **options: Unpack[ListArguments]) -> ObjectList[T]:
        """List all objects; large lists are fetched in pages and joined.

        Args:
            options: ``label_selector``, ``field_selector``, ``resource_version``, ``resource_version_match``,
                ``limit``, ``continue_``, ``timeout_seconds``, ``shard_selector``, ``page_size``, ``on_error`` and
                ``timeout``; see `ListArguments`.
        """
        parameters = self._parameters(ListParameters, "list", options)
        return await list_all(self._fetcher(parameters), parameters, self._page_size(parameters.page_size))

    async def iter_pages(self, **options: Unpack[IterArguments]) -> AsyncIterator[ObjectList[T]]:
        """List all objects page by page, holding one page in memory at a time.

        Args:
            options: Those of `list` without ``limit``; see `IterArguments`.

        Raises:
            ExpiredError: If the list's resource version expires between two pages; list again.
        """
        async for page in self._iter_pages("iter_pages", options):
            yield page

    async def iter(self, **options: Unpack[IterArguments]) -> AsyncIterator[T]:
        """Iterate over all objects, holding one page in memory at a time.

        Args:
            options: Those of `list` without ``limit``; see `IterArguments`.

        Raises:
            ExpiredError: If the list's resource version expires between two pages; list again.
        """
        async for page in self._iter_pages("iter", options):
            for item in page.items:
                yield item

    @explain_arguments
    async def table(
        self,
        *,
        wide: bool = False,
        namespaces: bool | None = None,
        objects: bool = False,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
        resource_version: str | None = None,
        resource_version_match: ResourceVersionMatch | None = None,
        limit: int | None = None,
        continue_: str | None = None,
        timeout_seconds: int | None = None,
        page_size: int | None = None,
        timeout: float | None = None,
    ) -> PrintedTable:
        """List all objects as a table, with the columns and cells of the server. Print it for what kubectl shows.

        A server that does not make tables returns objects; then the table is made of those.

        Args:
            wide: Whether the table's text has the wide columns, as with ``-o wide``.
            namespaces: Whether the table's text has the namespaces; None for when objects of all namespaces are
                listed.
            objects: Whether the rows have whole objects instead of their metadata.
            label_selector: Only objects with matching labels.
            field_selector: Only objects with matching fields.
            resource_version: How fresh the list must be.
            resource_version_match: How `resource_version` is compared.
            limit: Fetch one page of this length only; the table's ``continue_`` is the token of the next.
            continue_: Fetch only the page of this token.
            timeout_seconds: Timeout of the whole list in seconds, pages and retries included, also for the
                server; None for no limit.
            page_size: The limit of each page, 0 for all objects in one response; None for the client's default.
            timeout: Timeout of each page, in seconds.
        """
        # Few programs print tables, so the printers are imported here.
        from masthead._client.tables import ACCEPT_TABLE, read_page

        query = ListQuery(
            label_selector=label_selector,
            field_selector=field_selector,
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            limit=limit,
            continue_=continue_,
            timeout_seconds=timeout_seconds,
        )
        target = await self._target()

        page_timeout = PageTimeout(timeout, timeout_seconds, self._timeout_or_default(None))

        async def fetch(params: Query) -> TablePage:
            return await page_timeout.fetch(lambda seconds: fetch_within(params, seconds))

        async def fetch_within(params: Query, seconds: float | None) -> TablePage:
            included = ("includeObject", "Object" if objects else "Metadata")
            call = self._build_call(target, "list", query=[*params, included], timeout=seconds)
            response = await self._context.rest.call(replace(call, accept=ACCEPT_TABLE))
            return read_page(response.body, target, has_objects=objects)

        page = await list_all(fetch, query, self._page_size(page_size))
        in_all = bool(target.namespaced) and self._namespace is None
        return page.table(wide=wide, namespaces=in_all if namespaces is None else namespaces)

    async def watch_list(
        self,
        *,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
        resource_version: str | None = None,
        shard_selector: str | None = None,
        on_error: Callable[[DecodeError], None] | None = None,
        timeout: float | None = None,
    ) -> ObjectList[T]:
        """List all objects as the initial events of a watch, which costs the server less than a list.

        If the server does not support it, falls back to a plain list, now and in later calls.

        Args:
            label_selector: Only objects with matching labels.
            field_selector: Only objects with matching fields.
            resource_version: The list must be no older than this version; None for the newest.
            shard_selector: Only the objects of one shard, if the server supports shards.
            on_error: Called with each object that cannot be decoded, as for `list`.
            timeout: Timeout of the watch in seconds; if it falls back to a plain list, that of each page.

        Raises:
            InconsistentListError: If the client checks watch-lists, and this one differs from a plain list.
        """
        query = ListQuery(
            label_selector=label_selector,
            field_selector=field_selector,
            resource_version=resource_version,
            shard_selector=shard_selector,
        )
        return await watch_list(
            self._list_watch(query),
            query,
            lambda plain, on_broken: list_all(
                self._fetcher(ListParameters(timeout=timeout, on_error=on_broken)), plain, self._page_size(None)
            ),
            timeout=self._timeout_or_default(timeout),
            checks=self._context.defaults.check_watch_lists,
            on_error=on_error,
        )

    @explain_arguments
    def watch(
        self,
        *,
        resource_version: str | None = None,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
        timeout_seconds: int | None = None,
        shard_selector: str | None = None,
        bookmarks: bool = False,
        raw: bool = False,
        send_initial_events: bool | None = None,
        resource_version_match: ResourceVersionMatch | None = None,
    ) -> WatchStream[T]:
        """Watch for changes, across dropped connections.

        ::

            async with pods.watch(resource_version=listed.metadata.resource_version) as events:
                async for event in events:
                    print(event.type, event.object.metadata.name)

        Args:
            resource_version: The resource version to start after, such as a list's. None to start with the existing
                objects, each as ADDED.
            label_selector: Only objects with matching labels.
            field_selector: Only objects with matching fields.
            timeout_seconds: The length of the watch, in seconds. The loop over its events ends then, however many
                connections the watch has had; ``events.version`` is where another can resume. None for no end.
            shard_selector: Only the objects of one shard, if the server supports shards.
            bookmarks: Whether BOOKMARK events are delivered. They carry a resource version and no object; the
                bookmark after the initial objects has ``ends_initial_events``. The watch resumes from them
                in any case.
            raw: A single watch request: it ends with its connection and is not resumed.
            send_initial_events: ``sendInitialEvents`` of the API; for raw watches only, others set it
                themselves.
            resource_version_match: ``resourceVersionMatch`` of the API; goes with `send_initial_events`.

        Raises:
            ExpiredError: While iterating, if the resource version has expired; list again.
            DeadlineError: While iterating, if the existing objects do not arrive within `timeout_seconds`.
        """
        query = ListQuery(
            label_selector=label_selector,
            field_selector=field_selector,
            timeout_seconds=timeout_seconds,
            shard_selector=shard_selector,
            resource_version_match=resource_version_match,
        )
        return WatchStream(
            self._list_watch(query),
            resource_version=resource_version,
            bookmarks=bookmarks,
            raw=raw,
            send_initial_events=send_initial_events,
            timeout=timeout_seconds,
        )

    def list_watch(
        self,
        *,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
        shard_selector: str | None = None,
    ) -> ListWatch[T]:
        """Return the primitive that lists a page, or opens one connection of a watch: for list-watches of your own.

        Args:
            label_selector: Only objects with such labels.
            field_selector: Only objects with such fields.
            shard_selector: Only the objects of one shard, where the server has them.

        Raises:
            SelectorError: If a selector is invalid.
        """
        return self._list_watch(
            ListQuery(label_selector=label_selector, field_selector=field_selector, shard_selector=shard_selector)
        )

    @overload
    async def wait_for(self, name: str, condition: ObjectWaitCondition[T], *, timeout: float | None = None) -> T: ...
    @overload
    async def wait_for(self, name: str, condition: WaitCondition[T], *, timeout: float | None = None) -> T | None: ...
    @explain_arguments
    async def wait_for(self, name: str, condition: WaitCondition[T], *, timeout: float | None = None) -> T | None:
        """Wait until a condition holds for an object, which need not exist yet.

        Args:
            name: The object's name.
            condition: What to wait for; see `masthead.conditions`.
            timeout: Seconds to wait; None for the client's default, ``math.inf`` for no limit. With 0, the
                object is checked once.

        Returns:
            The object for which the condition holds. None only for a condition that can hold without an
            object: ``deleted()``, a negation with ``~``, and a `WaitCondition` of your own.

        Raises:
            DeadlineError: If the condition does not hold in time; the message describes the current state.
        """
        return await wait_for(self, name, condition, timeout=self._timeout_or_default(timeout))

    def _iter_pages(self, verb: str, options: IterArguments) -> AsyncIterator[ObjectList[T]]:
        if "limit" in options:
            raise TypeError("iter_pages and iter take no limit, which is for a single page; say page_size")
        parameters = self._parameters(ListParameters, verb, options)
        return iter_pages(self._fetcher(parameters), parameters, self._page_size(parameters.page_size))

    def _fetcher(self, options: ListParameters) -> Callable[[Query], Awaitable[ObjectList[T]]]:
        """A function that requests a page, within the timeouts of one list."""
        page_timeout = PageTimeout(options.timeout, options.timeout_seconds, self._timeout_or_default(None))
        return lambda params: page_timeout.fetch(lambda left: self._page(params, left, options.on_error))

    async def _page(
        self,
        query: Query,
        timeout: float | None,
        on_error: Callable[[DecodeError], None] | None,
    ) -> ObjectList[T]:
        target = await self._target()
        response = await self._context.rest.call(self._build_call(target, "list", query=query, timeout=timeout))
        page = target.items.from_wire(response.body, on_error=on_error)
        name_kinds(page)
        return page

    def _page_size(self, page_size: int | None) -> int:
        if page_size is None:
            return self._context.defaults.page_size
        integer_text("page_size", page_size)
        return page_size

    def _timeout_or_default(self, timeout: float | None) -> float:
        return self._context.rest.settings.timeout if timeout is None else timeout

    def _list_watch(self, query: ListQuery) -> ListWatch[T]:
        async def build_call(verb: str, params: Query, read_timeout: float | None) -> Call:
            return self._build_call(await self._target(), verb, query=params, read_timeout=read_timeout)

        found = self._found
        if isinstance(found, LazyTarget):
            item, resource = cast("type[T]", self._ITEM), found.title
        else:
            item, resource = found.item, found.name
        return ListWatch(
            self._context,
            query,
            item=item,
            resource=resource,
            namespace=self._namespace,
            find_target=self._target,
            build_call=build_call,
        )
