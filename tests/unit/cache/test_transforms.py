"""Transforms: the remaining fields of an object, its size, and invalid transforms."""

from __future__ import annotations

import functools
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, cast

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.meta.samples import NEWER, WEB

from masthead._cache.store.transforms import apply, compose, describe, drop_managed_fields, keep_fields
from masthead._meta.unstructured import Unstructured
from masthead._meta.v1 import PartialObjectMetadata
from masthead.api.core.v1 import ConfigMap, Pod
from masthead.errors import ArgumentError, SnapshotError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._meta.object import Object

IDENTITY = {"name": "web", "namespace": "shop", "uid": "u-1", "resourceVersion": "7"}
DATA: dict[str, Any] = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {
        **IDENTITY,
        "labels": {"app": "web"},
        "annotations": {"note": "keep out"},
        "managedFields": [{"manager": "kubectl", "fieldsV1": {"f:spec": {}}}],
    },
    "spec": {
        "nodeName": "node-1",
        "containers": [{"name": "a", "image": "nginx", "env": [{"name": "X"}]}, {"name": "b"}],
    },
    "status": {"phase": "Running", "conditions": [{"type": "Ready", "status": "True"}]},
}


def of(cls: type[Object], data: object = DATA) -> Object:
    return cls.from_wire(json.dumps(data, separators=(",", ":")).encode())


def bytes_behind(obj: Object) -> dict[str, Any]:
    """The decoded bytes of an object."""
    return cast("dict[str, Any]", json.loads(obj.wire_bytes or b"null"))


both = pytest.mark.parametrize("cls", [Pod, Unstructured])


@both
def test_dropping_managed_fields_keeps_everything_else(cls: type[Object]) -> None:
    obj = of(cls)
    dropped = drop_managed_fields(obj)
    metadata = {name: value for name, value in DATA["metadata"].items() if name != "managedFields"}
    assert type(dropped) is type(obj)
    assert bytes_behind(dropped) == {**DATA, "metadata": metadata}
    assert not dropped.is_modified()


@both
def test_an_object_without_managed_fields_is_unchanged(cls: type[Object]) -> None:
    once = drop_managed_fields(of(cls))
    assert drop_managed_fields(once) is once


def test_fields_of_a_newer_server_survive_dropping() -> None:
    managed = NEWER.replace(b'{"name":"web"', b'{"managedFields":[{"manager":"x"}],"name":"web"', 1)
    assert json.loads(drop_managed_fields(Pod.from_wire(managed)).to_json()) == {
        "apiVersion": "v1",
        "kind": "Pod",
        **json.loads(NEWER),
    }


@both
def test_other_fields_are_dropped(cls: type[Object]) -> None:
    kept = keep_fields("metadata.labels", "spec.nodeName", "status.conditions")(of(cls))
    assert bytes_behind(kept) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {**IDENTITY, "labels": {"app": "web"}},
        "spec": {"nodeName": "node-1"},
        "status": {"conditions": [{"type": "Ready", "status": "True"}]},
    }
    assert not kept.is_modified()


@both
def test_a_path_goes_through_lists(cls: type[Object]) -> None:
    kept = keep_fields("spec.containers.image", "spec.containers.env.name")(of(cls))
    assert bytes_behind(kept)["spec"] == {"containers": [{"image": "nginx", "env": [{"name": "X"}]}, {}]}


def test_without_paths_the_identity_remains() -> None:
    assert bytes_behind(keep_fields()(of(Pod))) == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": IDENTITY,
    }


def test_a_path_to_a_section_wins_over_one_inside_it() -> None:
    for paths in (("spec", "spec.nodeName"), ("spec.nodeName", "spec")):
        assert bytes_behind(keep_fields(*paths)(of(Pod)))["spec"] == DATA["spec"]


def test_metadata_only_objects_are_trimmed_too() -> None:
    data = {
        **DATA,
        "apiVersion": "meta.k8s.io/v1",
        "kind": "PartialObjectMetadata",
        "spec": None,
        "status": None,
    }
    kept = keep_fields("metadata.labels")(of(PartialObjectMetadata, data))
    assert bytes_behind(kept)["metadata"] == {**IDENTITY, "labels": {"app": "web"}}


def test_an_item_gets_the_kind_that_only_its_list_named() -> None:
    item = Unstructured.from_wire(WEB.replace(b'"apiVersion":"v1","kind":"Pod",', b""))
    item.api_version, item.kind = "v1", "Pod"
    for transform in (drop_managed_fields, keep_fields("spec.nodeName")):
        done = transform(item)
        assert (done.api_version, done.kind) == ("v1", "Pod")
        assert bytes_behind(done)["kind"] == "Pod"


def test_an_object_created_locally_can_be_transformed() -> None:
    made = Pod.new("web", labels={"a": "b"}, spec={"nodeName": "n", "hostNetwork": True})
    assert keep_fields("spec.nodeName")(made).spec.node_name == "n"
    assert keep_fields("spec.nodeName")(made).spec.host_network is None
    assert drop_managed_fields(made) is made


# Names that meet often, so that paths lead through all kinds of values.
names = st.sampled_from(["spec", "a", "b", "c"])
values = st.recursive(
    st.none() | st.booleans() | st.integers(0, 9) | st.text("xyz", max_size=3),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(names, inner, max_size=3),
    max_leaves=12,
)
paths = st.lists(st.lists(names, min_size=1, max_size=3).map(".".join), max_size=4)


