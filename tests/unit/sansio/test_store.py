"""The store: by key, by index, by scope."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum
from typing import TYPE_CHECKING, Any, Generic, TypeVar

import pytest

from masthead._sansio.store import IndexedStore
from masthead.errors import ArgumentError, IndexConflictError, UnknownIndexError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator

T = TypeVar("T")


@dataclass(frozen=True)
class Pod:
    name: str
    node: str = ""
    labels: tuple[str, ...] = ()
    generation: int = 0


@dataclass(frozen=True)
class Held(Generic[T]):
    """The packed form of an object, so that type checkers distinguish the two."""

    obj: T


def node_of(pod: Pod) -> list[str]:
    return [pod.node]


def labels_of(pod: Pod) -> Iterable[str]:
    return pod.labels


def plain(pod: Pod) -> Pod:
    return pod


def store_of(*pods: Pod, scope: str = "", **indexers: Callable[[Pod], Iterable[str]]) -> IndexedStore[Pod, Pod]:
    store = IndexedStore(indexers, opened=plain)
    for pod in pods:
        store.put(pod.name, pod, scope=scope)
    return store


WEB = Pod("web", "n1", ("a", "b"))
JOB = Pod("job", "n2", ("b",))


class TestByKey:
    def test_an_object_is_found_until_it_is_removed(self) -> None:
        store = store_of()

        assert store.put("web", WEB) is None
        assert store.get("web") is WEB
        assert "web" in store
        assert len(store) == 1
        assert store.remove("web") is WEB
        assert store.get("web") is None
        assert "web" not in store
        assert len(store) == 0

    def test_a_put_returns_the_replaced_value(self) -> None:
        store = store_of(WEB)
        newer = Pod("web", "n9")

        assert store.put("web", newer) is WEB
        assert store.get("web") is newer

    def test_removing_a_missing_key_is_a_no_op(self) -> None:
        assert store_of(WEB, node=node_of).remove("job") is None

    def test_everything_can_be_listed(self) -> None:
        store = store_of(WEB, JOB)

        assert sorted(store.keys()) == ["job", "web"]
        assert set(store.values()) == {WEB, JOB}
        assert dict(store.items()) == {"web": WEB, "job": JOB}

    def test_a_returned_list_is_a_copy(self) -> None:
        store = store_of(WEB, node=node_of)
        for listed in (store.keys(), store.values(), store.items(), store.by_index("node", "n1")):
            listed.clear()

        assert store.by_index("node", "n1") == store.values() == [WEB]


class TestByIndex:
    def test_objects_are_found_by_their_indexed_values(self) -> None:
        store = store_of(WEB, JOB, node=node_of, label=labels_of)

        assert store.by_index("node", "n1") == [WEB]
        assert store.by_index("label", "a") == [WEB]
        assert set(store.by_index("label", "b")) == {WEB, JOB}
        assert store.by_index("label", "z") == []

    def test_keys_are_sorted(self) -> None:
        store = store_of(*(Pod(name, "n1") for name in "cab"), node=node_of)

        assert store.index_keys("node", "n1") == ["a", "b", "c"]
        assert store.index_keys("node", "n2") == []

    def test_an_object_finds_others_with_the_same_index_value_once(self) -> None:
        store = store_of(WEB, JOB, Pod("other"), label=labels_of)

        assert set(store.index("label", Pod("not stored", labels=("a", "b")))) == {WEB, JOB}
        assert len(store.index("label", WEB)) == 2
        assert store.index("label", Pod("alone")) == []

    def test_an_empty_value_is_a_value(self) -> None:
        pending = Pod("pending", node="")

        assert store_of(pending, WEB, node=node_of).by_index("node", "") == [pending]

    def test_repeated_indexed_values_count_once(self) -> None:
        store = store_of(WEB, twice=lambda pod: [pod.node, pod.node])
        assert store.by_index("twice", "n1") == [WEB]

        store.remove("web")
        assert store.index_values("twice") == []

    def test_an_object_whose_indexed_value_changes_is_found_only_by_the_new_one(self) -> None:
        store = store_of(WEB, node=node_of)
        moved = Pod("web", "n2")
        store.put("web", moved)

        assert store.by_index("node", "n1") == []
        assert store.by_index("node", "n2") == [moved]

    def test_an_object_whose_indexed_value_is_unchanged_is_found_in_its_new_state(self) -> None:
        store = store_of(WEB, node=node_of, label=labels_of)
        changed = Pod("web", "n1", ("b", "c"))
        store.put("web", changed)

        assert store.by_index("node", "n1") == [changed]
        assert store.by_index("label", "b") == [changed]
        assert store.by_index("label", "c") == [changed]
        assert store.by_index("label", "a") == []

    def test_indexed_values_without_objects_are_removed(self) -> None:
        store = store_of(WEB, JOB, node=node_of, label=labels_of)
        assert sorted(store.index_values("label")) == ["a", "b"]

        store.put("web", Pod("web"))
        assert store.index_values("label") == ["b"]
        store.remove("web")
        store.remove("job")
        assert store.index_values("label") == store.index_values("node") == []

    @pytest.mark.parametrize(
        "give",
        [
            lambda pod: list(pod.labels),
            lambda pod: pod.labels,
            lambda pod: set(pod.labels),
            lambda pod: (label for label in pod.labels),
            lambda pod: dict.fromkeys(pod.labels),
        ],
        ids=["list", "tuple", "set", "generator", "dict"],
    )
    def test_an_index_function_may_return_any_iterable_of_str(self, give: Callable[[Pod], Iterable[str]]) -> None:
        store = store_of(WEB, JOB, x=give)

        assert store.by_index("x", "a") == [WEB]
        assert len(store.by_index("x", "b")) == 2

    def test_enums_of_str_are_found_by_their_text(self) -> None:
        class Phase(StrEnum):
            RUNNING = "Running"

        store = store_of(WEB, phase=lambda _: [Phase.RUNNING])

        assert store.by_index("phase", "Running") == [WEB]
        assert [type(value) for value in store.index_values("phase")] == [str]

    def test_a_nondeterministic_index_function_leaves_no_stale_entries(self) -> None:
        answers = iter(range(100))
        store = store_of(WEB, x=lambda _: [str(next(answers)), "same"])
        for _ in range(5):
            store.put("web", WEB)
        assert len(store.index_values("x")) == 2

        store.remove("web")
        assert store.index_values("x") == []

    def test_an_unknown_index_is_an_error_that_names_the_existing_ones(self) -> None:
        store = store_of(node=node_of, label=labels_of)
        lookups: list[Callable[[], object]] = [
            lambda: store.by_index("nod", "n1"),
            lambda: store.index_keys("nod", "n1"),
            lambda: store.index_values("nod"),
            lambda: store.index("nod", WEB),
        ]
        for lookup in lookups:
            with pytest.raises(UnknownIndexError, match=r'"nod".*"label", "node"'):
                lookup()
        with pytest.raises(UnknownIndexError, match="none at all"):
            store_of().by_index("node", "n1")


class TestHeldValues:
    def test_index_functions_get_objects_and_readers_get_the_stored_values(self) -> None:
        store: IndexedStore[Held[Pod], Pod] = IndexedStore({"node": node_of}, opened=lambda held: held.obj)
        held = Held(WEB)
        store.put("web", held)

        assert store.by_index("node", "n1") == [held]
        assert store.index("node", WEB) == [held]

    def test_an_object_that_is_passed_along_is_not_loaded_again(self) -> None:
        opened: list[Held[Pod]] = []

        def open_(held: Held[Pod]) -> Pod:
            opened.append(held)
            return held.obj

        store = IndexedStore({"node": node_of}, opened=open_)
        store.put("web", Held(WEB), obj=WEB)
        assert opened == []

        store.put("job", Held(JOB))
        assert opened == [Held(JOB)]
        store.remove("job")
        assert opened == [Held(JOB)]

    def test_values_are_not_loaded_without_an_index_and_once_for_several(self) -> None:
        opened: list[str] = []

        def open_(key: str) -> Pod:
            opened.append(key)
            return Pod(key)

        store = IndexedStore[str, Pod](opened=open_)
        store.put("a", "a")
        store.replace({"a": "a", "b": "b"}, "1")
        assert opened == []

        store.add_indexers({"node": node_of, "label": labels_of})
        assert sorted(opened) == ["a", "b"]


class TestIndexErrors:
    def broken(self, give: Callable[[Pod], Any]) -> tuple[IndexedStore[Pod, Pod], list[tuple[str, str, str]]]:
        reported: list[tuple[str, str, str]] = []

        def report(index: str, key: str, error: Exception) -> None:
            reported.append((index, key, f"{type(error).__name__}: {error}"))

        indexers = {"bad": give, "node": node_of}
        return IndexedStore(indexers, opened=plain, on_index_error=report), reported

    def test_a_failing_index_function_is_reported_and_counts_as_no_values(self) -> None:
        store, reported = self.broken(lambda pod: [{"web": "fine"}[pod.name]])
        store.put("web", WEB)
        store.put("job", JOB)

        assert reported == [("bad", "job", "KeyError: 'job'")]
        assert store.by_index("bad", "fine") == [WEB]
        assert store.get("job") is JOB
        assert store.by_index("node", "n2") == [JOB]

    def test_an_object_whose_index_function_fails_later_leaves_its_bucket(self) -> None:
        store, reported = self.broken(lambda pod: [str(1 // (1 - pod.generation))])
        store.put("web", WEB)
        assert store.by_index("bad", "1") == [WEB]

        store.put("web", Pod("web", generation=1))
        assert len(reported) == 1
        assert store.index_values("bad") == []

    def test_failures_are_listed_until_the_object_is_indexed_or_deleted(self) -> None:
        store, _ = self.broken(lambda pod: [str(1 // (1 - pod.generation))])
        failing = Pod("web", generation=1)
        expected = "ZeroDivisionError: integer division or modulo by zero"
        store.put("web", failing)
        store.put("job", failing)
        assert store.index_failures() == {"bad": {"web": expected, "job": expected}}

        store.put("web", WEB)
        assert store.index_failures() == {"bad": {"job": expected}}
        store.remove("job")
        assert store.index_failures() == {}

        store.replace({"web": failing, "job": JOB}, "1")
        assert store.index_failures() == {"bad": {"web": expected}}
        store.replace({"job": JOB}, "2")
        assert store.index_failures() == {}

    def test_failures_of_other_scopes_survive_a_replacement(self) -> None:
        store, _ = self.broken(lambda pod: [str(1 // (1 - pod.generation))])
        failing = Pod("web", generation=1)
        store.replace({"a/web": failing}, "1", scope="a")
        store.replace({"b/web": failing}, "1", scope="b")
        store.replace({}, "2", scope="a")
        assert [list(failures) for failures in store.index_failures().values()] == [["b/web"]]

    def test_a_broken_index_function_lists_a_hundred_failures_at_most(self) -> None:
        store, reported = self.broken(lambda _: 7)
        store.replace({str(number): WEB for number in range(300)}, "1")
        assert len(reported) == 300
        assert len(store.index_failures()["bad"]) == 100

    def test_an_error_without_a_string_is_listed_by_its_type(self) -> None:
        class SilentError(Exception):
            def __str__(self) -> str:
                raise RuntimeError

        def fail(_: Pod) -> list[str]:
            raise SilentError

        store: IndexedStore[Pod, Pod] = IndexedStore({"bad": fail}, opened=plain)
        store.put("web", WEB)
        assert store.index_failures() == {"bad": {"web": "SilentError"}}

    @pytest.mark.parametrize("rubbish", ["text", None, 7, [1], ["a", None], b"ab", [["a"]]], ids=repr)
    def test_an_invalid_index_value_is_reported_and_counts_as_no_values(self, rubbish: object) -> None:
        store, reported = self.broken(lambda _: rubbish)
        store.put("web", WEB)

        [(index, key, message)] = reported
        assert (index, key) == ("bad", "web")
        assert message.startswith("ArgumentError: the index function gave a value of type ")
        assert store.index_values("bad") == []
        assert store.by_index("node", "n1") == [WEB]

    def test_a_generator_that_raises_in_the_middle_counts_as_no_values(self) -> None:
        def give(pod: Pod) -> Iterator[str]:
            yield pod.node
            raise OSError("gone")

        store, reported = self.broken(give)
        store.replace({"web": WEB}, "1")

        assert reported == [("bad", "web", "OSError: gone")]
        assert store.index_values("bad") == []

    def test_a_value_that_cannot_be_loaded_is_stored_and_reported_for_every_index(self) -> None:
        reported: list[tuple[str, str]] = []

        def open_(held: str) -> Pod:
            if held == "broken":
                raise ValueError(held)
            return Pod(held, held)

        store = IndexedStore(
            {"node": node_of, "label": labels_of},
            opened=open_,
            on_index_error=lambda index, key, _: reported.append((index, key)),
        )
        store.put("a", "n1")
        store.put("a", "broken")

        assert reported == [("node", "a"), ("label", "a")]
        assert store.get("a") == "broken"
        assert store.index_values("node") == []

    def test_the_error_callback_is_optional(self) -> None:
        store = store_of(WEB, bad=lambda _: [str(1 // 0)])

        assert store.get("web") is WEB

    def test_a_lookup_by_object_raises_the_error_of_the_index_function(self) -> None:
        store, reported = self.broken(lambda pod: [{"web": "fine"}[pod.name]])
        with pytest.raises(KeyError):
            store.index("bad", JOB)
        rubbish, _ = self.broken(lambda _: "text")
        with pytest.raises(ArgumentError, match="must return a list"):
            rubbish.index("bad", WEB)
        assert reported == []


class TestAddingIndices:
    def test_a_new_index_has_all_stored_objects_immediately(self) -> None:
        store = store_of(WEB, JOB)
        store.add_indexers({"node": node_of})

        assert store.by_index("node", "n1") == [WEB]
        store.remove("web")
        assert store.index_values("node") == ["n2"]

    def test_existing_indices_stay(self) -> None:
        store = store_of(WEB, node=node_of)
        store.add_indexers({"label": labels_of})
        store.put("job", JOB)

        assert store.by_index("node", "n1") == [WEB]
        assert store.by_index("node", "n2") == [JOB]
        assert set(store.by_index("label", "b")) == {WEB, JOB}

    def test_a_duplicate_index_name_is_rejected_and_nothing_is_added(self) -> None:
        store = store_of(WEB, node=node_of)

        with pytest.raises(IndexConflictError, match='"node"'):
            store.add_indexers({"label": labels_of, "node": node_of})
        assert not store.has_index("label")
        assert store.by_index("node", "n1") == [WEB]

    def test_an_invalid_index_function_is_rejected_and_nothing_is_added(self) -> None:
        store = store_of(WEB)
        rubbish: Any = "spec.nodeName"

        with pytest.raises(ArgumentError, match=r'"node" is of type str.*give a function'):
            store.add_indexers({"label": labels_of, "node": rubbish})
        assert dict(store.indexers) == {}

    def test_the_functions_can_be_read_but_not_changed(self) -> None:
        store = store_of(node=node_of)
        indexers: Any = store.indexers
        assert dict(indexers) == {"node": node_of}

        with pytest.raises(TypeError):
            indexers["label"] = labels_of
        assert store.has_index("node")
        assert not store.has_index("label")


class TestReplacing:
    def test_a_replace_removes_missing_objects_from_every_index(self) -> None:
        store = store_of(WEB, JOB, node=node_of)
        newer = Pod("job", "n3")
        store.replace({"job": newer}, "5")

        assert store.values() == store.by_index("node", "n3") == [newer]
        assert store.index_values("node") == ["n3"]

    def test_a_replace_copies_the_callers_list(self) -> None:
        store = store_of()
        listed = {"web": WEB}
        store.replace(listed, "5")
        store.put("job", JOB)
        assert listed == {"web": WEB}

        listed.clear()
        assert len(store) == 2

    def test_a_replace_of_a_scope_affects_only_its_own_objects(self) -> None:
        store = store_of(node=node_of)
        store.replace({"a/1": WEB, "a/2": WEB}, "5", scope="a")
        store.replace({"b/1": JOB}, "6", scope="b")
        store.put("a/3", WEB, scope="a")
        store.put("free", JOB)

        store.replace({"a/9": JOB}, "7", scope="a")

        assert sorted(store.keys()) == ["a/9", "b/1", "free"]
        assert store.index_values("node") == ["n2"]
        assert store.index_keys("node", "n2") == ["a/9", "b/1", "free"]

    def test_a_replace_of_the_default_scope_affects_only_its_own_objects(self) -> None:
        store = store_of(WEB, JOB)
        store.put("a/1", WEB, scope="a")
        store.replace({}, "8")

        assert store.keys() == ["a/1"]

    def test_a_key_belongs_to_the_scope_that_stored_it_last(self) -> None:
        store = store_of(node=node_of)
        store.put("x", WEB, scope="a")
        store.replace({"x": JOB}, "1", scope="b")
        store.replace({}, "2", scope="a")
        assert store.index_keys("node", "n2") == store.keys() == ["x"]

        store.put("x", WEB)
        store.replace({}, "3", scope="b")
        assert store.keys() == ["x"]
        store.replace({}, "4")
        assert store.keys() == store.index_values("node") == []

    def test_a_removed_key_belongs_to_no_scope(self) -> None:
        store = store_of()
        store.put("x", WEB, scope="a")
        store.remove("x", scope="a")
        store.put("x", WEB)
        store.replace({}, "1", scope="a")

        assert store.keys() == ["x"]


class TestVersions:
    def test_the_version_is_empty_at_first(self) -> None:
        assert store_of().version == ""
        assert store_of(WEB).version == ""

    def test_it_advances_with_every_change_that_has_one(self) -> None:
        store = store_of()
        store.replace({}, "5")
        assert store.version == "5"
        store.put("web", WEB, version="6")
        assert store.version == "6"
        store.put("web", WEB)
        assert store.version == "6"
        store.remove("web", version="7")
        assert store.version == "7"
        store.remove("web")
        assert store.version == "7"
        store.set_version("9")
        assert store.version == store.version_of("") == "9"

    def test_a_list_of_unknown_version_makes_it_unknown(self) -> None:
        store = store_of()
        store.replace({}, "5")
        store.replace({}, "")

        assert store.version == ""

    def test_of_several_scopes_the_oldest_counts_by_number_not_by_text(self) -> None:
        store = store_of()
        store.set_version("10", scope="a")
        store.set_version("9", scope="b")
        assert store.version == "9"

        store.set_version("1" + "0" * 5000, scope="b")
        assert store.version == "10"
        assert store.version_of("a") == "10"
        assert store.version_of("c") == ""

    def test_it_waits_for_every_expected_scope(self) -> None:
        store = IndexedStore[Pod, Pod](opened=plain, scopes=["a", "b"])
        store.replace({}, "7", scope="a")
        assert store.version == ""

        store.replace({}, "5", scope="b")
        assert store.version == "5"

    def test_a_version_that_is_not_a_number_counts_only_with_a_single_scope(self) -> None:
        store = store_of()
        store.set_version("etag-1", scope="a")
        assert store.version == "etag-1"

        store.set_version("7", scope="b")
        assert store.version == ""
        assert store.version_of("a") == "etag-1"
