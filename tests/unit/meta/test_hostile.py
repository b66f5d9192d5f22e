"""Hostile and careless input."""

from __future__ import annotations

import contextlib
import copy
import pickle
import threading
from typing import TYPE_CHECKING, Any, cast

import pytest

from masthead._meta import yaml
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.model import Struct, field, unknown_fields
from masthead._meta.object import Object
from masthead._meta.patch import Patch, merge_patch
from masthead._meta.unstructured import Unstructured, UnstructuredList
from masthead.api.apiextensions.v1 import JSONSchemaProps
from masthead.api.apps.v1 import StatefulSet
from masthead.api.core.v1 import ConfigMap, Container, EnvVar, Pod, PodList, ResourceRequirements, Secret
from masthead.api.networking.v1 import NetworkPolicy
from masthead.errors import ArgumentError, DecodeError, MastheadError

if TYPE_CHECKING:
    from collections.abc import Callable

# -- What is set is written, and noticed ------------------------------------------------------------------------


def test_an_explicit_empty_list_is_a_change_and_is_written() -> None:
    policy = NetworkPolicy.from_wire(b'{"metadata":{"name":"a"},"spec":{"podSelector":{}}}')
    policy.spec.ingress = []

    assert policy.is_modified()
    assert policy.to_dict()["spec"] == {"podSelector": {}, "ingress": []}


def test_an_explicit_zero_and_an_explicit_empty_type_are_changes_too() -> None:
    pod = Pod.from_wire(b'{"spec":{"containers":[{"name":"c","ports":[{}]}]}}')
    pod.spec.containers[0].ports[0].container_port = 0
    policy = NetworkPolicy.from_wire(b'{"spec":{"policyTypes":["x"]}}')
    policy.spec.pod_selector = {}  # type: ignore[assignment]

    assert pod.to_dict()["spec"]["containers"][0]["ports"] == [{"containerPort": 0}]
    assert policy.to_dict()["spec"] == {"policyTypes": ["x"], "podSelector": {}}


def test_removing_an_explicit_zero_is_a_change() -> None:
    pod = Pod.from_wire(b'{"status":{"containerStatuses":[{"name":"c","restartCount":0}]}}')
    del pod.status.container_statuses[0].restart_count

    assert pod.is_modified()
    assert pod.to_dict()["status"] == {"containerStatuses": [{"name": "c"}]}


def test_an_unstructured_object_detects_an_explicit_empty_map_and_a_bad_label() -> None:
    widget = Unstructured.from_wire(b'{"kind":"X","metadata":{"name":"a"}}')
    widget.metadata.labels = {}
    assert widget.is_modified()
    assert widget.to_dict()["metadata"] == {"name": "a", "labels": {}}

    widget.metadata.labels["a"] = 5  # type: ignore[assignment]
    with pytest.raises(DecodeError, match=r'metadata\.labels\["a"\]: expected a string'):
        widget.to_json()


def test_one_true_and_one_point_zero_are_three_things() -> None:
    widget = Unstructured.from_wire(b'{"kind":"X","spec":{"on":1}}')
    widget["spec"]["on"] = True

    assert widget.is_modified()
    assert widget.to_dict()["spec"] == {"on": True}
    assert Pod.from_wire(b'{"spec":{"zzz":1}}') != Pod.from_wire(b'{"spec":{"zzz":true}}')
    assert merge_patch({"a": 1}, {"a": True}) == {"a": True}


def test_a_change_inside_an_unknown_field_is_detected() -> None:
    pod = Pod.from_wire(b'{"spec":{"zzz":{"on":1}}}')
    unknown_fields(pod.spec)["zzz"]["on"] = True  # type: ignore[index]

    assert pod.to_dict()["spec"] == {"zzz": {"on": True}}