def cut(value: object, steps: list[list[str]]) -> object:
    """What paths leave of a value: the rule, written as plainly as can be. A list in a list is like one list."""
    if isinstance(value, list):
        return [cut(item, steps) for item in value if isinstance(item, dict | list)]
    result: dict[str, object] = {}
    for name, field in cast("dict[str, object]", value).items():
        below = [path[1:] for path in steps if path[0] == name]
        if [] in below or (below and field is None):
            result[name] = field
        elif below and isinstance(field, dict | list):
            result[name] = cut(field, below)
    return result


@given(content=st.dictionaries(names, values, max_size=4), wanted=paths)
def test_keep_fields_keeps_exactly_the_fields_at_the_paths(content: dict[str, object], wanted: list[str]) -> None:
    data = {"apiVersion": "x/v1", "kind": "Thing", "metadata": IDENTITY, **content}
    transform = keep_fields(*wanted)
    kept = transform(of(Unstructured, data))
    expected = cut(content, [path.split(".") for path in wanted])
    assert bytes_behind(kept) == {
        "apiVersion": "x/v1",
        "kind": "Thing",
        "metadata": IDENTITY,
        **cast("dict[str, object]", expected),
    }
    assert transform(kept).wire_bytes == kept.wire_bytes


def test_numbers_keep_all_digits() -> None:
    text = b'{"metadata":{"name":"web"},"spec":{"a":123456789012345678901234567890,"b":1.50},"c":7}'
    kept = keep_fields("spec.a", "spec.b", "c.x")(Unstructured.from_wire(text))
    assert kept.wire_bytes == text.replace(b',"c":7', b"")


@pytest.mark.parametrize("path", ["", ".", "spec.", ".spec", "a..b", "spec.containers[0]", "a b", "$.spec.*", None, 7])
def test_an_invalid_path_is_rejected_immediately(path: Any) -> None:
    with pytest.raises(ArgumentError, match="is not a field path"):
        keep_fields("spec.nodeName", path)


def change_in_place(pod: Pod) -> Pod:
    pod.metadata.managed_fields = []
    pod.spec.node_name = "elsewhere"
    return pod


def test_a_change_in_place_is_encoded() -> None:
    pod = cast("Pod", of(Pod))
    done = apply(change_in_place, pod)
    assert done.spec.node_name == "elsewhere"
    assert bytes_behind(done)["spec"]["nodeName"] == "elsewhere"
    assert bytes_behind(done)["metadata"]["managedFields"] == []
    assert not done.is_modified()


def test_an_unchanged_object_stays_the_same_object() -> None:
    pod = cast("Pod", of(Pod))
    assert apply(lambda same: same, pod) is pod


def test_a_transform_sees_the_changes_of_the_previous_one() -> None:
    both = compose(change_in_place, keep_fields("spec.nodeName"))
    done = apply(both, cast("Pod", of(Pod)))
    assert bytes_behind(done)["spec"] == {"nodeName": "elsewhere"}
    assert apply(both, done).wire_bytes == done.wire_bytes


def renamed(pod: Pod) -> Pod:
    pod.metadata.name = "other"
    return pod


@pytest.mark.parametrize(
    ("transform", "problem"),
    [
        (lambda _: None, "a NoneType"),
        (lambda pod: pod.to_json(), "a bytes"),
        (lambda _: ConfigMap.new("web"), "a ConfigMap"),
        (renamed, "something else"),
        (lambda _: Pod.new("web", namespace="shop"), "something else"),
    ],
)
def test_a_transform_that_returns_another_object_is_rejected(transform: Any, problem: str) -> None:
    with pytest.raises(ArgumentError, match=f'the transform of Pod "shop/web" returned {problem}'):
        apply(transform, of(Pod))


def test_errors_of_a_transform_pass_through() -> None:
    def fail(_: Pod) -> Pod:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        apply(compose(drop_managed_fields, fail), cast("Pod", of(Pod)))


def test_a_description_is_the_same_in_every_process() -> None:
    @dataclass
    class Without:
        label: str

        def __call__(self, pod: Pod) -> Pod:
            return pod

    assert describe(None) == ""
    assert describe(keep_fields("spec.nodeName", "metadata.labels")) == (
        "keep_fields('spec.nodeName', 'metadata.labels')"
    )
    assert describe(change_in_place) == f"{__name__}.change_in_place"
    assert describe(Without("app")).endswith("Without(label='app')")
    assert describe(compose(drop_managed_fields, change_in_place)) == (
        f"compose(drop_managed_fields, {__name__}.change_in_place)"
    )


def test_a_transform_without_a_name_can_be_composed_but_not_described() -> None:
    class Nameless:
        def __call__(self, pod: Pod) -> Pod:
            return pod

    def made(label: str) -> Callable[[Pod], Pod]:
        def without(pod: Pod) -> Pod:
            pod.metadata.labels.pop(label, None)
            return pod

        return without

    def without(secret: str, pod: Pod) -> Pod:  # noqa: ARG001 - what matters is that there is something to give
        return pod

    nameless: list[Callable[[Pod], Pod]] = [
        lambda pod: pod,
        functools.partial(without, "hunter2"),
        Nameless(),
        Nameless().__call__,
        made("app"),
    ]
    for unnamed in nameless:
        for transform in (unnamed, compose(drop_managed_fields, unnamed)):
            with pytest.raises(SnapshotError, match="define it with def") as caught:
                describe(transform)
            assert "hunter2" not in str(caught.value)
            assert repr(transform)
