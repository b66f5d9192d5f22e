"""Errors of listers and indexers: messages, and objects that are left out."""

from __future__ import annotations

import logging
import pickle
from collections.abc import Callable
from typing import Any, TypeAlias

import pytest

from masthead._cache.store.indexer import Indexer
from masthead._cache.store.lister import Lister
from masthead._cache.store.mutable_indexer import MutableIndexer
from masthead._sansio.store import IndexedStore
from masthead.api.core.v1 import ConfigMap, ConfigMapList, Namespace
from masthead.errors import ArgumentError, NotFoundError

Lookup: TypeAlias = Callable[[], ConfigMap]

BROKEN_LABELS = b"""{"metadata": {"resourceVersion": "3"}, "items": [
    {"metadata": {"name": "good", "namespace": "shop", "labels": {"app": "web"}}},
    {"metadata": {"name": "bad", "namespace": "shop", "labels": {"app": 5}}},
    {"metadata": {"name": "other", "namespace": "shop", "labels": {"app": "db"}}}]}"""


def maps_of(*names: str) -> MutableIndexer[ConfigMap]:
    store: MutableIndexer[ConfigMap] = MutableIndexer(ConfigMap)
    for name in names:
        store.add(ConfigMap.new(name, namespace="shop"))
    return store


def test_an_object_with_undecodable_labels_matches_no_selector(caplog: pytest.LogCaptureFixture) -> None:
    store = maps_of()
    store.replace(ConfigMapList.from_wire(BROKEN_LABELS, on_error=lambda _: None).items, "3")
    lister: Lister[ConfigMap] = Lister(store, "configmaps")
    assert len(lister.list()) == 3
    with caplog.at_level(logging.DEBUG, "masthead.cache"):
        assert [obj.metadata.name for obj in lister.list("app=web")] == ["good"]
        assert [obj.metadata.name for obj in lister.namespace("shop").list("app!=web")] == ["other"]
    assert [record.levelname for record in caplog.records] == ["DEBUG", "DEBUG"]
    assert "'shop/bad' matches no selector" in caplog.text


def test_a_missing_object_is_reported_as_not_in_the_cache() -> None:
    lister: Lister[ConfigMap] = Lister(maps_of("a"), "configmaps")
    lookups: list[Lookup] = [lambda: lister.namespace("shop").get("z"), lambda: lister.get("shop/z")]
    for lookup in lookups:
        with pytest.raises(NotFoundError, match=r'"z" not found in the cache .*\. It is not in the store') as caught:
            lookup()
        assert "definition" not in str(caught.value)  # the advice of a server
        assert (caught.value.code, caught.value.reason, caught.value.namespace) == (404, "NotFound", "shop")
        assert str(pickle.loads(pickle.dumps(caught.value))) == str(caught.value)


def test_a_namespaced_object_is_not_found_without_its_namespace() -> None:
    lister: Lister[ConfigMap] = Lister(maps_of("a"), "configmaps")
    with pytest.raises(NotFoundError, match=r"The configmaps live in namespaces: lister\.namespace\("):
        lister.get("a")
    nothing: Lister[Namespace] = Lister(MutableIndexer(Namespace), "namespaces")
    with pytest.raises(NotFoundError, match="It is not in the store"):
        nothing.get("shop")


def test_before_the_sync_a_missing_object_is_an_error_that_advises_to_wait() -> None:
    synced: list[bool] = []
    lister: Lister[ConfigMap] = Lister(maps_of(), "configmaps", lambda: bool(synced))
    lookups: list[Lookup] = [lambda: lister.namespace("shop").get("a"), lambda: lister.get("a")]
    for lookup in lookups:
        with pytest.raises(NotFoundError, match=r"has not synced yet; wait_for_cache_sync\(\) first"):
            lookup()
    synced.append(True)
    with pytest.raises(NotFoundError, match="It is not in the store"):
        lister.namespace("shop").get("a")


@pytest.mark.parametrize("namespace", [None, "shop"])
def test_a_list_before_the_sync_warns_at_the_callers_line(namespace: str | None) -> None:
    synced: list[bool] = []
    every: Lister[ConfigMap] = Lister(maps_of(), "configmaps", lambda: bool(synced))
    lister = every if namespace is None else every.namespace(namespace)
    with pytest.warns(
        RuntimeWarning, match=r"configmaps are listed before .* synced.*wait_for_cache_sync\(\)"
    ) as caught:
        assert lister.list() == []
    assert caught[0].filename == __file__
    synced.append(True)
    assert lister.list() == []  # warnings are errors here


def test_the_servers_own_message_is_unchanged() -> None:
    with pytest.raises(NotFoundError):
        Lister(maps_of(), "configmaps").get("a")
    assert "Check the name" in str(NotFoundError("no", verb="get", resource="configmaps"))


def test_get_rejects_a_key_that_is_not_an_object() -> None:
    key: Any = "shop/a"
    with pytest.raises(ArgumentError, match=r"get takes an object.*str.*get_by_key"):
        maps_of("a").get(key)


def test_listers_have_a_readable_repr() -> None:
    store = maps_of("a", "b")
    lister: Lister[ConfigMap] = Lister(store, "configmaps")
    assert repr(lister) == "<Lister of configmaps, 2 objects>"
    assert repr(lister.namespace("shop")) == "<NamespaceLister of configmaps in shop, 2 objects>"
    assert repr(lister.namespace("bank")) == "<NamespaceLister of configmaps in bank, 0 objects>"
    assert repr(maps_of("a")) == "<MutableIndexer: 1 object, indexed by namespace>"
    store.add_indexers({"app": lambda obj: [obj.metadata.labels.get("app", "")]})
    assert repr(store) == "<MutableIndexer: 2 objects, indexed by namespace, app>"
    bare: Indexer[Any] = Indexer(IndexedStore(opened=lambda stored: stored), store._storage)
    assert repr(bare) == "<Indexer: 0 objects, indexed by nothing>"
