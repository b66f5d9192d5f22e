"""Lists: which moment they show, page by page, and the tokens that lead from page to page."""

from __future__ import annotations

import base64
import itertools
import posixpath
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

import msgspec

from masthead.server import go_json
from masthead.server.failures import Failure, bad_request
from masthead.server.go_base64 import decode_base64
from masthead.server.options import read_version
from masthead.server.storage import CompactedError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead.server.options import ListOptions
    from masthead.server.selection import Selection
    from masthead.server.storage import Record, Storage

__all__ = ["Page", "ahead_of", "check_not_ahead", "expired", "read_page", "too_far_ahead"]

_TOKEN_VERSION: Final = "meta.k8s.io/v1"
_INCONSISTENT: Final = -1
"""In a token: go on from there, whatever the moment."""


@dataclass(frozen=True, slots=True)
class Page:
    """A part of a list, or all of it.

    Attributes:
        records: The objects.
        revision: The moment that they show.
        token: Leads to the next page; empty at the end.
        remaining: How many objects come after this page, where that is known.
    """

    records: list[Record]
    revision: int
    token: str = ""
    remaining: int | None = None


class _Token(msgspec.Struct, frozen=True):
    """A token's contents, named as kube-apiserver names them."""

    v: str = ""
    rv: int = 0
    start: str = ""


def read_page(
    storage: Storage, selection: Selection, options: ListOptions, *, latest: int | None = None
) -> Page:
    """Read a list, or the page of it that the options ask for.

    Args:
        storage: Where objects are.
        selection: Which of them are meant.
        options: The moment, the limit and the token.
        latest: What passes for the present where the client does not insist on one; a fault sets it back.

    Raises:
        Failure: The moment is too old, or has not come yet, or the token or version cannot be read.
    """
    token = _read_token(options.token) if options.token else None
    if token is not None and options.version not in {"", "0"}:
        raise bad_request("specifying resource version is not allowed when using continue")
    revision = _moment(storage, options, token, latest)
    try:
        storage.check_readable(revision)
    except CompactedError:
        raise _expired(token) from None
    start = f"{selection.prefix}{token.start.removeprefix('/')}" if token else ""
    found = storage.table(selection.served.table).scan(selection.prefix, revision, after=start)
    # From memory and without a moment to hold on to, the real server gives everything at once.
    limit = 0 if options.version == "0" else options.limit
    if limit <= 0:
        return Page(list(filter(selection.matches, found)), revision)
    return _cut(found, limit, revision, selection)


def check_not_ahead(storage: Storage, wanted: int) -> None:
    """Make sure that a version has been reached.

    Raises:
        Failure: It has not.
    """
    if failure := ahead_of(storage, wanted):
        raise failure


def ahead_of(storage: Storage, wanted: int) -> Failure | None:
    """What a client is told that asks for a version which has not come yet: to ask again in a second."""
    return too_far_ahead(wanted, storage.revision) if wanted > storage.revision else None


def too_far_ahead(wanted: int, newest: int) -> Failure:
    """A version has not come yet."""
    cause = {"reason": "ResourceVersionTooLarge", "message": "Too large resource version"}
    return Failure(
        504,
        "Timeout",
        f"Timeout: Too large resource version: {wanted}, current: {newest}",
        details={"causes": [cause], "retryAfterSeconds": 1},
        retry_after=1,
    )


def _moment(storage: Storage, options: ListOptions, token: _Token | None, latest: int | None) -> int:
    newest = storage.revision if latest is None else latest
    if token is not None:
        return token.rv if token.rv > 0 else newest
    wanted = read_version(options.version, of_list=True)
    check_not_ahead(storage, wanted)
    is_exact = options.version_match == "Exact" or (
        wanted > 0 and options.limit > 0 and not options.version_match
    )
    if is_exact:
        return wanted
    return max(newest, wanted) if options.version else storage.revision


def _cut(found: Iterator[Record], limit: int, revision: int, selection: Selection) -> Page:
    records = list(itertools.islice(filter(selection.matches, found), limit))
    # A full page leads to another if anything comes after it, selected or not: the last page may be empty.
    if selection.names_one or next(found, None) is None:
        return Page(records, revision)
    # Where a selector hides objects, counting would take reading them all, and nobody promised that.
    remaining = 1 + sum(1 for _ in found) if selection.is_everything else None
    return Page(records, revision, _write_token(revision, selection, records[-1].key), remaining)


def _write_token(revision: int, selection: Selection, last: str) -> str:
    # The next page begins behind the last key: at the smallest one that is greater.
    return _encode(revision, f"/{last.removeprefix(selection.prefix)}\0")


def _encode(revision: int, start: str) -> str:
    text = msgspec.json.encode(_Token(_TOKEN_VERSION, revision, start))
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode("ascii")


def _read_token(text: str) -> _Token:
    try:
        decoded = decode_base64(text, is_url=True)
    except ValueError as error:
        raise _bad_token(f": {error}") from None
    try:
        token = msgspec.json.decode(decoded, type=_Token)
    except (msgspec.DecodeError, ValueError):
        raise _bad_token(f": {go_json.problem_with(decoded)}") from None
    if token.v != _TOKEN_VERSION:
        raise _bad_token(f": server does not recognize this encoded version {token.v}")
    if token.rv == 0:
        raise _bad_token(f": incorrect encoded start resourceVersion (version {_TOKEN_VERSION})")
    if not token.start:
        raise _bad_token(f": encoded start key empty (version {_TOKEN_VERSION})")
    key = token.start if token.start.startswith("/") else f"/{token.start}"
    if posixpath.normpath(key) != key:
        raise _bad_token(f": {token.start}")
    return token


def _bad_token(problem: str) -> Failure:
    return bad_request(f"invalid continue token: continue key is not valid{problem}")


def expired(continue_token: str) -> Failure:
    """What a list is told whose moment is forgotten, if it brought this token or none."""
    return _expired(_read_token(continue_token) if continue_token else None)


def _expired(token: _Token | None) -> Failure:
    if token is None:
        return Failure(410, "Expired", "The resourceVersion for the provided list is too old.")
    fresh = _encode(_INCONSISTENT, token.start.removeprefix("/"))
    return Failure(
        410,
        "Expired",
        "The provided continue parameter is too old to display a consistent list result. You can start a new list "
        "without the continue parameter, or use the continue token in this response to retrieve the remainder of the "
        "results. Continuing with the provided token results in an inconsistent list - objects that were created, "
        "modified, or deleted between the time the first chunk was returned and now may show up in the list.",
        metadata={"continue": fresh},
    )
