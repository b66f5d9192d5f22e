"""Making objects: from arguments, dicts and YAML, all of it checked."""

from __future__ import annotations

import pytest
from tests.unit.meta.samples import WEB

from masthead.api.core.v1 import (
    ConfigMap,
    Container,
    Pod,
    PodSpec,
)
from masthead.errors import DecodeError, NameFormatError


def test_new_takes_types_and_dicts_with_either_names() -> None:
    pod = Pod.new(
        "web",
        namespace="shop",
        labels={"app": "web"},
        spec={
            "containers": [Container(name="a"), {"name": "b", "image_pull_policy": "Always"}],
            "nodeName": "n",
        },
    )

    assert pod.key == "shop/web"
    assert pod.spec.containers[1].image_pull_policy == "Always"
    assert pod.spec.node_name == "n"
    assert ConfigMap.new("config", data={"a": "b"}).data == {"a": "b"}


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: Pod.new("x", spec={"contianers": []}), 'spec: PodSpec has no field "contianers"; did you mean "containers"'),  # noqa: E501
        (lambda: Pod.new("x", spec={"containers": [{"name": 3}]}), "spec.containers[0].name: expected a string, got an integer (3)"),  # noqa: E501
        (lambda: Pod.new("x", spec={"containers": {"name": "a"}}), "spec.containers: expected a list, got an object"),
        (lambda: Pod(spec=3), "spec: expected an object (PodSpec), got an integer (3)"),  # type: ignore[arg-type]
        (lambda: PodSpec(host_network="yes"), "hostNetwork: expected true or false, got a string ('yes')"),  # type: ignore[arg-type]
        (lambda: PodSpec(overhead={"cpu": "lots"}), 'overhead["cpu"]: expected a quantity'),  # type: ignore[dict-item]
        (lambda: Pod.new("x", label={}), 'Pod has no field "label"; did you mean "labels"'),  # type: ignore[call-arg]
        (lambda: Pod.new("x", zzz={}), "it has name, namespace, generate_name, labels, annotations, spec, status"),  # type: ignore[call-arg]
        (lambda: Container(nmae="x"), 'has no field "nmae"; did you mean "name"'),  # type: ignore[call-arg]
    ],
)  # fmt: skip
def test_an_invalid_field_is_rejected_with_its_path(make: object, message: str) -> None:
    assert callable(make)
    with pytest.raises(DecodeError) as caught:
        make()

    assert message in str(caught.value)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Pod.new("a/b"),
        lambda: Pod.new(".."),
        lambda: Pod.new("x", namespace="a/b"),
        lambda: Pod.new("x", labels={"a b": "c"}),
        lambda: Pod.new("x", labels={"a": "b c"}),
    ],
)
def test_bad_names_and_labels_are_refused(make: object) -> None:
    assert callable(make)
    with pytest.raises(NameFormatError):
        make()


def test_assignments_are_checked_and_built() -> None:
    pod = Pod.from_json(WEB)
    pod.spec.containers = [{"name": "new", "image": "x"}]  # type: ignore[list-item]

    assert pod.spec.containers == [Container(name="new", image="x")]
    with pytest.raises(DecodeError, match="nodeName: expected a string, got an integer"):
        pod.spec.node_name = 5  # type: ignore[assignment]
    with pytest.raises(AttributeError, match='did you mean "node'):
        pod.spec.nodename = "x"  # type: ignore[attr-defined]
    assert pod.spec.node_name == "node-1"


def test_from_dict_checks_everything_at_once() -> None:
    with pytest.raises(DecodeError) as caught:
        Pod.from_dict({"metadata": {"name": "web", "namespace": "shop"}, "spec": {"containers": [{"ports": "x"}]}})

    assert str(caught.value) == "Pod \"shop/web\": spec.containers[0].ports: expected a list, got a string ('x')"
    assert caught.value.path == "spec.containers[0].ports"


def test_from_dict_keeps_or_refuses_unknown_fields() -> None:
    data = {"spec": {"newSpec": 1}}

    assert Pod.from_dict(data).to_dict()["spec"] == {"newSpec": 1}
    with pytest.raises(DecodeError, match='spec: PodSpec has no field "newSpec"'):
        Pod.from_dict(data, strict=True)


def test_yaml_round_trips() -> None:
    pod = Pod.from_json(WEB)

    assert Pod.from_yaml(pod.to_yaml()) == pod
    assert Container.from_yaml(pod.spec.containers[0].to_yaml()) == pod.spec.containers[0]
