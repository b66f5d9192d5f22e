"""Paginated lists: page by page, or all pages as one list.

::

    first page ──continue──> page ──continue──> ... ──no token──> done
        │                      │
        └─ sets the resource   └─ 410: the token's resource version has expired
           version of the list    list_all: list once more without paging; iter_pages: raise
"""

from __future__ import annotations

import asyncio
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from masthead._client.options import list_query
from masthead._meta.unstructured import UnstructuredList
from masthead.errors import DeadlineError, ExpiredError, GoneError, ProtocolError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable

    from masthead._client.options import FieldSelection, LabelSelection, Query
    from masthead._meta.metadata import ListMeta
    from masthead._meta.object import ObjectList
    from masthead._meta.v1 import ResourceVersionMatch
    from masthead.errors import DecodeError

__all__ = ["ListPage", "ListParameters", "ListQuery", "PageTimeout", "iter_pages", "list_all", "name_kinds"]


class ListPage(Protocol):
    """A page of a list: an `ObjectList`, or rows of a table."""

    @property
    def metadata(self) -> ListMeta:
        """The resource version, and the token of the next page."""
        ...

    @property
    def items(self) -> list[Any]:
        """The items of the page."""
        ...


P = TypeVar("P", bound=ListPage)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListQuery:
    """The ListArguments of a list, a watch or a deletion of a collection."""

    label_selector: LabelSelection | None = None
    field_selector: FieldSelection | None = None
    resource_version: str | None = None
    resource_version_match: ResourceVersionMatch | None = None
    limit: int | None = None
    continue_: str | None = None
    timeout_seconds: int | None = None
    shard_selector: str | None = None

    def params(self) -> Query:
        """The query parameters.

        Raises:
            SelectorError: If a selector is invalid.
            ArgumentError: If another option is invalid.
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
        """The query for the next page. The continue token carries the resource version."""
        return replace(self, continue_=token, resource_version=None, resource_version_match=None)


@dataclass(frozen=True, slots=True, kw_only=True)
class ListParameters(ListQuery):
    """The options of a list, as the verbs pass them on; see `ListArguments`."""

    page_size: int | None = None
    on_error: Callable[[DecodeError], None] | None = None
    timeout: float | None = None


class PageTimeout:
    """The timeouts of a list: of each page, and of all pages together.

    Only the time of requests counts: what a caller does between two pages does not.

    Args:
        page: Seconds for a page; None for the client's default.
        seconds: Seconds for all pages; None or 0 for no limit.
        default: The client's default.
    """

    def __init__(self, page: float | None, seconds: int | None, default: float) -> None:
        self._page = page
        self._seconds = seconds
        self._default = default
        self._left = float(seconds or math.inf)

    async def fetch(self, fetch: Callable[[float | None], Awaitable[P]]) -> P:
        """Call a function with the timeout of its page.

        Raises:
            DeadlineError: If there is no time left.
        """
        # Without a limit, the clock is not needed.
        if self._left == math.inf:
            return await fetch(self._page)
        if self._left <= 0:
            raise DeadlineError(f"the pages of the list did not arrive within {self._seconds} s")
        now = asyncio.get_running_loop().time
        start = now()
        try:
            return await fetch(min(self._left, self._default if self._page is None else self._page))
        except DeadlineError as error:
            error.add_note(f"All pages of the list together had {self._seconds} s: timeout_seconds.")
            raise
        finally:
            self._left -= now() - start


async def iter_pages(fetch: Callable[[Query], Awaitable[P]], query: ListQuery, page_size: int) -> AsyncIterator[P]:
    """Fetch page after page, starting at the query's own continue token.

    Raises:
        ExpiredError: If the list's resource version expires between two pages.
        ProtocolError: If a page returns the continue token of its own request.
        MastheadError: As any call.
    """
    query = replace(query, limit=query.limit or page_size)
    while True:
        page = await fetch(query.params())
        # Read before the page is given away: its receiver may change it.
        token = page.metadata.continue_
        yield page
        if not token:
            return
        if token == query.continue_:
            raise ProtocolError("the server returned the continue token of the request again: the list would never end")
        query = query.after(token)


async def list_all(fetch: Callable[[Query], Awaitable[P]], query: ListQuery, page_size: int) -> P:
    """Fetch all pages and join them into one list.

    Raises:
        MastheadError: As any call.
    """
    # A caller who sets a limit or a token pages for themselves.
    if query.limit is not None or query.continue_:
        return await fetch(query.params())
    pages = iter_pages(fetch, query, page_size)
    result = await anext(pages)
    try:
        async for page in pages:
            result.items.extend(page.items)
    except (ExpiredError, GoneError):
        # The rest of this list has expired. Without paging, one request cannot expire half-way.
        return await fetch(query.params())
    _clear_paging(result)
    return result


def _clear_paging(result: ListPage) -> None:
    """Remove the paging metadata: a complete list has no next page."""
    result.metadata.continue_ = ""
    result.metadata.remaining_item_count = None


def name_kinds(page: ObjectList[Any]) -> None:
    """Set apiVersion and kind of untyped items: servers leave them out in lists of built-in kinds."""
    if not isinstance(page, UnstructuredList):
        return
    kind = page.kind.removesuffix("List")
    for item in page.items:
        # Servers leave kind and apiVersion out of the items of a list.
        if not item.kind:
            item.kind = kind
            item.api_version = item.api_version or page.api_version
