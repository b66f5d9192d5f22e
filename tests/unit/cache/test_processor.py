"""The order in which the changes of one pop reach the handlers."""

from __future__ import annotations

from masthead._cache.informer.handlers import EventHandler
from masthead._cache.informer.processor import SharedProcessor
from masthead._cache.informer.processor_listener import ProcessorListener
from masthead._cache.store.storage import ObjectStorage, Stored, storage_for
from masthead._meta.metadata import ObjectMeta
from masthead._sansio.changes import Delta, DeltaType, SyncAll
from masthead.api.core.v1 import ConfigMap


def stored(storage: ObjectStorage[ConfigMap], version: str) -> Stored:
    return storage.pack(ConfigMap(metadata=ObjectMeta(name="a", uid="1", resource_version=version)))


def test_a_resync_is_not_overtaken_by_an_update_of_the_same_pop() -> None:
    storage = storage_for("eager", ConfigMap)
    processor = SharedProcessor(storage, {}, ("",), name="test")
    listeners = [
        ProcessorListener(EventHandler[ConfigMap](), storage, name=name, limit=100) for name in ("due", "other")
    ]
    for listener in listeners:
        processor.add_listener(listener.name, listener)
    processor.due = frozenset({"due"})
    processor.process([Delta(DeltaType.ADDED, "a", stored(storage, "1"), "1")], is_initial=False)
    for listener in listeners:
        listener.take()

    processor.process(
        [
            Delta(DeltaType.UPDATED, "a", stored(storage, "2"), "2"),
            Delta(DeltaType.SYNC, "a", stored(storage, "2")),
            Delta(DeltaType.UPDATED, "a", stored(storage, "3"), "3"),
        ],
        is_initial=False,
    )

    due, other = [
        [(storage.version(notification.old), storage.version(notification.new)) for notification in listener.take()]
        for listener in listeners
    ]
    assert due == [("1", "2"), ("2", "2"), ("2", "3")]
    assert other == [("1", "2"), ("2", "3")]


def test_a_resync_dispatches_the_stored_state_and_no_deleted_object() -> None:
    storage = storage_for("eager", ConfigMap)
    processor = SharedProcessor(storage, {}, ("",), name="test")
    listener = ProcessorListener(EventHandler[ConfigMap](), storage, name="due", limit=100)
    processor.add_listener("due", listener)
    processor.due = frozenset({"due"})
    for key in ("a", "b"):
        processor.process([Delta(DeltaType.ADDED, key, stored(storage, "1"), "1")], is_initial=False)
    processor.process([Delta(DeltaType.UPDATED, "a", stored(storage, "2"), "2")], is_initial=False)
    processor.process([Delta(DeltaType.DELETED, "b", stored(storage, "3"), "3")], is_initial=False)
    listener.take()

    for _ in processor.process([SyncAll()], is_initial=False) or ():
        pass

    assert [
        (notification.key, storage.version(notification.old), storage.version(notification.new))
        for notification in listener.take()
    ] == [("a", "2", "2")]
