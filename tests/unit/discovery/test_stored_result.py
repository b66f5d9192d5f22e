"""Discovery that another process has stored is read without a client, if it can be trusted."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING

import pytest
from tests.unit.discovery.network import (
    AGGREGATED,
    Network,
    Page,
    aggregated,
    discovery_over,
    group,
    resource,
    version,
)

from masthead._discovery.aggregated import ACCEPT
from masthead._discovery.disk_cache import EXPIRY, DiskCache, StoredDocument, document_key
from masthead._discovery.stored_result import read_stored_result

if TYPE_CHECKING:
    from pathlib import Path

SERVER = "https://10.0.0.1:6443"
PAGES: dict[str, Page] = {
    "/api": aggregated(group("", version("v1", resource("pods", "Pod")))),
    "/apis": aggregated(group("apps", version("v1", resource("deployments", "Deployment")))),
}


class WallClock:
    """A settable time of day."""

    def __init__(self) -> None:
        self.time = datetime(2026, 1, 1, tzinfo=UTC)

    def __call__(self) -> datetime:
        return self.time


async def stored(folder: Path, pages: dict[str, Page]) -> tuple[DiskCache, WallClock]:
    """A cache that a client has filled."""
    clock = WallClock()
    cache = DiskCache(folder, server=SERVER, now=clock)
    await discovery_over(Network(pages), cache=cache).resources()
    return cache, clock


async def test_the_result_of_another_process_is_read(tmp_path: Path) -> None:
    cache, _ = await stored(tmp_path, PAGES)

    found = read_stored_result(cache, EXPIRY)

    assert found is not None
    assert [str(each.gvr.group_resource) for each in found] == ["pods", "deployments.apps"]


async def test_nothing_is_read_after_its_time(tmp_path: Path) -> None:
    cache, clock = await stored(tmp_path, PAGES)
    clock.time += timedelta(seconds=EXPIRY)

    assert read_stored_result(cache, EXPIRY) is None


@pytest.mark.parametrize("kept", [0, 1])
async def test_a_missing_document_is_no_empty_one(kept: int, tmp_path: Path) -> None:
    cache, _ = await stored(tmp_path, PAGES)
    for path in sorted(cache.directory.iterdir())[kept:]:
        path.unlink()

    assert read_stored_result(cache, EXPIRY) is None


@pytest.mark.parametrize(
    ("body", "content_type"),
    [(b'{"groups":[]}', "application/json"), (b"[]", AGGREGATED.format("v2")), (b"", AGGREGATED.format("v2"))],
)
async def test_other_formats_and_invalid_documents_are_left_to_a_client(
    body: bytes, content_type: str, tmp_path: Path
) -> None:
    cache, _ = await stored(tmp_path, PAGES)
    cache.write(document_key("/apis", ACCEPT), StoredDocument(body, content_type, "", ""))

    assert read_stored_result(cache, EXPIRY) is None
