"""Detection of mutations of shared objects."""

from __future__ import annotations

from typing import Any, cast

import pytest
from tests.unit.meta.samples import WEB

from masthead._cache.informer.mutation_detector import (
    VARIABLE,
    MutationDetector,
    changed_paths,
    changed_sections,
    detector_for,
    is_on,
)
from masthead._cache.store.storage import Hold, Lazy, storage_for
from masthead._meta.unstructured import Unstructured
from masthead.api.core.v1 import ConfigMap, Pod, Secret
from masthead.errors import ConfigError, MutationError
from masthead.meta import Object


def check(objects: list[tuple[str, Object]]) -> None:
    detector = MutationDetector[Object](Lazy(), "test")
    detector.attach(lambda: objects)
    detector.check()


def web() -> Pod:
    return Pod.from_wire(WEB)


def test_reading_is_no_mutation() -> None:
    pod = web()
    assert pod.spec.containers[0].name == "web"
    assert pod.metadata.annotations == {}
    assert pod.status.message is None
    check([(pod.key, pod)])


def test_the_error_has_the_changed_section_and_advice() -> None:
    pod, other = web(), web()
    pod.spec.containers[0].image = "evil"
    with pytest.raises(MutationError, match=r"shop/web \(spec\.containers\[0\]\.image\)\. .*obj\.copy\(\)") as caught:
        check([("shop/web", pod), ("shop/other", other)])
    assert caught.value.keys == ("shop/web",)


def test_every_changed_section_is_reported() -> None:
    pod = web()
    pod.metadata.labels["new"] = "label"
    pod.status.phase = "Failed"
    assert changed_sections(pod) == ("metadata", "status")


def test_a_removed_or_added_section_is_a_mutation() -> None:
    thing = Unstructured.from_wire(b'{"apiVersion":"v1","kind":"X","metadata":{"name":"a"},"spec":1}')
    del thing["spec"]
    thing["extra"] = 2
    assert changed_sections(thing) == ("extra", "spec")


def test_five_keys_are_named_and_the_others_counted() -> None:
    pods: list[tuple[str, Object]] = [(f"shop/web-{number}", web()) for number in range(8)]
    for _, pod in pods[1:]:
        cast("Pod", pod).status.phase = "Failed"
    with pytest.raises(
        MutationError, match=r"shop/web-1 \(status\.phase\), .*shop/web-5 \(status\.phase\) and 2 more"
    ) as caught:
        check(pods)
    assert "web-6" not in str(caught.value)
    assert len(caught.value.keys) == 7


def test_a_value_of_a_wrong_type_is_detected_too() -> None:
    pod = web()
    cast("Any", pod.spec.containers).append("not a container")
    with pytest.raises(MutationError, match=r"shop/web \(spec"):
        check([("shop/web", pod)])
    loop = Unstructured.from_wire(b'{"metadata":{"name":"a"},"spec":{}}')
    loop["spec"]["x"] = object()
    with pytest.raises(MutationError, match="changed: a"):
        check([("a", loop)])


def test_the_changed_paths_are_reported() -> None:
    pod = web()
    pod.metadata.labels["new"] = "label"
    pod.spec.containers[0].image = "evil"
    pod.spec.containers[0].env.append(cast("Any", {"name": "X"}))
    assert changed_paths(pod) == ("metadata.labels.new", "spec.containers[0].env", "spec.containers[0].image")
    thing = Unstructured.from_wire(b'{"metadata":{"name":"a"},"spec":{"x":[1,2],"y":{"z":1}}}')
    thing["spec"]["x"][1] = 3
    del thing["spec"]["y"]["z"]
    assert changed_paths(thing) == ("spec.x[1]", "spec.y.z")


def test_values_are_never_reported() -> None:
    secret = Secret.from_wire(b'{"metadata":{"name":"s"},"data":{"password":"aHVudGVyMg=="}}')
    secret.data["password"] = b"correct horse"
    with pytest.raises(MutationError) as caught:
        check([("s", secret)])
    assert "hunter2" not in repr(caught.value)
    assert "correct" not in repr(caught.value)


def test_setting_the_kind_of_an_item_is_no_mutation() -> None:
    item = Unstructured.from_wire(b'{"metadata":{"name":"a"},"spec":{"x":1}}')
    item.api_version, item.kind = "v1", "Pod"
    check([("a", item)])
    item["spec"]["x"] = 2
    assert changed_sections(item) == ("spec",)


@pytest.mark.parametrize("way", ["lazy", "eager"])
def test_an_object_created_locally_is_checked_once_it_is_stored(way: Hold) -> None:
    storage = storage_for(way, ConfigMap)
    stored = storage.unpack(storage.pack(ConfigMap.new("a", data={"x": "1"})))
    check([("a", stored)])
    stored.data["x"] = "2"
    with pytest.raises(MutationError, match=r"a \(data\.x\)"):
        check([("a", stored)])


def test_an_object_that_a_compact_store_closes_is_compared() -> None:
    storage = storage_for("compact", ConfigMap)
    detector = detector_for(storage, "test", enabled=True)
    assert detector is not None
    first = storage.unpack(storage.pack(ConfigMap.from_dict({"metadata": {"name": "first"}, "data": {"x": "1"}})))
    first.data["x"] = "2"
    for number in range(600):
        storage.unpack(storage.pack(ConfigMap.new(f"other-{number}")))
    assert "first" not in [obj.key for _, obj in storage.opened(())]
    with pytest.raises(MutationError, match=r"first \(data\.x\)"):
        detector.check()


def test_only_open_objects_of_a_compact_store_are_compared() -> None:
    storage = storage_for("compact", ConfigMap)
    stored = [storage.pack(ConfigMap.new(f"m{number}")) for number in range(600)]
    assert storage.peek(stored[0]) is None
    assert list(storage.opened([("m0", stored[0])])) == []
    assert storage.peek(stored[0]) is storage.peek(stored[0])
    opened = storage.unpack(stored[0])
    assert storage.peek(stored[0]) is opened
    assert list(storage.opened([])) == [("m0", opened)]


@pytest.mark.parametrize(
    ("value", "on"),
    [("1", True), ("true", True), ("TRUE", True), ("0", False), ("false", False), ("", False)],
)
def test_the_environment_variable_enables_it(value: str, on: bool) -> None:
    assert is_on(environment={VARIABLE: value}) is on


def test_it_is_off_by_default() -> None:
    assert is_on(environment={}) is False


@pytest.mark.parametrize("explicit", [True, False])
def test_an_explicit_argument_wins(explicit: bool) -> None:
    assert is_on(explicit, {VARIABLE: "0" if explicit else "1"}) is explicit


def test_an_invalid_value_is_rejected() -> None:
    with pytest.raises(ConfigError, match='MASTHEAD_MUTATION_DETECTOR is "perhaps"'):
        is_on(environment={VARIABLE: "perhaps"})