def test_reading_metadata_with_nulls_and_odd_layout_is_no_change() -> None:
    data = b'{"metadata":{"name":"a","labels":{ "x" : "\\u003c" },"ownerReferences":[{"uid":"u","controller":null}]}}'
    pod = Pod.from_wire(data)
    assert pod.metadata.labels == {"x": "<"}
    assert pod.metadata.owner_references[0].controller is None

    assert not pod.is_modified()


def test_setting_the_same_quantity_as_text_is_not_a_modification() -> None:
    pod = Pod.from_wire(b'{"spec":{"containers":[{"name":"c","resources":{"limits":{"cpu":"500m"}}}]}}')
    pod.spec.containers[0].resources.limits["cpu"] = "500m"  # type: ignore[assignment]

    assert not pod.is_modified()


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda pod: pod.metadata.labels.update(a=5), 'Pod "x": metadata.labels["a"]: expected a string'),
        (lambda pod: pod.spec.containers.append(5), 'Pod "x": spec.containers[0]: expected an object'),
        (
            lambda pod: pod.spec.containers.append({"name": 3}),
            'Pod "x": spec.containers[0].name: expected a string',
        ),
    ],
)
def test_an_invalid_item_of_a_list_or_map_raises_when_encoding(change: object, message: str) -> None:
    pod = Pod.new("x")
    assert callable(change)
    change(pod)

    with pytest.raises(DecodeError) as caught:
        pod.to_json()
    assert str(caught.value).startswith(message)


# -- Untyped objects, wherever they are -------------------------------------------------------------------------


class Holder(Struct):
    held: Unstructured | None = None


def test_untyped_objects_keep_their_sections_wherever_they_are() -> None:
    data = {
        "apiVersion": "v1",
        "kind": "List",
        "items": [{"apiVersion": "v1", "kind": "A", "spec": {"a": 1}}],
    }
    widget = Unstructured.from_wire(b'{"kind":"A","spec":{"x":1}}')

    for made in (
        UnstructuredList.from_dict(data),
        UnstructuredList.from_yaml(UnstructuredList.from_dict(data).to_yaml()),
    ):
        assert made.to_dict()["items"][0]["spec"] == {"a": 1}
    assert UnstructuredList(items=[{"kind": "A", "spec": {}}])[0]["spec"] == {}  # type: ignore[list-item]
    assert Holder(held=widget).to_dict()["held"]["spec"] == {"x": 1}
    assert Holder.from_dict({"held": {"kind": "A", "spec": {"y": 2}}}).to_dict()["held"]["spec"] == {"y": 2}


def test_a_list_of_untyped_objects_remembers_what_it_is() -> None:
    data = b'{"kind":"List","apiVersion":"v1","items":[{"kind":"Pod","x":1}],"zz":1}'

    for made in (
        UnstructuredList.from_wire(data),
        UnstructuredList.from_dict({"kind": "List", "apiVersion": "v1"}),
    ):
        assert (made.kind, made.api_version) == ("List", "v1")
        assert made.copy().kind == "List"


def test_null_metadata_is_accepted() -> None:
    widget = Unstructured.from_wire(b'{"kind":"X","metadata":null}')

    assert widget.copy() == widget == pickle.loads(pickle.dumps(widget))


def test_an_unstructured_object_names_the_object_with_invalid_metadata() -> None:
    with pytest.raises(DecodeError, match=r'"n": metadata\.generation'):
        Unstructured.from_wire(b'{"kind":"X","metadata":{"name":"n","generation":"x"}}')


# -- Nothing but our errors -------------------------------------------------------------------------------------

DEEP = b"[" * 900 + b"]" * 900


def deep_schema(depth: int) -> dict[str, object]:
    schema: dict[str, object] = {}
    for _ in range(depth):
        schema = {"not": schema}
    return schema


def into_itself() -> bytes:
    loop: dict[str, object] = {}
    loop["s"] = loop
    widget = Unstructured.new("x")
    widget["spec"] = loop
    return widget.to_json()


def bad_copy() -> object:
    requirements = ResourceRequirements()
    requirements.requests["a"] = "zz"  # type: ignore[assignment]
    return requirements.copy()


