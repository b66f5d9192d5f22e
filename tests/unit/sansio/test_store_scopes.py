"""Several scopes in one store, which are replaced independently."""

from __future__ import annotations

from masthead._sansio.store import IndexedStore


def store_of(opened: list[str]) -> IndexedStore[str, str]:
    """A store of words, indexed by their first letter, that notes which were opened."""

    def note(word: str) -> str:
        opened.append(word)
        return word

    return IndexedStore({"letter": lambda word: [word[0]]}, opened=note)


def test_the_objects_of_a_scope_can_be_read() -> None:
    store = store_of([])
    store.replace({"a/2": "x", "a/1": "y"}, "5", scope="a")
    store.put("b/1", "z", scope="b")
    store.put("c", "x")

    assert list(store.items_of("a").items()) == [("a/2", "x"), ("a/1", "y")]
    assert store.items_of("") == {"c": "x"}
    assert store.items_of("nowhere") == {}
    store.remove("c")
    assert store.items_of("") == {}
    store.put("a/1", "y", scope="b")
    assert (store.items_of("a"), store.items_of("b")) == ({"a/2": "x"}, {"b/1": "z", "a/1": "y"})


def test_without_scopes_everything_belongs_to_the_default_scope() -> None:
    store = store_of([])
    store.replace({"a": "x", "b": "y"}, "5")

    found = store.items_of("")
    found.clear()
    assert store.items_of("") == {"a": "x", "b": "y"}


def test_a_replace_of_a_scope_keeps_the_buckets_of_others() -> None:
    opened: list[str] = []
    store = store_of(opened)
    store.replace({"a/1": "x1", "a/2": "y1"}, "1", scope="a")
    store.replace({"b/1": "y2", "b/2": "w2"}, "1", scope="b")
    store.replace({"a/1": "z1"}, "2", scope="a")

    assert sorted(store.index_values("letter")) == ["w", "y", "z"]
    assert store.index_keys("letter", "y") == ["b/1"]
    assert opened == ["x1", "y1", "y2", "w2", "z1"]

    store.put("b/1", "z2", scope="b")
    store.replace({}, "3", scope="a")
    assert sorted(store.index_values("letter")) == ["w", "z"]
    assert store.index_keys("letter", "z") == ["b/1"]


def test_a_list_is_independent_of_the_given_dict() -> None:
    store = store_of([])
    store.put("b/1", "w", scope="b")
    for items in ({"a/1": "x"}, {"a/1": "y"}):
        store.replace(items, "1", scope="a")
        items["a/2"] = "z"
        assert sorted(store.keys()) == ["a/1", "b/1"]
