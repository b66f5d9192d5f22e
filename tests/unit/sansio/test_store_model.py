"""The store compared with a plain dict, whose indices are computed for each lookup."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import count
from typing import TYPE_CHECKING

from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, precondition, rule

from masthead._sansio.store import IndexedStore

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

KEYS = st.sampled_from(["a/1", "a/2", "b/1", "b/2", "c"])
SCOPES = st.sampled_from(["", "a", "b"])
TAGS = st.lists(st.sampled_from(["x", "y", "z"]), max_size=3)
VERSIONS = st.integers(1, 2000).map(str)


@dataclass(frozen=True, eq=False)
class Thing:
    """An object; no two are equal, so that a stale one is distinct from its successor."""

    node: str
    tags: list[str]
    is_broken: bool


@dataclass(frozen=True, eq=False)
class Held:
    thing: Thing


THINGS = st.builds(Thing, st.sampled_from(["n1", "n2", ""]), TAGS, st.booleans()).map(Held)


def node_of(thing: Thing) -> list[str]:
    return [thing.node]


def tags_of(thing: Thing) -> Iterable[str]:
    return (tag for tag in thing.tags)


def whole_tags_of(thing: Thing) -> set[str]:
    if thing.is_broken:
        raise LookupError("no tags")
    return set(thing.tags)


FUNCTIONS: dict[str, Callable[[Thing], Iterable[str]]] = {
    "node": node_of,
    "tags": tags_of,
    "whole tags": whole_tags_of,
}


class Stores(RuleBasedStateMachine):
    @initialize(names=st.sets(st.sampled_from(sorted(FUNCTIONS))), has_fickle=st.booleans())
    def begin(self, names: set[str], has_fickle: bool) -> None:
        self.model: dict[str, tuple[str, Held]] = {}
        self.versions: dict[str, str] = {}
        self.failures: list[tuple[str, str]] = []
        self.expected_failures: list[tuple[str, str]] = []
        self.names = set(names)
        self.store: IndexedStore[Held, Thing] = IndexedStore(
            {name: FUNCTIONS[name] for name in names},
            opened=lambda held: held.thing,
            on_index_error=lambda index, key, _: self.failures.append((index, key)),
        )
        numbers = count()
        if has_fickle:
            self.store.add_indexers({"fickle": lambda thing: [str(next(numbers) % 5), *thing.tags]})

    def note(self, key: str, held: Held) -> None:
        if held.thing.is_broken and "whole tags" in self.names:
            self.expected_failures.append(("whole tags", key))

    @rule(key=KEYS, held=THINGS, scope=SCOPES, version=st.just("") | VERSIONS, is_at_hand=st.booleans())
    def put(self, key: str, held: Held, scope: str, version: str, is_at_hand: bool) -> None:
        before = self.model.get(key, ("", None))[1]
        obj = held.thing if is_at_hand else None

        assert self.store.put(key, held, obj=obj, version=version, scope=scope) is before

        self.model[key] = (scope, held)
        self.note(key, held)
        if version:
            self.versions[scope] = version

    @rule(key=KEYS, scope=SCOPES, version=st.just("") | VERSIONS)
    def remove(self, key: str, scope: str, version: str) -> None:
        before = self.model.pop(key, ("", None))[1]

        assert self.store.remove(key, version=version, scope=scope) is before

        if version:
            self.versions[scope] = version

    @rule(items=st.dictionaries(KEYS, THINGS), scope=SCOPES, version=VERSIONS)
    def replace(self, items: dict[str, Held], scope: str, version: str) -> None:
        self.store.replace(items, version, scope=scope)

        others = {key: entry for key, entry in self.model.items() if entry[0] != scope}
        self.model = others | {key: (scope, held) for key, held in items.items()}
        self.versions[scope] = version
        for key, held in items.items():
            self.note(key, held)

    @rule(scope=SCOPES, version=VERSIONS)
    def set_version(self, scope: str, version: str) -> None:
        self.store.set_version(version, scope=scope)
        self.versions[scope] = version

    @precondition(lambda self: self.names < FUNCTIONS.keys())
    @rule(data=st.data())
    def add_an_index(self, data: st.DataObject) -> None:
        name = data.draw(st.sampled_from(sorted(FUNCTIONS.keys() - self.names)))
        self.store.add_indexers({name: FUNCTIONS[name]})
        self.names.add(name)
        if name == "whole tags":
            for key, (_, held) in self.model.items():
                self.note(key, held)

    def values_of(self, name: str, thing: Thing) -> set[str]:
        return set() if thing.is_broken and name == "whole tags" else set(FUNCTIONS[name](thing))

    @invariant()
    def the_same_is_stored(self) -> None:
        stored = {key: held for key, (_, held) in self.model.items()}
        assert dict(self.store.items()) == stored
        assert sorted(self.store.keys()) == sorted(stored)
        assert set(self.store.values()) == set(stored.values())
        assert len(self.store) == len(self.store.values()) == len(stored)
        assert all(self.store.get(key) is held for key, held in stored.items())

    @invariant()
    def the_indices_match_the_stored_objects(self) -> None:
        for name in self.names:
            buckets: dict[str, dict[str, Held]] = {}
            for key, (_, held) in self.model.items():
                for value in self.values_of(name, held.thing):
                    buckets.setdefault(value, {})[key] = held
            assert sorted(self.store.index_values(name)) == sorted(buckets)
            for value in ("n1", "n2", "", "x", "y", "z"):
                expected = buckets.get(value, {})
                found = self.store.by_index(name, value)
                assert len(found) == len(expected)
                assert set(found) == set(expected.values())
                assert self.store.index_keys(name, value) == sorted(expected)

    @invariant()
    def objects_that_share_a_value_are_found_each_once(self) -> None:
        for name in self.names - {"whole tags"}:
            for _, one in self.model.values():
                mine = self.values_of(name, one.thing)
                expected = [h for _, h in self.model.values() if mine & self.values_of(name, h.thing)]
                found = self.store.index(name, one.thing)
                assert len(found) == len(expected)
                assert set(found) == set(expected)

    @invariant()
    def a_function_that_never_answers_the_same_leaves_nothing_behind(self) -> None:
        if not self.store.has_index("fickle"):
            return
        values = self.store.index_values("fickle")
        assert all(self.store.by_index("fickle", value) for value in values)
        found = {
            (key, held)
            for value in values
            for key, held in zip(
                self.store.index_keys("fickle", value),
                sorted(self.store.by_index("fickle", value), key=self.key_of),
                strict=True,
            )
        }
        assert found == set(self.store.items())

    def key_of(self, held: Held) -> str:
        """The key of a stored value; fails for other values."""
        return next(key for key, (_, stored) in self.model.items() if stored is held)

    @invariant()
    def every_failure_was_reported_once(self) -> None:
        assert sorted(self.failures) == sorted(self.expected_failures)

    @invariant()
    def the_oldest_version_counts(self) -> None:
        assert self.store.version == min(self.versions.values(), key=int, default="")
        assert all(self.store.version_of(scope) == version for scope, version in self.versions.items())


Stores.TestCase.settings = settings(max_examples=150, stateful_step_count=30, deadline=None)
test_a_store_is_a_dict_with_indices = Stores.TestCase
