"""Fields that our types do not know are kept, wherever they stand."""

from __future__ import annotations

import gc
import pickle

import pytest
from tests.unit.meta.samples import NEWER

from masthead._meta.model import unknown_fields
from masthead.api.apps.v1 import Deployment
from masthead.api.core.v1 import (
    Container,
    Pod,
    PodSpec,
)


def test_unknown_fields_survive_a_change_in_every_section() -> None:
    pod = Pod.from_json(NEWER)
    pod.metadata.labels["app"] = "web"
    pod.spec.node_name = "node-1"
    pod.status.phase = "Failed"

    assert pod.to_dict() == {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": "web", "labels": {"app": "web"}, "shinyMeta": {"a": [1]}},
        "spec": {
            "containers": [{"name": "one", "shiny": True}, {"name": "two", "shiny": {"deep": None}}],
            "newSpec": "x",
            "nodeName": "node-1",
        },
        "status": {"phase": "Failed"},
        "newSection": {"k": [1, 2]},
    }


def test_unknown_fields_move_with_the_item_that_has_them() -> None:
    pod = Pod.from_json(NEWER)
    pod.spec.containers.insert(0, Container(name="zero"))
    pod.spec.containers.reverse()
    del pod.spec.containers[1]

    assert pod.to_dict()["spec"]["containers"] == [{"name": "two", "shiny": {"deep": None}}, {"name": "zero"}]


def test_unknown_fields_follow_an_item_into_another_object() -> None:
    job = Deployment.new("copy")
    job.spec.template.spec.containers.append(Pod.from_json(NEWER).spec.containers[0])

    assert job.to_dict()["spec"]["template"]["spec"]["containers"] == [{"name": "one", "shiny": True}]


def test_unknown_fields_can_be_read() -> None:
    pod = Pod.from_json(NEWER)

    assert unknown_fields(pod) == {"newSection": {"k": [1, 2]}}
    assert unknown_fields(pod.spec) == {"newSpec": "x"}
    assert unknown_fields(pod.spec.containers[1]) == {"shiny": {"deep": None}}
    assert unknown_fields(pod.status) == {}


@pytest.mark.parametrize("name", ["node_name", "class", "with-dash", "__init__", "copy", "9lives", "ünïcode", ""])
def test_an_unknown_field_may_have_any_name(name: str) -> None:
    data = {"nodeName": "node-1", name: [{"deep": 1}]}
    spec = PodSpec.from_dict(data)
    spec.host_network = True

    assert spec.node_name == "node-1"
    assert spec.to_dict() == {**data, "hostNetwork": True}
    assert spec == pickle.loads(pickle.dumps(spec)) == spec.copy()


def test_an_object_with_unknown_fields_is_an_instance_of_its_class_and_comparable() -> None:
    one, two = Pod.from_json(NEWER), Pod.from_json(NEWER)

    assert isinstance(one.spec, PodSpec)
    assert one == two
    assert one.spec == two.spec
    assert one.spec != Pod.from_json(NEWER.replace(b'"newSpec":"x"', b'"newSpec":"y"')).spec
    assert one.spec != Pod.from_json(NEWER.replace(b',"newSpec":"x"', b"")).spec


@pytest.mark.slow
def test_classes_made_for_unknown_fields_go_with_their_instances() -> None:
    for number in range(700):
        repr(PodSpec.from_dict({f"made-up-{number}": number}))
        repr(Pod.from_wire(f'{{"made-up-{number}":1}}'.encode()).copy())
    gc.collect()

    assert len(PodSpec.__subclasses__()) + len(Pod.__subclasses__()) < 600
