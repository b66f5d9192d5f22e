"""Objects are decoded lazily, and transparently."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING

import msgspec
import pytest
from tests.unit.meta.samples import NEWER, WEB, held

from masthead._meta.metadata import ObjectMeta
from masthead._meta.quantity import Quantity
from masthead._meta.slots import member_of
from masthead._meta.unstructured import Unstructured
from masthead.api.apps.v1 import Deployment, StatefulSet
from masthead.api.core.v1 import (
    Container,
    ContainerPort,
    Event,
    Pod,
    PodList,
    PodSpec,
    PodStatus,
    ResourceRequirements,
    Secret,
    Service,
)
from masthead.api.rbac.v1 import ClusterRole
from masthead.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable


def plain(data: bytes) -> dict[str, object]:
    decoded: dict[str, object] = json.loads(data)
    return decoded


# -- Lazy sections -------------------------------------------------------------------------------------------


def test_reading_an_object_decodes_its_metadata_and_nothing_else() -> None:
    pod = Pod.from_json(WEB)

    assert type(held(pod, "metadata")) is ObjectMeta
    assert type(held(pod, "spec")) is msgspec.Raw
    assert type(held(pod, "status")) is msgspec.Raw


def test_a_section_is_decoded_once_when_it_is_first_read() -> None:
    pod = Pod.from_json(WEB)

    assert pod.spec.node_name == "node-1"
    assert pod.spec is pod.spec
    assert type(held(pod, "status")) is msgspec.Raw


def test_scalars_beside_the_metadata_are_decoded_at_once() -> None:
    secret = Secret.from_json(b'{"type":"Opaque","immutable":true,"data":{"password":"aHVudGVyMg=="}}')

    assert (secret.type, secret.immutable) == ("Opaque", True)
    assert secret.data == {"password": b"hunter2"}


@pytest.mark.parametrize("name", ["labels", "managed_fields"])
def test_maps_and_lists_of_metadata_wait_until_they_are_read(name: str) -> None:
    metadata = Pod.from_wire(WEB).metadata

    assert type(member_of(ObjectMeta, name).__get__(metadata)) is msgspec.Raw
    assert getattr(metadata, name)
    assert type(member_of(ObjectMeta, name).__get__(metadata)) is not msgspec.Raw


def test_threads_that_read_a_section_at_the_same_time_all_see_it() -> None:
    pods = [Pod.from_json(WEB) for _ in range(200)]

    with ThreadPoolExecutor(max_workers=8) as pool:
        names = list(pool.map(lambda pod: pod.spec.containers[0].name, pods * 8))

    assert names == ["web"] * 1600


def test_an_untouched_object_is_written_byte_for_byte() -> None:
    assert Pod.from_json(WEB).to_json() == WEB


def test_reading_every_section_changes_nothing_in_what_is_written() -> None:
    pod = Pod.from_json(WEB)
    assert pod.spec.init_containers == []
    assert pod.spec.containers[0].ports == []
    assert pod.spec.containers[0].resources.limits == {}
    assert pod.status.conditions[0].last_probe_time is None
    assert pod.metadata.annotations == {}
    assert pod.metadata.managed_fields

    assert pod.to_json() == WEB


def test_only_the_section_that_changed_is_written_anew() -> None:
    spaced = WEB.replace(b'"phase":"Running"', b'"phase" : "Running"')
    pod = Pod.from_json(spaced)
    pod.spec.node_name = "node-2"

    assert b'"nodeName":"node-2"' in pod.to_json()
    assert b'"phase" : "Running"' in pod.to_json()


def test_kind_and_api_version_are_known_and_written_even_if_a_list_left_them_out() -> None:
    pod = Pod.from_json(b'{"metadata":{"name":"web"}}')

    assert (pod.api_version, pod.kind) == ("v1", "Pod")
    assert pod.to_json() == b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web"}}'


def test_a_kind_nested_in_another_keeps_to_the_same_rules() -> None:
    data = (
        b'{"metadata":{"name":"db"},"spec":{"volumeClaimTemplates":[{"metadata":{"name":"data"},'
        b'"spec":{"resources":{"requests":{"storage":"1Gi"}},"later":1}}]}}'
    )
    db = StatefulSet.from_json(data)
    db.spec.replicas = 3

    claim = db.spec.volume_claim_templates[0]
    assert claim.spec.resources.requests == {"storage": Quantity("1Gi")}
    spec = plain(db.to_json())["spec"]
    assert spec == {
        "replicas": 3,
        "volumeClaimTemplates": [
            {
                "metadata": {"name": "data"},
                "spec": {"resources": {"requests": {"storage": "1Gi"}}, "later": 1},
            }
        ],
    }


# -- Value types ---------------------------------------------------------------------------------------------


def test_value_types_are_never_none_however_deep() -> None:
    deployment = Deployment()

    assert deployment.spec.template.spec.containers == []
    assert deployment.spec.template.metadata.labels == {}
    assert deployment.spec.strategy.rolling_update is None
    assert deployment.metadata.name == ""


def test_unset_fields_are_not_encoded() -> None:
    deployment = Deployment()
    assert deployment.spec.template.spec.containers == []

    assert deployment.to_json() == b'{"apiVersion":"apps/v1","kind":"Deployment"}'


def test_values_put_into_an_implicit_value_are_kept_and_encoded() -> None:
    deployment = Deployment()
    deployment.spec.template.spec.containers.append(Container(name="web"))
    deployment.metadata.labels["app"] = "web"

    assert deployment.to_dict()["metadata"] == {"labels": {"app": "web"}}
    assert deployment.to_dict()["spec"] == {"template": {"spec": {"containers": [{"name": "web"}]}}}


def test_something_unset_can_still_be_filled_after_the_object_was_written() -> None:
    deployment = Deployment()
    template = deployment.spec.template
    deployment.to_json()
    template.spec.node_name = "node-1"

    assert deployment.spec.template.spec.node_name == "node-1"
    assert b"node-1" in deployment.to_json()


@pytest.mark.parametrize("explicit", ["[]", "null", '[{"name":""}]'])
def test_an_explicit_empty_value_survives_a_change_beside_it(explicit: str) -> None:
    pod = Pod.from_json(f'{{"spec":{{"containers":{explicit}}}}}')
    pod.spec.node_name = "node-1"

    assert pod.to_dict()["spec"] == {"containers": json.loads(explicit), "nodeName": "node-1"}


def test_zero_false_and_empty_text_are_written_when_they_were_set() -> None:
    port = ContainerPort(container_port=0)
    pod = Pod.from_json(b'{"status":{"containerStatuses":[{"name":"","ready":false,"restartCount":0}]}}')
    pod.status.phase = "Pending"

    assert port.to_json() == b'{"containerPort":0}'
    assert ContainerPort().to_json() == b"{}"
    assert pod.to_dict()["status"]["containerStatuses"] == [{"name": "", "ready": False, "restartCount": 0}]


def test_an_explicit_empty_type_is_written() -> None:
    assert Container(name="web", resources=ResourceRequirements()).to_json() == b'{"name":"web","resources":{}}'


def test_null_where_go_has_a_list_reads_as_empty_and_stays_null() -> None:
    role = ClusterRole.from_json(b'{"metadata":{"name":"view"},"rules":null}')

    assert role.rules == []
    assert role.to_dict()["rules"] is None


def test_assigning_none_or_deleting_unsets_a_field() -> None:
    pod = Pod.from_json(WEB)
    pod.spec.node_name = None
    del pod.spec.volumes

    assert pod.to_dict()["spec"] == {"containers": [{"image": "nginx", "name": "web", "resources": {}}]}


def test_a_section_can_be_replaced_and_removed() -> None:
    pod = Pod.from_json(WEB)
    pod.spec = PodSpec(node_name="node-9")
    del pod.status

    assert pod.to_dict()["spec"] == {"nodeName": "node-9"}
    assert "status" not in pod.to_dict()
    assert pod.status.phase is None


# -- Copies, equality, repr, pickle --------------------------------------------------------------------------


@pytest.mark.parametrize("data", [WEB, NEWER])
@pytest.mark.parametrize("touched", [False, True])
def test_copies_are_equal_and_independent(data: bytes, touched: bool) -> None:
    pod = Pod.from_json(data)
    if touched:
        pod.spec.containers[0].image = "changed"

    for copied in (pod.copy(), copy.copy(pod), copy.deepcopy(pod), pickle.loads(pickle.dumps(pod))):
        assert copied == pod
        assert copied is not pod
        copied.spec.containers[0].image = "other"
        copied.metadata.labels["app"] = "other"
        assert copied != pod
        assert pod.spec.containers[0].image != "other"


def test_nested_types_copy_and_pickle_too() -> None:
    container = Pod.from_json(NEWER).spec.containers[0]

    for copied in (container.copy(), copy.deepcopy(container), pickle.loads(pickle.dumps(container))):
        assert copied == container
        copied.name = "other"
        assert container.name == "one"


def test_equality_does_not_depend_on_what_was_read() -> None:
    one, two = Pod.from_json(WEB), Pod.from_json(WEB)
    assert one.spec.init_containers == []
    assert one.status.phase == "Running"

    assert one == two
    assert two == one


def test_equality_compares_meaning_not_text() -> None:
    one = Pod.from_json(b'{"metadata":{"labels":{"a":"1","b":"2"}},"spec":{"containers":[],"nodeName":"n"}}')
    two = Pod.from_json(b'{"spec":{"nodeName":"n"},"metadata":{"labels":{"b":"2","a":"1"}},"kind":"Pod"}')

    assert one == two


def test_objects_that_differ_anywhere_are_unequal() -> None:
    pod = Pod.from_json(WEB)

    assert pod != Pod.from_json(WEB.replace(b"nginx", b"apache"))
    assert pod != Pod.from_json(WEB.replace(b'"app":"web"', b'"app":"db"'))
    assert pod != Service.from_dict({"metadata": {"name": "web"}})
    assert pod != "web"
    assert PodSpec() != PodStatus()


@pytest.mark.parametrize(
    ("make", "instead"),
    [
        (Pod, "its key (namespace/name) or its metadata.uid"),
        (Unstructured, "its key"),
        (PodSpec, "to_json()"),
    ],
)
def test_mutable_objects_have_no_hash_and_name_an_alternative(make: Callable[[], object], instead: str) -> None:
    with pytest.raises(TypeError, match="unhashable type") as caught:
        hash(make())

    assert instead in str(caught.value)


def test_repr_of_an_object_shows_its_name_and_resource_version() -> None:
    metadata = {"name": "web", "namespace": "default", "resourceVersion": "6"}
    labels = {"app": "x" * 9000}

    assert repr(Pod.from_dict({"metadata": {**metadata, "labels": labels}})) == "Pod('default/web', version='6')"
    assert repr(Pod.new("web")) == "Pod('web')"
    assert repr(Pod.new(generate_name="web-")) == "Pod(generate_name='web-')"
    assert repr(Pod()) == "Pod()"
    assert len(repr(Pod.from_dict({"metadata": {"name": "x" * 1_000_000}}))) < 1100


def test_repr_of_a_list_shows_the_number_of_items() -> None:
    pods = PodList.from_json(b'{"metadata":{"resourceVersion":"42"},"items":[{},{},{}]}')

    assert repr(pods) == "PodList(3 items, version='42')"
    assert repr(PodList(items=[Pod.new("web")])) == "PodList(1 item)"


def test_repr_of_a_section_shows_what_is_set() -> None:
    pod = Pod.new("web", spec={"containers": [{"name": "web", "ports": [{"containerPort": 80}]}]})

    assert repr(pod.spec) == ("PodSpec(containers=[Container(name='web', ports=[ContainerPort(container_port=80)])])")
    assert repr(pod.copy().spec) == repr(pod.spec)


def test_repr_of_a_section_is_bounded() -> None:
    spec = PodSpec(
        containers=[Container(name=f"c{number}", args=["x" * 5000] * 100) for number in range(1000)],
        node_selector={f"key-{number}": "x" * 100 for number in range(1000)},
    )

    assert len(repr(spec)) < 1100
    assert repr(spec).startswith("PodSpec(containers=[Container(args=['xxx")


def test_dir_shows_fields_and_methods_but_no_facts_about_the_type() -> None:
    pod = Pod.new("web")
    offered = [name for name in dir(pod) if not name.startswith("__")]

    assert {"metadata", "spec", "status", "key", "copy", "to_yaml", "is_modified"} <= {*offered}
    assert not [name for name in offered if name.isupper() or name.startswith("_")]
    assert "containers" in dir(pod.spec)
    assert "MERGE" not in dir(pod.spec)


def test_repr_keeps_secrets_to_itself() -> None:
    secret = Secret.new("db", data={"password": b"hunter2"})

    assert "hunter2" not in repr(secret)
    assert "aHVudGVyMg" not in repr(secret)


def test_repr_of_an_invalid_section_does_not_raise() -> None:
    assert repr(Pod.from_json(b'{"metadata":{"name":"web"},"spec":{"containers":3}}')) == "Pod('web')"


# -- Mutation ------------------------------------------------------------------------------------------------


def test_reading_is_not_a_modification() -> None:
    for data in (WEB, NEWER):
        pod = Pod.from_json(data)
        repr(pod)
        assert pod.spec.init_containers == []
        assert not pod.is_modified()


@pytest.mark.parametrize(
    "change",
    [
        lambda pod: pod.metadata.labels.update(app="db"),
        lambda pod: pod.metadata.finalizers.append("x/y"),
        lambda pod: pod.metadata.managed_fields.clear(),
        lambda pod: setattr(pod.spec, "node_name", "other"),
        lambda pod: pod.spec.containers.append(Container(name="more")),
        lambda pod: setattr(pod.spec.containers[0], "image", None),
        lambda pod: setattr(pod.status.conditions[0], "status", "False"),
        lambda pod: setattr(pod, "status", None),
        lambda pod: setattr(pod, "spec", {}),
    ],
)
def test_any_change_is_detected(change: object) -> None:
    pod = Pod.from_json(WEB)
    assert callable(change)
    change(pod)

    assert pod.is_modified()


def test_a_reverted_change_is_not_a_modification() -> None:
    pod = Pod.from_json(WEB)
    pod.spec.node_name = "other"
    pod.spec.node_name = "node-1"

    assert not pod.is_modified()
    assert pod.to_json() == WEB


def test_a_constructed_object_has_no_bytes_and_counts_as_modified() -> None:
    pod = Pod.new("web")

    assert pod.wire_bytes is None
    assert pod.is_modified()


# -- Corners -------------------------------------------------------------------------------------------------


def test_events_keep_their_times_exactly() -> None:
    data = (
        b'{"metadata":{"name":"e"},"eventTime":"2026-01-02T03:04:05.000000Z",'
        b'"firstTimestamp":"2026-01-02T03:04:05Z","involvedObject":{}}'
    )
    event = Event.from_json(data)
    assert event.event_time is not None
    event.message = "hello"

    assert event.to_dict()["eventTime"] == "2026-01-02T03:04:05.000000Z"
    assert event.to_dict()["firstTimestamp"] == "2026-01-02T03:04:05Z"


def test_a_broken_section_can_be_replaced() -> None:
    pod = Pod.from_json(b'{"metadata":{"name":"web"},"spec":{"containers":3}}')
    pod.spec = PodSpec(node_name="node-1")

    assert pod.is_modified()
    assert pod.to_dict()["spec"] == {"nodeName": "node-1"}


def test_a_mistake_in_metadata_that_waits_names_its_object_too() -> None:
    data = b'{"metadata":{"name":"web","namespace":"shop","annotations":{"a":1}}}'
    said = '"shop/web": metadata.annotations["a"]: expected a string, got an integer (1)'

    with pytest.raises(DecodeError) as caught:
        _ = Pod.from_wire(data).metadata.annotations
    assert str(caught.value) == f"ObjectMeta {said}"

    with pytest.raises(DecodeError) as caught:
        Pod.from_json(data)
    assert str(caught.value) == f"Pod {said}"
