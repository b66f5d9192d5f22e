"""Lists: in pages, whole, or item by item.

::

    first page ──continue──> page ──continue──> ... ──no token──> done
        │                      │
        └─ keeps the version   └─ 410: the server has forgotten the version that the token belongs to
           that was asked for     whole list: asked for once more, in one piece; pages and items: the error
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, TypeVar

from masthead._client.options import list_query
from masthead._meta.object import Object, ObjectList
from masthead._meta.unstructured import UnstructuredList
from masthead.errors import ExpiredError, GoneError, ProtocolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from masthead._client.options import FieldSelection, LabelSelection, Query
    from masthead._meta.v1 import ResourceVersionMatch

__all__ = ["ListQuery", "iter_pages", "name_kinds", "list_all"]

T = TypeVar("T", bound=Object)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """What a list is to hold, as the options of the API say it."""

    label_selector: LabelSelection | None = None
    field_selector: FieldSelection | None = None
    resource_version: str | None = None
    resource_version_match: ResourceVersionMatch | None = None
    limit: int | None = None
    continue_: str | None = None
    timeout_seconds: int | None = None
    shard_selector: str | None = None

    def params(self) -> Query:
        """The wish as a query.

        Raises:
            SelectorError: if a selector is none.
            InvalidValueError: if another option is wrong.
        """
        return list_query(
            label_selector=self.label_selector,
            field_selector=self.field_selector,
            resource_version=self.resource_version,
            resource_version_match=self.resource_version_match,
            limit=self.limit,
            continue_=self.continue_,
            timeout_seconds=self.timeout_seconds,
            shard_selector=self.shard_selector,
        )

    def after(self, token: str) -> ListQuery:
        """The wish for the next page; its token knows the version."""
        return replace(self, continue_=token, resource_version=None, resource_version_match=None)


async def iter_pages(
    ask: Callable[[Query], Awaitable[ObjectList[T]]], query: ListQuery, page_size: int
) -> AsyncIterator[ObjectList[T]]:
    """Ask for page after page, from the wish's own token on.

    Raises:
        ExpiredError: if the server forgets the version between two pages.
        ProtocolError: if there is no end to the pages.
        MastheadError: as any call does.
    """
    query = replace(query, limit=query.limit or page_size)
    while True:
        page = await ask(query.params())
        token = page.metadata.continue_
        yield page
        if not token:
            return
        if token == query.continue_:
            raise ProtocolError(
                "the server answers with the token that it was asked with: its list has no end"
            )
        query = query.after(token)


async def list_all(
    ask: Callable[[Query], Awaitable[ObjectList[T]]], query: ListQuery, page_size: int
) -> ObjectList[T]:
    """Ask for everything, in pages, and put them together.

    Raises:
        MastheadError: as any call does.
    """
    if query.limit is not None or query.continue_:
        return await ask(query.params())
    pages = iter_pages(ask, query, page_size)
    result = await anext(pages)
    try:
        async for page in pages:
            result.items.extend(page.items)
    except (ExpiredError, GoneError):
        return await ask(query.params())
    _forget_paging(result)
    return result


def _forget_paging(result: ObjectList[Any]) -> None:
    """A list that is whole has no next page."""
    result.metadata.continue_ = ""
    result.metadata.remaining_item_count = None


def name_kinds(page: ObjectList[Any]) -> None:
    """Say of each item without a type what it is: of the built-in kinds, servers say so of the list alone."""
    if not isinstance(page, UnstructuredList):
        return
    kind = page.kind.removesuffix("List")
    for item in page.items:
        if not item.kind:
            item.kind = kind
            item.api_version = item.api_version or page.api_version