@pytest.mark.parametrize(
    "attempt",
    [
        lambda: Pod.from_wire(b'{"kind":{"a":1}}'),
        lambda: Pod.from_dict({"kind": [1]}),
        lambda: Pod.from_yaml("kind: [Pod]"),
        lambda: Pod.from_wire(b'{"spec":{"nodeName":"\xff"}}').to_dict(),
        bad_copy,
        lambda: Unstructured.from_yaml("kind: X\nspec: !!bool foo"),
        lambda: Unstructured.from_yaml("kind: X\nspec: !!timestamp foo"),
        lambda: Unstructured.from_yaml('kind: X\nspec: !!int ""'),
        lambda: Unstructured.from_yaml("kind: X\nspec: !!set {a}"),
        lambda: Unstructured.from_yaml("kind: X\nspec: {a: .nan}"),
        lambda: Unstructured.from_yaml("kind: X\nspec: {a: 1e400}"),
        lambda: Unstructured.from_yaml("kind: X\nspec: {0x1: a, 1: b}"),
        lambda: Unstructured.from_yaml("kind: X\nspec: {on: 1}"),
        lambda: Pod.from_yaml("spec: " + "[" * 30_000),
        into_itself,
        lambda: Pod.new(5),  # type: ignore[arg-type]
        lambda: Pod.new("x", labels={"a": 5}),  # type: ignore[dict-item]
        lambda: Pod.new("x", labels={5: "a"}),  # type: ignore[dict-item]
        lambda: Pod.new("x", labels=["a"]),  # type: ignore[arg-type]
    ],
)
def test_bad_input_raises_our_errors_only(attempt: object) -> None:
    assert callable(attempt)
    with pytest.raises(MastheadError):
        attempt()


def test_deep_yaml_does_not_bring_down_a_thread_with_a_small_stack() -> None:
    caught: list[Exception] = []

    def read() -> None:
        try:
            Pod.from_yaml("spec: " + "[" * 30_000)
        except DecodeError as error:
            caught.append(error)

    standing = threading.stack_size(256 * 1024)
    try:
        thread = threading.Thread(target=read)
        thread.start()
        thread.join()
    finally:
        threading.stack_size(standing)

    assert len(caught) == 1


def test_deep_objects_that_were_read_can_be_shown_copied_and_compared() -> None:
    one, other = (Pod.from_wire(b'{"zzz":' + DEEP + b"}") for _ in range(2))

    assert repr(one)
    assert not one.is_modified()
    assert one == one.copy()
    assert one == other


def test_deep_data_is_built_or_raises_our_error() -> None:
    with contextlib.suppress(DecodeError):  # it depends on how deep we are ourselves
        JSONSchemaProps.from_dict(deep_schema(900))
    with contextlib.suppress(DecodeError):
        JSONSchemaProps(not_=deep_schema(900))  # type: ignore[arg-type]


def test_a_deep_modified_object_is_encoded_or_raises_our_error() -> None:
    widget = Unstructured.from_wire(b'{"kind":"X","spec":' + DEEP + b"}")
    widget["spec"].append(1)

    with contextlib.suppress(ArgumentError):  # it depends on how deep we are ourselves
        assert widget.to_json().endswith(b",1]}")


@pytest.mark.slow
def test_long_keys_and_long_lists_cost_no_more_than_their_length() -> None:
    text = "kind: X\nspec:\n  ? " + "a" * 100_000 + "\n  : [" + "0," * 100_000 + "0]\n"

    assert len(yaml.load_all(text)) == 1


def test_a_double_key_among_many_is_found_quickly() -> None:
    keys = b",".join(b'"k%d":"v"' % number for number in range(100_000))

    with pytest.raises(DecodeError, match='the key "k99999" appears twice'):
        ConfigMap.from_json(b'{"kind":"ConfigMap","data":{' + keys + b',"k99999":"v"}}')


