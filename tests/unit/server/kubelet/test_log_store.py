"""The log of a container: segments, cursors, and followers."""

from __future__ import annotations

import asyncio
from datetime import UTC, datetime

from hypothesis import given, settings
from hypothesis import strategies as st

from masthead_server.kubelet.logs import LogStore
from masthead_server.kubelet.records import LogFormatter

NOW = datetime(2026, 1, 1, tzinfo=UTC)
PRINTED = st.lists(
    st.sampled_from([b"a\n", b"b", b"ccc\nd\n", b"e" * 30_000 + b"\n", b"f" * 50_000, b"\n"]), max_size=12
)


async def shown(store: LogStore, lines: int | None = None) -> bytes:
    start = store.start if lines is None else await store.find_tail(lines)
    formatter = LogFormatter()
    return b"".join([formatter.format(record) async for record in store.records(start, follow=False)])


@settings(max_examples=60)
@given(PRINTED, st.integers(0, 9))
def test_the_last_lines_are_found_in_whatever_segments_they_are(pieces: list[bytes], lines: int) -> None:
    store = LogStore(400_000)
    for piece in pieces:
        store.append(piece, NOW)
    whole = b"".join(pieces)

    async def check() -> None:
        assert await shown(store) == whole
        kept = whole.splitlines(keepends=True) if b"\r" not in whole else []
        assert await shown(store, lines) == b"".join(kept[len(kept) - lines :] if lines < len(kept) else kept)

    asyncio.run(check())
    store.close()


async def test_old_segments_are_dropped_and_a_reader_of_them_goes_on_with_the_oldest() -> None:
    store = LogStore(300_000)
    store.append(b"first\n", NOW)
    start = store.start
    for number in range(100):
        store.append(b"%d %b\n" % (number, b"x" * 9000), NOW)

    records, cursor = store.read(start)

    assert b"first" not in records
    assert cursor.segment > start.segment
    assert len(await shown(store)) <= 300_000
    store.close()


async def test_followers_end_with_the_log_and_wait_in_between() -> None:
    store = LogStore(100_000)
    found: asyncio.Queue[bytes] = asyncio.Queue()

    async def follow() -> None:
        formatter = LogFormatter()
        async for records in store.records(store.start, follow=True):
            found.put_nowait(formatter.format(records))

    async with asyncio.TaskGroup() as group:
        following = group.create_task(follow())
        for each in (b"one\n", b"two", b"\n"):
            store.append(each, NOW)
            assert await found.get() == each
        assert not following.done()
        store.end()
    store.append(b"late\n", NOW)
    assert await shown(store) == b"one\ntwo\n"
    store.close()
    assert await shown(store) == b""
