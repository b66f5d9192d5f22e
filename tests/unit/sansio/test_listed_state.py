"""When a cache has caught up with a listed state: a model of a collection, and of a watch that lags behind it."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._sansio.listed_state import ListedState

KEYS = st.sampled_from(["a", "b", "c"])
CHANGES = st.lists(st.tuples(KEYS, st.booleans()), max_size=12)


def apply(changes: list[tuple[str, bool]], first: int = 1) -> dict[str, str]:
    """The objects after changes, with their versions; a change that deletes a missing object is no change."""
    objects: dict[str, str] = {}
    for version, (key, is_deletion) in enumerate(changes, first):
        if is_deletion:
            objects.pop(key, None)
        else:
            objects[key] = str(version)
    return objects


def effective(changes: list[tuple[str, bool]]) -> list[tuple[str, bool]]:
    """The changes without deletions of missing objects."""
    found: list[tuple[str, bool]] = []
    there: set[str] = set()
    for key, is_deletion in changes:
        if is_deletion and key not in there:
            continue
        (there.discard if is_deletion else there.add)(key)
        found.append((key, is_deletion))
    return found


@pytest.mark.slow
@given(CHANGES, st.integers(0, 12), st.integers(0, 3))
def test_a_cache_has_caught_up_exactly_if_it_has_the_listed_objects(
    given_changes: list[tuple[str, bool]], seen: int, others: int
) -> None:
    changes = effective(given_changes)
    seen = min(seen, len(changes))
    # Writes of other kinds raise the version of the list, and no watch of this collection shows them.
    state = ListedState.of(str(len(changes) + others), apply(changes).items())
    cache = apply(changes[:seen])
    assert state.is_reached(str(seen), cache.keys) is (cache == apply(changes))


@given(CHANGES, CHANGES)
def test_a_cache_that_is_ahead_has_caught_up(earlier: list[tuple[str, bool]], later: list[tuple[str, bool]]) -> None:
    changes = earlier + later
    state = ListedState.of(str(len(earlier)), apply(earlier).items())
    assert state.is_reached(str(len(changes)), apply(changes).keys)


def test_a_cache_without_a_version_has_not_caught_up() -> None:
    assert not ListedState.of("7", []).is_reached("", list)


def test_keys_that_are_not_all_known_are_not_compared() -> None:
    state = ListedState.of("7", [("a", "5")], is_complete=False)
    assert state.is_reached("5", lambda: ["a", "unknown"])
    assert not state.is_reached("4", lambda: ["a"])
