"""Recorded values are what they were."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from tests.sequences.deltas import delta, patched

values: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers(0, 3) | st.text("ab", max_size=2),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text("abc", max_size=2), inner, max_size=4),
    max_leaves=12,
)


@given(values, values)
def test_a_value_patched_with_the_difference_is_the_other(old: Any, new: Any) -> None:
    restored = patched(old, json.loads(json.dumps(delta(old, new))))
    assert restored == new
    assert json.dumps(restored, sort_keys=True) == json.dumps(new, sort_keys=True)
