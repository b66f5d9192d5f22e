"""Reading the objects of a resource: one, all, and every change.

Every verb raises what `masthead._rest.client.RestClient.call` raises, `NameFormatError` for a name that cannot stand in
a path, `SelectorError` and `InvalidValueError` for options that are wrong, and `DecodeError` for an answer that is not
what it should be.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Generic, TypeVar, cast, overload

from masthead._client.base import BaseResource, LazyTarget
from masthead._client.listwatch import ListWatch
from masthead._client.options import read_query
from masthead._client.pagination import ListQuery, iter_pages, list_all, name_kinds
from masthead._client.wait import wait_for
from masthead._client.watch import Watch
from masthead._client.watchlist import watch_list
from masthead._meta.object import Object, ObjectList

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Callable

    from masthead._client.conditions import ObjectWaitCondition, WaitCondition
    from masthead._client.options import FieldSelection, LabelSelection, Query
    from masthead._meta.v1 import ResourceVersionMatch
    from masthead._rest.call import Call
    from masthead.errors import DecodeError

__all__ = ["ReadVerbs"]

T = TypeVar("T", bound=Object)


class ReadVerbs(BaseResource[T], Generic[T]):
    """Reads the objects of a kind, in one namespace or in all."""

    async def get(self, name: str, *, resource_version: str | None = None, timeout: float | None = None) -> T:
        """Read one object.

        Raises:
            NotFoundError: if there is none of that name.
        """
        query = read_query(resource_version=resource_version)
        return await self._get_object(await self._build_call("get", name=name, query=query, timeout=timeout))

    async def list(
        self,
        *,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
        resource_version: str | None = None,
        resource_version_match: ResourceVersionMatch | None = None,
        limit: int | None = None,
        continue_: str | None = None,
        timeout_seconds: int | None = None,
        shard_selector: str | None = None,
        page_size: int | None = None,
        on_error: Callable[[DecodeError], None] | None = None,
        timeout: float | None = None,
    ) -> ObjectList[T]:
        """Read all objects, a page at a time, as one list.

        Args:
            label_selector: Only those with such labels.
            field_selector: Only those with such fields.
            resource_version: How fresh the list must be.
            resource_version_match: How exactly.
            limit: Read one page of this length only; its ``metadata.continue_`` leads to the next.
            continue_: Read one page only: the one behind this token.
            timeout_seconds: How long the server may take for a page.
            shard_selector: Only the objects of one shard, where the server has them.
            page_size: How many to ask for at a time; None for the client's own.
            on_error: Is told of each object that cannot be read, which is then left out; its bytes are the error's
                ``value``. Without it, the first such object raises.
            timeout: Seconds for each page.
        """
        query = ListQuery(
            label_selector=label_selector,
            field_selector=field_selector,
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            limit=limit,
            continue_=continue_,
            timeout_seconds=timeout_seconds,
            shard_selector=shard_selector,
        )
        return await list_all(
            lambda params: self._page(params, timeout, on_error), query, self._page_size(page_size)
        )

    async def list_pages(
        self,
        *,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
        resource_version: str | None = None,
        resource_version_match: ResourceVersionMatch | None = None,
        continue_: str | None = None,
        timeout_seconds: int | None = None,
        shard_selector: str | None = None,
        page_size: int | None = None,
        on_error: Callable[[DecodeError], None] | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[ObjectList[T]]:
        """Read all objects page by page, holding one page at a time.

        The options are those of `list`.

        Raises:
            ExpiredError: if the server forgets the version of the list between two pages; begin again.
        """
        query = ListQuery(
            label_selector=label_selector,
            field_selector=field_selector,
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            continue_=continue_,
            timeout_seconds=timeout_seconds,
            shard_selector=shard_selector,
        )
        size = self._page_size(page_size)
        async for page in iter_pages(lambda params: self._page(params, timeout, on_error), query, size):
            yield page

    async def iterate(
        self,
        *,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
        resource_version: str | None = None,
        resource_version_match: ResourceVersionMatch | None = None,
        continue_: str | None = None,
        timeout_seconds: int | None = None,
        shard_selector: str | None = None,
        page_size: int | None = None,
        on_error: Callable[[DecodeError], None] | None = None,
        timeout: float | None = None,
    ) -> AsyncIterator[T]:
        """Read all objects one by one, holding one page at a time.

        The options are those of `list`.

        Raises:
            ExpiredError: if the server forgets the version of the list between two pages; begin again.
        """
        async for page in self.list_pages(
            label_selector=label_selector,
            field_selector=field_selector,
            resource_version=resource_version,
            resource_version_match=resource_version_match,
            continue_=continue_,
            timeout_seconds=timeout_seconds,
            shard_selector=shard_selector,
            page_size=page_size,
            on_error=on_error,
            timeout=timeout,
        ):
            for item in page.items:
                yield item

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
        """Read all objects as the beginning of a watch, which costs the server less than a list.

        A server that cannot do so is asked for a plain list instead, and from then on at once.

        Args:
            label_selector: Only those with such labels.
            field_selector: Only those with such fields.
            resource_version: The objects must be no older than this version; None for the newest.
            shard_selector: Only the objects of one shard, where the server has them.
            on_error: Is told of each object that cannot be read, as for `list`.
            timeout: Seconds for all of it.

        Raises:
            InconsistentListError: if the client checks such lists, and this one is not what a plain list says.
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
            self._list_all,
            timeout=self._timeout_or_default(timeout),
            checks=self._context.defaults.check_watch_lists,
            on_error=on_error,
        )

    def watch(
        self,
        *,
        since: str | None = None,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
        timeout_seconds: int | None = None,
        shard_selector: str | None = None,
        bookmarks: bool = False,
        raw: bool = False,
        send_initial_events: bool | None = None,
        resource_version_match: ResourceVersionMatch | None = None,
    ) -> Watch[T]:
        """Be told of every change, across dropped connections.

        ::

            async with pods.watch(since=listed.metadata.resource_version) as events:
                async for event in events:
                    print(event.type, event.object.metadata.name)

        Args:
            since: The version after which to begin, such as a list's. None to be told of everything that is there
                first, each object as ADDED.
            label_selector: Only objects with such labels.
            field_selector: Only objects with such fields.
            timeout_seconds: After how long the server ends one connection; None for its own choice. A watch that is
                not raw goes on behind it.
            shard_selector: Only the objects of one shard, where the server has them.
            bookmarks: Whether BOOKMARK events are delivered. They have a version and no object; the one behind the
                initial objects has ``ends_initial_events``. The watch resumes from them in any case.
            raw: One plain watch: it ends with its connection, and nothing is resumed.
            send_initial_events: As the API has it; for raw watches alone, since others see to it themselves.
            resource_version_match: As the API has it; goes with `send_initial_events`.

        Raises:
            ExpiredError: while iterating, if the server has forgotten the version; list again.
        """
        query = ListQuery(
            label_selector=label_selector,
            field_selector=field_selector,
            timeout_seconds=timeout_seconds,
            shard_selector=shard_selector,
            resource_version_match=resource_version_match,
        )
        return Watch(
            self._list_watch(query),
            since=since,
            bookmarks=bookmarks,
            raw=raw,
            send_initial_events=send_initial_events,
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
            ListQuery(
                label_selector=label_selector, field_selector=field_selector, shard_selector=shard_selector
            )
        )

    @overload
    async def wait_for(
        self, name: str, condition: ObjectWaitCondition[T], *, timeout: float | None = None
    ) -> T: ...
    @overload
    async def wait_for(
        self, name: str, condition: WaitCondition[T], *, timeout: float | None = None
    ) -> T | None: ...
    async def wait_for(
        self, name: str, condition: WaitCondition[T], *, timeout: float | None = None
    ) -> T | None:
        """Wait until something is true of an object, which need not be there yet.

        Args:
            name: Which object.
            condition: What to wait for; see `masthead.conditions`.
            timeout: For how many seconds; None for the client's own, ``math.inf`` for ever. With 0, it is looked at once.

        Returns:
            The object of which it is true. None only for a condition that is true where there is no object: ``deleted()``,
            what ``~`` makes, and a `WaitCondition` of one's own.

        Raises:
            DeadlineError: if it does not come true in time; the message says what is missing.
        """
        return await wait_for(self, name, condition, timeout=self._timeout_or_default(timeout))

    async def _page(
        self,
        query: Query,
        timeout: float | None,
        on_error: Callable[[DecodeError], None] | None,
    ) -> ObjectList[T]:
        call = await self._build_call("list", query=query, timeout=timeout)
        answer = await self._context.rest.call(call)
        page = (await self._target()).items.from_wire(answer.body, on_error=on_error)
        name_kinds(page)
        return page

    def _page_size(self, page_size: int | None) -> int:
        return self._context.defaults.page_size if page_size is None else page_size

    def _timeout_or_default(self, timeout: float | None) -> float:
        return self._context.rest.settings.timeout if timeout is None else timeout

    def _list_watch(self, query: ListQuery) -> ListWatch[T]:
        async def build_call(verb: str, params: Query, read_timeout: float | None) -> Call:
            return await self._build_call(verb, query=params, read_timeout=read_timeout)

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

    async def _list_all(
        self, query: ListQuery, on_error: Callable[[DecodeError], None] | None
    ) -> ObjectList[T]:
        return await list_all(lambda params: self._page(params, None, on_error), query, self._page_size(None))
