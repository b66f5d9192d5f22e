"""Object storages: each of the three returns the objects that were stored."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.meta.samples import NEWER, WEB, held

from masthead._cache.store.storage import Hold, bytes_of, storage_for
from masthead._meta.unstructured import Unstructured, UnstructuredList
from masthead._meta.v1 import PartialObjectMetadata
from masthead.api.core.v1 import ConfigMap, Pod
from masthead.errors import ArgumentError, DecodeError

if TYPE_CHECKING:
    from masthead._meta.object import Object

WAYS: tuple[Hold, ...] = ("lazy", "eager", "compact")
every_way = pytest.mark.parametrize("way", WAYS)

BROKEN = b'{"metadata":{"name":"web","namespace":"shop","resourceVersion":"7"},"spec":{"containers":7}}'


def through(way: Hold, obj: Object) -> Object:
    """An object as a cache gives it."""
    storage = storage_for(way, type(obj))
    return storage.unpack(storage.pack(obj))


@every_way
@pytest.mark.parametrize("data", [WEB, NEWER])
def test_an_object_is_loaded_as_it_was_stored(way: Hold, data: bytes) -> None:
    opened = through(way, Pod.from_wire(data))
    assert type(opened).api_type is Pod
    assert opened == Pod.from_wire(data)
    assert opened.wire_bytes == data


@every_way
@given(
    name=st.text("abc-", min_size=1),
    content=st.dictionaries(st.text(), st.text()),
    version=st.text("0123456789abc/"),
)
def test_an_object_created_locally_is_loaded_equal_and_with_bytes(
    way: Hold, name: str, content: dict[str, str], version: str
) -> None:
    made = ConfigMap.from_dict({"metadata": {"name": name, "resourceVersion": version}, "data": content})
    storage = storage_for(way, ConfigMap)
    kept = storage.pack(made)
    assert storage.unpack(kept) == made
    assert not storage.unpack(kept).is_modified()
    assert storage.version(kept) == version


@every_way
def test_version_and_uid_are_readable(way: Hold) -> None:
    storage = storage_for(way, Pod)
    kept = storage.pack(Pod.from_wire(b'{"metadata":{"name":"a","resourceVersion":"12","uid":"u-1"}}'))
    assert (storage.version(kept), storage.uid(kept)) == ("12", "u-1")


@every_way
def test_an_item_keeps_the_kind_that_only_its_list_named(way: Hold) -> None:
    [item] = UnstructuredList.from_wire(b'{"items":[{"metadata":{"name":"a"},"spec":{"x":[1]}}]}').items
    item.api_version, item.kind = "v1", "Pod"  # as the client does
    opened = through(way, item)
    assert isinstance(opened, Unstructured)
    assert (opened.api_version, opened.kind, opened["spec"]) == ("v1", "Pod", {"x": [1]})


@every_way
def test_metadata_only_objects_can_be_stored(way: Hold) -> None:
    data = b'{"kind":"PartialObjectMetadata","apiVersion":"meta.k8s.io/v1","metadata":{"name":"a","labels":{"x":"y"}}}'
    assert through(way, PartialObjectMetadata.from_wire(data)).metadata.labels == {"x": "y"}


def test_lazy_storage_keeps_the_object_itself_and_decodes_nothing() -> None:
    pod = Pod.from_wire(WEB)
    assert through("lazy", pod) is pod
    assert bytes(cast("bytes", held(pod, "spec"))).startswith(b'{"containers"')


def test_eager_storage_decodes_everything_on_arrival() -> None:
    pod = Pod.from_wire(WEB)
    assert through("eager", pod) is pod
    assert held(pod, "spec") is pod.spec
    assert held(pod, "status") is pod.status


def test_eager_storage_finds_an_undecodable_section() -> None:
    with pytest.raises(DecodeError, match=r'Pod "shop/web": spec.containers'):
        storage_for("eager", Pod).pack(Pod.from_wire(BROKEN))


def test_eager_storage_decodes_unstructured_objects_too() -> None:
    not_text = Unstructured.from_wire(b'{"metadata":{"name":"a"},"spec":{"x":"\xff"}}')
    with pytest.raises(DecodeError, match="spec: not UTF-8"):
        storage_for("eager", Unstructured).pack(not_text)


@pytest.mark.parametrize("way", ["lazy", "compact"])
def test_other_storages_leave_an_undecodable_section_to_the_reader(way: Hold) -> None:
    opened = through(way, Pod.from_wire(BROKEN))
    assert opened.metadata.name == "web"
    with pytest.raises(DecodeError, match=r"spec.containers"):
        _ = cast("Pod", opened).spec


@every_way
def test_an_object_that_cannot_be_encoded_cannot_be_stored(way: Hold) -> None:
    made = Unstructured.new("a", api_version="v1", kind="Widget")
    made["spec"] = {"x": object()}
    with pytest.raises(ArgumentError, match="cannot be encoded as JSON"):
        storage_for(way, Unstructured).pack(made)


def test_a_received_object_keeps_its_bytes() -> None:
    pod = Pod.from_wire(WEB)
    assert bytes_of(pod) is pod.wire_bytes


def test_an_unknown_storage_is_rejected_with_the_valid_names() -> None:
    with pytest.raises(ArgumentError, match='"lazy", "eager" or "compact"'):
        storage_for(cast("Hold", "zipped"), Pod)
