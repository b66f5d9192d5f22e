"""The LRU cache compared with a list of pairs."""

from __future__ import annotations

import pytest
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from masthead._sansio.lru import LruCache

KEYS = st.integers(0, 6)


class Caches(RuleBasedStateMachine):
    @initialize(limit=st.integers(1, 4))
    def begin(self, limit: int) -> None:
        self.limit = limit
        self.cache: LruCache[int, str] = LruCache(limit)
        self.pairs: list[tuple[int, str]] = []

    @rule(key=KEYS, value=st.sampled_from(["a", "b", ""]))
    def put(self, key: int, value: str) -> None:
        self.pairs = [*(pair for pair in self.pairs if pair[0] != key), (key, value)]
        expected = self.pairs.pop(0)[1] if len(self.pairs) > self.limit else None
        assert self.cache.put(key, value) == expected

    @rule(key=KEYS)
    def get(self, key: int) -> None:
        found = [pair for pair in self.pairs if pair[0] == key]
        self.pairs = [pair for pair in self.pairs if pair[0] != key] + found
        assert self.cache.get(key) == (found[0][1] if found else None)

    @rule(key=KEYS)
    def discard(self, key: int) -> None:
        self.pairs = [pair for pair in self.pairs if pair[0] != key]
        self.cache.discard(key)

    @invariant()
    def values_are_in_the_order_of_their_use(self) -> None:
        values = [value for _, value in self.pairs]
        assert list(self.cache.values()) == values
        assert len(self.cache) == len(values)
        assert self.cache.oldest() == (values[0] if values else None)


Caches.TestCase.settings = settings(max_examples=50, stateful_step_count=30)
TestCaches = Caches.TestCase


def test_a_cache_has_room_for_an_entry() -> None:
    with pytest.raises(ValueError, match="at least one"):
        LruCache[int, int](0)