def test_thousands_of_unknown_fields_are_kept() -> None:
    data = {f"not a name {number}": number for number in range(3000)}

    assert Container.from_dict(data).to_dict() == data


def test_a_broken_item_of_any_kind_is_set_aside() -> None:
    broken: list[DecodeError] = []
    data = b'{"kind":"PodList","items":[{"kind":{"a":1}},{"metadata":{"name":"ok"}}]}'

    assert [pod.key for pod in PodList.from_wire(data, on_error=broken.append)] == ["ok"]
    assert len(broken) == 1


def test_a_broken_object_is_unequal_not_an_obstacle() -> None:
    broken = Pod.from_wire(b'{"spec":5}')

    assert broken != Pod()
    assert broken == broken  # noqa: PLR0124
    assert [Pod(), broken].index(broken) == 1


def test_a_buffer_that_is_used_again_does_not_change_what_was_read() -> None:
    buffer = bytearray(b'{"metadata":{"name":"a"},"spec":{"nodeName":"x"}}')
    pod = Pod.from_wire(cast("Any", buffer))
    buffer[buffer.find(b'"x"') : buffer.find(b'"x"') + 3] = b'"y"'

    assert pod.spec.node_name == "x"
    assert type(pod.wire_bytes) is bytes


def test_plain_data_put_into_a_list_of_objects_is_built_when_it_is_written() -> None:
    pods = PodList()
    pods.items.append({"metadata": {"name": "a"}})  # type: ignore[arg-type]

    assert pods.to_dict()["items"] == [{"metadata": {"name": "a"}}]


# -- Classes of one's own ---------------------------------------------------------------------------------------


class OwnSpec(Struct):
    size: int = 0


class OwnPod(Pod):
    GVK = GroupVersionKind("example.com", "v1", "OwnPod")

    spec: OwnSpec = field(default_factory=OwnSpec)  # type: ignore[assignment]


def test_a_section_of_a_base_class_can_be_declared_anew() -> None:
    own = OwnPod.from_json(b'{"kind":"OwnPod","spec":{"size":3},"status":{"phase":"Failed"}}')

    assert own.spec.size == 3
    assert own.status.phase == "Failed"
    assert copy.copy(own) == own


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (
            {"__annotations__": {"a": list[str]}, "a": field(default_factory=lambda: ["z"])},
            "cannot make a default",
        ),
    ],
)
def test_a_default_that_could_not_be_kept_is_refused_at_once(body: dict[str, object], message: str) -> None:
    for base in (Struct, Object):
        with pytest.raises(TypeError, match=message):
            cast("Any", type(base))("Made", (base,), {"__module__": __name__, **body})


# -- Secrets and hints ------------------------------------------------------------------------------------------


def test_secrets_do_not_show_in_repr_or_errors() -> None:
    shown = repr(Secret.new("x", string_data={"password": "hunter2"})) + repr(Patch.merge({"password": "hunter2"}))
    with pytest.raises(DecodeError) as caught:
        Secret.new("x", data={"password": "hunter2!"})  # type: ignore[dict-item]  # pyright: ignore[reportArgumentType]

    assert "hunter2" not in shown
    assert "hunter2" not in str(caught.value)
    assert 'data["password"]: expected base64 text, got a string' in str(caught.value)


def test_hints_name_what_can_be_typed() -> None:
    pod = Pod.new("x")

    with pytest.raises(AttributeError, match='has no field "nodeName"; did you mean "node_name"'):
        pod.spec.nodeName = "x"  # type: ignore[attr-defined]
    with pytest.raises(AttributeError, match='has no field "contaners"; did you mean "containers"'):
        _ = pod.spec.contaners  # type: ignore[attr-defined]
    with pytest.raises(TypeError, match=r"EnvVar takes keyword arguments only, such as EnvVar\(name=\.\.\.\)"):
        cast("Any", EnvVar)("x", "y")


