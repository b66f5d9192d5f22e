"""Reading a cache: stores, indices and listers."""

from __future__ import annotations

from typing import Any

import pytest

from masthead._cache.store.indexer import Indexer
from masthead._cache.store.lister import Lister
from masthead._cache.store.mutable_indexer import MutableIndexer
from masthead._cache.store.store import Store
from masthead.api.core.v1 import ConfigMap, Namespace
from masthead.errors import (
    ArgumentError,
    IndexConflictError,
    NotFoundError,
    SelectorError,
    UnknownIndexError,
)

ways = pytest.mark.parametrize("hold", ["lazy", "eager", "compact"])


def config_map(name: str, namespace: str = "shop", version: str = "5", **labels: str) -> ConfigMap:
    made = ConfigMap.new(name, namespace=namespace, labels=labels, data={"value": name})
    made.metadata.resource_version = version
    return made


def filled(hold: Any = "lazy", **indexers: Any) -> MutableIndexer[ConfigMap]:
    store: MutableIndexer[ConfigMap] = MutableIndexer(ConfigMap, indexers, hold=hold)
    store.replace(
        [
            config_map("a", app="web", tier="front"),
            config_map("b", app="web"),
            config_map("c", "bank", app="db"),
        ],
        "7",
    )
    return store


def names(found: list[ConfigMap]) -> list[str]:
    return sorted(obj.metadata.name for obj in found)


@ways
def test_objects_are_found_by_key_and_by_index(hold: str) -> None:
    store = filled(hold, app=lambda obj: [obj.metadata.labels["app"]])
    assert store.version == "7"
    assert len(store) == 3
    assert store
    assert "shop/a" in store
    assert sorted(store.list_keys()) == ["bank/c", "shop/a", "shop/b"]
    found = store.get_by_key("shop/a")
    assert found is not None
    assert found.data == {"value": "a"}
    assert store.get(config_map("a")) == found
    assert store.get_by_key("shop/z") is None
    assert names(store.by_index("app", "web")) == ["a", "b"]
    assert store.index_keys("app", "web") == ["shop/a", "shop/b"]
    assert names(store.index("app", config_map("z", app="db"))) == ["c"]
    assert sorted(store.list_index_values("app")) == ["db", "web"]
    assert store.index_keys("namespace", "bank") == ["bank/c"]


@ways
def test_a_standalone_store_can_be_changed(hold: str) -> None:
    store = filled(hold)
    store.add(config_map("d", version="8"))
    store.update(config_map("a", version="9", app="db"))
    store.delete(config_map("b", version="10"))
    store.delete(config_map("missing", version="10"))
    store.resync()
    assert sorted(store.list_keys()) == ["bank/c", "shop/a", "shop/d"]
    assert store.version == "10"
    store.add_indexers({"app": lambda obj: [obj.metadata.labels.get("app", "")]})
    assert store.index_keys("app", "db") == ["bank/c", "shop/a"]


@ways
def test_the_index_functions_of_a_store_can_be_read(hold: str) -> None:
    store = filled(hold)
    store.add_indexers({"app": lambda obj: [obj.metadata.labels.get("app", "")]})
    functions = dict(store.indexers)

    assert list(functions["app"](config_map("a", app="db"))) == ["db"]
    assert list(functions["namespace"](config_map("a"))) == ["shop"]
    functions.clear()
    assert set(store.indexers) == {"app", "namespace"}


def test_an_unknown_index_is_an_error_that_names_the_existing_ones() -> None:
    store = filled(app=lambda _: ["x"])
    for lookup in (
        lambda: store.by_index("node", "x"),
        lambda: store.index_keys("node", "x"),
        lambda: store.list_index_values("node"),
        lambda: store.index("node", config_map("a")),
    ):
        with pytest.raises(UnknownIndexError, match=r"app.*namespace"):
            lookup()
    with pytest.raises(IndexConflictError):
        store.add_indexers({"namespace": lambda _: []})
    wrong: Any = "labels"
    with pytest.raises(ArgumentError):
        store.add_indexers({"labels": wrong})


def test_an_index_function_may_return_any_number_of_values() -> None:
    store = filled(label=lambda obj: (f"{key}={value}" for key, value in obj.metadata.labels.items()))
    assert store.index_keys("label", "tier=front") == ["shop/a"]
    assert names(store.index("label", config_map("z", app="web", tier="front"))) == ["a", "b"]


SELECTORS = {
    "app=web": ["a", "b"],
    "app==web,tier=front": ["a"],
    "app in (web, db)": ["a", "b", "c"],
    "app notin (web)": ["c"],
    "app!=web": ["c"],
    "tier": ["a"],
    "!tier": ["b", "c"],
    "": ["a", "b", "c"],
    "app=nothing": [],
}


@pytest.mark.parametrize("selector", SELECTORS)
def test_a_lister_selects_like_the_server(selector: str) -> None:
    lister: Lister[ConfigMap] = Lister(filled(), "configmaps")
    assert names(lister.list(selector)) == SELECTORS[selector]
    assert names(lister.namespace("shop").list(selector)) == [name for name in SELECTORS[selector] if name != "c"]


def test_a_selector_may_be_given_as_labels() -> None:
    lister: Lister[ConfigMap] = Lister(filled(), "configmaps")
    assert names(lister.list({"app": "web"})) == ["a", "b"]
    assert names(lister.list()) == ["a", "b", "c"]


def test_an_invalid_selector_is_rejected() -> None:
    lister: Lister[ConfigMap] = Lister(filled(), "configmaps")
    with pytest.raises(SelectorError):
        lister.list("app in web")
    with pytest.raises(SelectorError):
        lister.namespace("shop").list("=")


def test_a_lister_raises_not_found_for_a_missing_object() -> None:
    lister: Lister[ConfigMap] = Lister(filled(), "configmaps")
    assert lister.namespace("shop").get("a").metadata.name == "a"
    assert lister.get("shop/a").metadata.name == "a"
    with pytest.raises(NotFoundError, match='configmaps "z" not found in the cache') as caught:
        lister.namespace("shop").get("z")
    assert (caught.value.namespace, caught.value.name, caught.value.code) == ("shop", "z", 404)
    with pytest.raises(NotFoundError):
        lister.get("a")  # it is namespaced, and no namespace is given
    assert lister.namespace("nowhere").list() == []


def test_a_cluster_scoped_object_is_found_by_its_name() -> None:
    store: MutableIndexer[Namespace] = MutableIndexer(Namespace)
    store.add(Namespace.new("shop"))
    lister: Lister[Namespace] = Lister(store, "namespaces")
    assert lister.get("shop").metadata.name == "shop"
    assert store.list_index_values("namespace") == []


def test_an_indexer_is_a_store_and_only_a_mutable_one_is_filled_by_its_owner() -> None:
    assert isinstance(filled(), Indexer)
    assert issubclass(Indexer, Store)
    assert not {"add", "update", "delete", "replace"} & set(dir(Indexer))
    assert not {"index", "by_index", "add_indexers"} & set(dir(Store))
