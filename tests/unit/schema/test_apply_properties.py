"""What holds of server-side apply whatever is applied, by whom, and in which order."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, NamedTuple

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from tests.unit.schema.merge_strategies import THING, THINGS
from tests.unit.schema.object_strategies import objects

from masthead._schema.field_sets import FieldSet
from masthead._schema.structured_merge.class_types import merge_type_of_class
from masthead._schema.structured_merge.comparison import compare, equal
from masthead._schema.structured_merge.extraction import extract_items
from masthead._schema.structured_merge.managers import (
    SYSTEM_FIELDS,
    ApplyConflicts,
    ManagerKey,
    Managers,
    Updater,
)
from masthead._schema.structured_merge.merging import merge
from masthead._schema.structured_merge.ownership import field_set_of
from masthead._schema.structured_merge.removal import remove_items
from masthead.api.core.v1 import Service

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead._schema.path_elements import Path
    from masthead._schema.structured_merge.types import MergeType

Plain = dict[str, Any]
SLOW = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.data_too_large], deadline=None, max_examples=60
)
MANAGERS = ("us", "them", "others")


class Kind(NamedTuple):
    """A kind with one version.

    Attributes:
        type: How its objects merge.
        objects: Its objects.
    """

    type: MergeType
    objects: st.SearchStrategy[Plain]

    def convert(self, value: object, to: str) -> object | None:
        return value if to == "v1" else None

    def type_of(self, api_version: str) -> MergeType:
        assert api_version == "v1"
        return self.type


def stored(value: Any) -> Any:
    """An object without what has nothing in it, which is how built-in kinds are stored."""
    if isinstance(value, dict):
        found = {name: stored(each) for name, each in value.items()}
        return {name: each for name, each in found.items() if each not in (None, {}, [])}
    return [stored(each) for each in value] if isinstance(value, list) else value


def with_head(parts: Plain) -> Plain:
    return {
        **parts,
        "apiVersion": "v1",
        "kind": "Thing",
        "metadata": {**parts.get("metadata", {}), "name": "it"},
    }


# A map that is owned although nothing is in it is lost with its last entry, on a real server, too.
KINDS = (
    Kind(THING, THINGS.map(stored)),
    Kind(merge_type_of_class(Service), objects(Service, "metadata", "spec").map(stored).map(with_head)),
)
NOTHING = with_head({})


class History(NamedTuple):
    """An object that several managers have written.

    Attributes:
        kind: Its kind.
        live: The object.
        managers: Who owns what.
    """

    kind: Kind
    live: Plain
    managers: Managers

    @property
    def _updater(self) -> Updater:
        return Updater("v1", self.kind, {})

    def applied(self, manager: str, config: Plain, *, force: bool = True) -> History:
        live, config = copy.deepcopy(self.live), copy.deepcopy(config)
        found, managers = self._updater.apply(live, config, dict(self.managers), applier(manager), force=force)
        return History(self.kind, self.live if found is None else stored(found), managers)

    def updated(self, manager: str, new: Plain) -> History:
        key = ManagerKey(manager, "Update", "v1", "")
        decoded = stored(new)
        managers = self._updater.update(self.live, decoded, dict(self.managers), key)
        return History(self.kind, decoded, managers)

    def fields(self, manager: str) -> FieldSet:
        """What a manager has applied."""
        found = self.managers.get(applier(manager))
        return FieldSet() if found is None else found.fields

    def others(self, manager: str) -> FieldSet:
        """What all other entries own."""
        found = FieldSet()
        for key, managed in self.managers.items():
            if key != applier(manager):
                found |= managed.fields
        return found


def is_above(path: Path, others: Iterable[Path]) -> bool:
    """Whether one of the others lies below a path."""
    return any(other[: len(path)] == path and other != path for other in others)


def applier(manager: str) -> ManagerKey:
    return ManagerKey(manager, "Apply", "", "")


@st.composite
def histories(draw: st.DrawFn) -> History:
    kind = draw(st.sampled_from(KINDS))
    history = History(kind, NOTHING, {})
    for _ in range(draw(st.integers(1, 4))):
        manager, written = draw(st.sampled_from(MANAGERS)), draw(kind.objects)
        is_apply = draw(st.integers(0, 3))
        history = history.applied(manager, written) if is_apply else history.updated(manager, written)
    return history


HISTORIES = histories()
CHANGES = HISTORIES.flatmap(lambda history: st.tuples(st.just(history), history.kind.objects))
PAIRS = st.sampled_from(KINDS).flatmap(lambda kind: st.tuples(st.just(kind), kind.objects, kind.objects))


@SLOW
@given(CHANGES)
def test_a_repeated_apply_changes_nothing(change: tuple[History, Plain]) -> None:
    history, config = change
    once = history.applied("us", config)

    again = once.applied("us", config, force=False)

    assert again.managers == once.managers
    assert equal(again.live, once.live)


@pytest.mark.slow
@SLOW
@given(CHANGES)
def test_a_manager_owns_what_it_applied_last(change: tuple[History, Plain]) -> None:
    history, config = change

    after = history.applied("us", config)

    assert after.fields("us") == field_set_of(config, history.kind.type) - SYSTEM_FIELDS


@SLOW
@given(CHANGES)
def test_what_was_applied_is_in_the_object(change: tuple[History, Plain]) -> None:
    history, config = change

    live = history.applied("us", config).live

    assert equal(stored(merge(live, config, history.kind.type)), live)


@pytest.mark.slow
@SLOW
@given(CHANGES)
def test_an_apply_conflicts_or_takes_nothing_from_others(change: tuple[History, Plain]) -> None:
    history, config = change
    forced = history.applied("us", config)
    lost = {
        key: managed.fields - forced.managers[key].fields if key in forced.managers else managed.fields
        for key, managed in history.managers.items()
        if key != applier("us")
    }
    conflicts: set[tuple[ManagerKey, Path]] = set()
    try:
        assert history.applied("us", config, force=False) == forced
    except ApplyConflicts as refused:
        conflicts = {(conflict.key, conflict.path) for conflict in refused.conflicts}

    gone = {(key, path) for key, fields in lost.items() for path in fields.paths()}
    assert conflicts <= gone
    # A map that becomes a scalar takes along what was in it.
    assert all(any((key, path[:length]) in conflicts for length in range(1, len(path) + 1)) for key, path in gone)


@SLOW
@given(HISTORIES)
def test_applying_nothing_removes_exactly_the_fields_without_other_owners(history: History) -> None:
    type_ = history.kind.type
    mine, others = history.fields("us"), history.others("us")

    after = history.applied("us", NOTHING)

    assert after.managers == {key: each for key, each in history.managers.items() if key != applier("us")}
    change = compare(history.live, after.live, type_)
    assert not change.added | change.modified
    # A list or map that others own without what is in it goes with its last item.
    removed = list(change.removed.paths())
    assert all(is_above(path, removed) for path in (change.removed & others).paths())
    left = field_set_of(after.live, type_) & (mine - others)
    assert all(is_above(path, others.paths()) for path in left.paths())


@SLOW
@given(HISTORIES)
def test_applying_an_extracted_object_changes_nothing(history: History) -> None:
    config = with_head(extract_items(history.live, history.fields("us"), history.kind.type))

    after = history.applied("us", config, force=False)

    assert equal(after.live, history.live)
    assert after.managers == history.managers


@SLOW
@given(PAIRS)
def test_an_object_is_made_of_its_own_fields(pair: tuple[Kind, Plain, Plain]) -> None:
    kind, value, _ = pair
    fields = field_set_of(value, kind.type)

    assert equal(stored(extract_items(value, fields, kind.type)), stored(value))
    assert not stored(remove_items(value, fields, kind.type))
    assert FieldSet.from_fields_v1(fields.to_fields_v1()) == fields
    assert FieldSet.of(*fields.paths()) == fields


@SLOW
@given(PAIRS)
def test_merging_nothing_or_the_same_again_changes_nothing(pair: tuple[Kind, Plain, Plain]) -> None:
    kind, value, other = pair

    assert equal(merge(value, {}, kind.type), value)
    assert equal(merge(value, value, kind.type), value)
    merged = merge(value, other, kind.type)
    assert equal(merge(merged, other, kind.type), merged)


@SLOW
@given(PAIRS)
def test_a_comparison_the_other_way_round_has_the_same_fields(pair: tuple[Kind, Plain, Plain]) -> None:
    kind, old, new = pair

    there, back = compare(old, new, kind.type), compare(new, old, kind.type)

    assert (there.added, there.removed, there.modified) == (back.removed, back.added, back.modified)
    same = compare(old, old, kind.type)
    assert not same.added | same.removed | same.modified