def test_a_value_that_json_does_not_allow_is_rejected_on_assignment() -> None:
    with pytest.raises(DecodeError, match="got nan, which is not valid in JSON"):
        JSONSchemaProps(maximum=float("nan"))


def test_an_item_of_another_kind_is_refused() -> None:
    with pytest.raises((DecodeError, ArgumentError)):
        StatefulSet.new("x", spec={"volumeClaimTemplates": [Pod.new("y")]})


# -- Secrets -----------------------------------------------------------------------------------------------------

SECRETS: dict[str, Callable[[], object]] = {
    "from_dict": lambda: Secret.from_dict({"stringData": {"password": 8675309}}),
    "from_yaml": lambda: Secret.from_yaml("stringData: {password: 8675309}"),
    "from_wire": lambda: Secret.from_wire(b'{"stringData":{"password":8675309}}').string_data,
    "from_wire, with unknown fields": lambda: (
        Secret.from_wire(b'{"stringData":{"password":8675309},"zzz":1}').string_data
    ),
    "from_json": lambda: Secret.from_json(b'{"stringData":{"password":8675309}}').string_data,
    "made": lambda: Secret(string_data=cast("Any", {"password": 8675309})),
    "set": lambda: setattr(Secret(), "string_data", {"password": 8675309}),
    "no map": lambda: Secret.from_dict({"stringData": "8675309"}),
    "data that is no map": lambda: Secret.from_wire(b'{"data":"8675309"}').data,
    "data that is a number": lambda: Secret.from_wire(b'{"data":{"a":8675309}}').data,
    "data that is no base64": lambda: Secret.from_wire(b'{"data":{"a":"8675309!"}}').data,
}


@pytest.mark.parametrize("how", list(SECRETS))
def test_no_error_about_a_secret_shows_its_value(how: str) -> None:
    with pytest.raises(DecodeError) as caught:
        SECRETS[how]()
    assert "8675309" not in f"{caught.value} {caught.value!r} {vars(caught.value)}"


def test_no_repr_shows_what_kubectl_keeps_of_what_was_applied() -> None:
    annotations = {"kubectl.kubernetes.io/last-applied-configuration": '{"data":"hunter2"}', "team": "web"}
    secret = Secret.from_dict({"metadata": {"name": "a", "annotations": annotations}})

    for shown in (repr(secret), repr(secret.metadata), repr(Unstructured.from_dict(secret.to_dict()))):
        assert "hunter2" not in shown
    assert "'team': 'web'" in repr(secret.metadata)
    assert secret.metadata.annotations == annotations


# -- Depth -------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("depth", [100, 330, 900])
def test_yaml_is_written_as_deep_as_json_is_read(depth: int) -> None:
    data = b'{"metadata":{"name":"a"},"spec":%b"1"%b}' % (b'{"a":[' * (depth // 2), b"]}" * (depth // 2))

    text = Unstructured.from_wire(data).to_yaml()

    assert text.count(" a:\n") == depth // 2
    assert text.endswith("- '1'\n")


@pytest.mark.parametrize(
    "value",
    [
        {},
        [],
        {"a": []},
        [[], {}, [1, [2]]],
        {"n": None, "t": True, "s": "yes", "i": "1", "m": "a\nb\n", "f": 1.5, "e": ""},
    ],
)
def test_deeply_nested_data_is_dumped(value: object) -> None:
    deep: object = value
    for _ in range(400):
        deep = {"a": deep}
    lines = yaml.dump(deep).splitlines()
    shallow = yaml.dump({"a": value}).splitlines()

    assert [line.removeprefix(" " * 2 * 399) for line in lines[399:]] == shallow


@pytest.mark.slow
def test_a_deep_cycle_is_rejected() -> None:
    inner: list[object] = []
    outer: object = inner
    for _ in range(400):
        outer = [outer]
    inner.append(outer)

    with pytest.raises(ArgumentError, match="nested too deeply"):
        yaml.dump(outer)
