"""Lists: the revision that they show, and their pages."""

from __future__ import annotations

import itertools
from dataclasses import dataclass
from typing import TYPE_CHECKING

from masthead_server.storage import CompactedError
from masthead_server.wire.failures import bad_request, too_far_ahead
from masthead_server.wire.options import read_version
from masthead_server.wire.tokens import ContinueToken, expired

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.storage import Record, Storage
    from masthead_server.verbs.selection import SelectionPredicate
    from masthead_server.wire.failures import StatusFailure
    from masthead_server.wire.options import CollectionOptions

__all__ = ["Page", "ahead_of", "check_not_ahead", "read_page"]


@dataclass(frozen=True, slots=True)
class Page:
    """A page of a list, or all of it.

    Attributes:
        records: The objects.
        revision: The revision that they show.
        token: The continue token; empty on the last page.
        remaining: How many objects come after this page, if that is known.
        shard: The shard selector that was applied, in its canonical form.
    """

    records: list[Record]
    revision: int
    token: str = ""
    remaining: int | None = None
    shard: str = ""


def read_page(
    storage: Storage,
    selection: SelectionPredicate,
    options: CollectionOptions,
    *,
    latest: int | None = None,
    frozen: int | None = None,
) -> Page:
    """Read a list, or a page of it.

    Args:
        storage: The stored objects.
        selection: Which of them are selected.
        options: The version, the limit and the continue token.
        latest: The revision of lists that accept any version; a fault sets it back.
        frozen: The newest revision that a fault lets the list see.

    Raises:
        StatusFailure: If the version is too old or too large, or if it or the token cannot be read.
    """
    token = ContinueToken.of(options.token) if options.token else None
    if token is not None and options.version not in {"", "0"}:
        raise bad_request("specifying resource version is not allowed when using continue")
    shown = storage.revision if frozen is None else frozen
    revision = _revision(storage, options, token, shown, shown if latest is None else latest)
    try:
        storage.check_readable(revision)
    except CompactedError:
        raise expired(token) from None
    start = f"{selection.prefix}{token.start.removeprefix('/')}" if token else ""
    found = storage.table(selection.served.table).scan(selection.prefix, revision, after=start)
    # For version 0 kube-apiserver responds from its cache, which ignores the limit.
    limit = 0 if options.version == "0" else options.limit
    if limit <= 0:
        return Page(list(selection.among(found)), revision, shard=selection.shard)
    return _limit(found, limit, revision, selection)


def check_not_ahead(storage: Storage, wanted: int) -> None:
    """Make sure that a version exists already.

    Raises:
        StatusFailure: If it does not.
    """
    if failure := ahead_of(storage.revision, wanted):
        raise failure


def ahead_of(newest: int, wanted: int) -> StatusFailure | None:
    """The failure of a request for a version that does not exist yet; None if it does."""
    return too_far_ahead(wanted, newest) if wanted > newest else None


def _revision(
    storage: Storage, options: CollectionOptions, token: ContinueToken | None, shown: int, newest: int
) -> int:
    if token is not None:
        # All pages of a list come from one revision; a token without one continues from the newest.
        check_not_ahead(storage, token.rv)
        return token.rv if token.rv > 0 else newest
    wanted = read_version(options.version, of_list=True)
    if wanted > shown:
        raise too_far_ahead(wanted, shown)
    # With a limit, resourceVersion alone means Exact, as it did before resourceVersionMatch existed.
    is_exact = options.version_match == "Exact" or (wanted > 0 and options.limit > 0 and not options.version_match)
    if is_exact:
        return wanted
    return max(newest, wanted) if options.version else shown


def _limit(found: Iterator[Record], limit: int, revision: int, selection: SelectionPredicate) -> Page:
    # As in kube-apiserver, the count of what remains leaves out as many objects as a page has, though objects of other
    # shards have been skipped, too.
    everything = list(found) if selection.shard and selection.has_no_terms else None
    if everything is not None:
        found = iter(everything)
    records = list(itertools.islice(selection.among(found), limit))
    # A full page has a token if any object follows, selected or not: so the last page may be empty.
    if selection.names_one or next(found, None) is None:
        return Page(records, revision, shard=selection.shard)
    # With a selector, counting would mean reading all objects; kube-apiserver leaves the count out, too.
    remaining = 1 + sum(1 for _ in found) if selection.is_everything else None
    if everything is not None:
        remaining = len(everything) - limit
    token = _write_token(revision, selection, records[-1].key)
    return Page(records, revision, token, remaining, selection.shard)


def _write_token(revision: int, selection: SelectionPredicate, last: str) -> str:
    # The next page begins at the smallest key that is greater than the last one.
    return ContinueToken.leading_to(revision, f"/{last.removeprefix(selection.prefix)}\0").text
