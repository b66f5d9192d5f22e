"""Objects decode where you look, and nobody can tell."""

from __future__ import annotations

import copy
import json
import pickle
from concurrent.futures import ThreadPoolExecutor

import msgspec
import pytest

from masthead.api.apps.v1 import Deployment, StatefulSet
from masthead.api.core.v1 import (
    ConfigMap,
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
from masthead.errors import DecodeError, InvalidValueError, NameFormatError
from masthead.meta.metadata import ObjectMeta
from masthead.meta.model import unknown_fields
from masthead.meta.quantity import Quantity
from masthead.meta.slots import member_of
from masthead.meta.unstructured import Unstructured

WEB = (
    b'{"apiVersion":"v1","kind":"Pod","metadata":{"name":"web","namespace":"shop","labels":{"app":"web"},'
    b'"creationTimestamp":"2026-01-02T03:04:05Z","managedFields":[{"manager":"kubectl","fieldsV1":{"f:spec":{}}}]},'
    b'"spec":{"containers":[{"name":"web","image":"nginx","resources":{}}],"nodeName":"node-1","volumes":[]},'
    b'"status":{"phase":"Running","conditions":[{"type":"Ready","status":"True","lastProbeTime":null}]}}'
)
NEWER = (
    b'{"metadata":{"name":"web","shinyMeta":{"a":[1]}},'
    b'"spec":{"containers":[{"name":"one","shiny":true},{"name":"two","shiny":{"deep":null}}],"newSpec":"x"},'
    b'"status":{"phase":"Running"},"newSection":{"k":[1,2]}}'
)


def held(pod: Pod, name: str) -> object:
    """What a slot holds, without decoding it."""
    return member_of(Pod, name).__get__(pod)


def plain(data: bytes) -> dict[str, object]:
    decoded: dict[str, object] = json.loads(data)
    return decoded


# -- Lazy sections ---------------------------------------------------------------------------------------------


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


def test_managed_fields_wait_until_they_are_read() -> None:
    metadata = Pod.from_json(WEB).metadata

    assert type(member_of(ObjectMeta, "managed_fields").__get__(metadata)) is msgspec.Raw
    assert metadata.managed_fields[0].fields_v1 == {"f:spec": {}}


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


# -- Value types -----------------------------------------------------------------------------------------------


def test_value_types_are_never_none_however_deep() -> None:
    deployment = Deployment()

    assert deployment.spec.template.spec.containers == []
    assert deployment.spec.template.metadata.labels == {}
    assert deployment.spec.strategy.rolling_update is None
    assert deployment.metadata.name == ""


def test_what_was_not_set_is_not_written() -> None:
    deployment = Deployment()
    assert deployment.spec.template.spec.containers == []

    assert deployment.to_json() == b'{"apiVersion":"apps/v1","kind":"Deployment"}'


def test_what_is_put_into_something_unset_is_kept_and_written() -> None:
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
    assert (
        Container(name="web", resources=ResourceRequirements()).to_json() == b'{"name":"web","resources":{}}'
    )


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


# -- Fields that our types do not know -------------------------------------------------------------------------


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


@pytest.mark.parametrize(
    "name", ["node_name", "class", "with-dash", "__init__", "copy", "9lives", "ünïcode", ""]
)
def test_an_unknown_field_may_have_any_name(name: str) -> None:
    data = {"nodeName": "node-1", name: [{"deep": 1}]}
    spec = PodSpec.from_dict(data)
    spec.host_network = True

    assert spec.node_name == "node-1"
    assert spec.to_dict() == {**data, "hostNetwork": True}
    assert spec == pickle.loads(pickle.dumps(spec)) == spec.copy()


def test_an_object_with_unknown_fields_is_of_its_class_and_equal_to_its_like() -> None:
    one, two = Pod.from_json(NEWER), Pod.from_json(NEWER)

    assert isinstance(one.spec, PodSpec)
    assert one == two
    assert one.spec == two.spec
    assert one.spec != Pod.from_json(NEWER.replace(b'"newSpec":"x"', b'"newSpec":"y"')).spec
    assert one.spec != Pod.from_json(NEWER.replace(b',"newSpec":"x"', b"")).spec


# -- Copies, equality, repr, pickle ----------------------------------------------------------------------------


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


def test_the_hash_is_the_identitys_so_that_objects_can_be_keys_and_still_change() -> None:
    pod, twin = Pod.from_json(WEB), Pod.from_json(WEB)
    seen = {pod}
    pod.spec.node_name = "elsewhere"

    assert pod in seen
    assert twin not in seen


def test_repr_shows_what_is_set_and_decodes_what_it_shows() -> None:
    pod = Pod.new("web", spec={"containers": [{"name": "web", "ports": [{"containerPort": 80}]}]})

    assert repr(pod) == (
        "Pod(metadata=ObjectMeta(name='web'), "
        "spec=PodSpec(containers=[Container(name='web', ports=[ContainerPort(container_port=80)])]))"
    )
    assert repr(pod.copy()) == repr(pod)


def test_repr_keeps_secrets_to_itself() -> None:
    secret = Secret.new("db", data={"password": b"hunter2"})

    assert "hunter2" not in repr(secret)
    assert "aHVudGVyMg" not in repr(secret)


def test_repr_of_a_broken_section_says_so_instead_of_raising() -> None:
    assert "undecodable: spec.containers" in repr(Pod.from_json(b'{"spec":{"containers":3}}'))


# -- Mutation --------------------------------------------------------------------------------------------------


def test_reading_is_no_modification() -> None:
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
def test_any_change_is_noticed(change: object) -> None:
    pod = Pod.from_json(WEB)
    assert callable(change)
    change(pod)

    assert pod.is_modified()


def test_a_change_that_was_taken_back_is_none() -> None:
    pod = Pod.from_json(WEB)
    pod.spec.node_name = "other"
    pod.spec.node_name = "node-1"

    assert not pod.is_modified()
    assert pod.to_json() == WEB


def test_an_object_that_was_made_here_has_no_bytes_and_counts_as_modified() -> None:
    pod = Pod.new("web")

    assert pod.wire_bytes is None
    assert pod.is_modified()


# -- Making objects --------------------------------------------------------------------------------------------


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
        (lambda: Pod.new("x", spec={"contianers": []}), 'spec: PodSpec has no field "contianers"; did you mean "containers"'),
        (lambda: Pod.new("x", spec={"containers": [{"name": 3}]}), "spec.containers[0].name: expected a string, got an integer (3)"),
        (lambda: Pod.new("x", spec={"containers": {"name": "a"}}), "spec.containers: expected a list, got an object"),
        (lambda: Pod(spec=3), "spec: expected an object (PodSpec), got an integer (3)"),  # type: ignore[arg-type]
        (lambda: PodSpec(host_network="yes"), "hostNetwork: expected true or false, got a string ('yes')"),  # type: ignore[arg-type]
        (lambda: PodSpec(overhead={"cpu": "lots"}), 'overhead["cpu"]: expected a quantity'),  # type: ignore[dict-item]
        (lambda: Container(nmae="x"), 'has no field "nmae"; did you mean "name"'),  # type: ignore[call-arg]
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_with_its_path(make: object, message: str) -> None:
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
        Pod.from_dict(
            {"metadata": {"name": "web", "namespace": "shop"}, "spec": {"containers": [{"ports": "x"}]}}
        )

    assert (
        str(caught.value) == "Pod \"shop/web\": spec.containers[0].ports: expected a list, got a string ('x')"
    )
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


# -- Bad input -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"", "Pod: not JSON: the text ends too early"),
        (b"{", "Pod: not JSON: the text ends too early"),
        (b'{"metadata":{"name":"x"', "Pod: not JSON: the text ends too early"),
        (b"nonsense", "Pod: not JSON"),
        (b'{"metadata":{}} trailing', "Pod: not JSON"),
        (b"[]", "Pod: expected an object, got a list"),
        (b"[1,", "Pod: not JSON: the text ends too early"),
        (b'{"newField":null},{}', "Pod: not JSON"),
        (b'"text"', "Pod: expected an object, got a string"),
        (b"null", "Pod: expected an object, got null"),
        (b'{"kind":"Service"}', 'Pod: kind: expected "Pod", got "Service"'),
        (b'{"apiVersion":"apps/v1","metadata":{"name":"x"}}', 'Pod "x": apiVersion: expected "v1", got "apps/v1"'),
        (b'{"metadata":[]}', "Pod: metadata: expected an object (ObjectMeta), got a list"),
        (b'{"metadata":{"name":"x","labels":{"a":1}}}', 'Pod "x": metadata.labels["a"]: expected a string, got an integer (1)'),
        (b'{"metadata":{"name":"x","creationTimestamp":"soon"}}', 'Pod "x": metadata.creationTimestamp: expected an RFC 3339 time'),
        (b'{"metadata":{"name":"x","name":"y"}}', 'Pod: metadata: the key "name" appears twice'),
        (b'{"spec":{"containers":[{"name":"a"},{"image":"b","image":"c"}]}}', 'Pod: spec.containers[1]: the key "image" appears twice'),
        (b'{"spec": {}, "spec": {}}', 'Pod: the key "spec" appears twice'),
        (b"[" * 200_000, "Pod: nested too deeply"),
        (b'{"spec":' * 50_000 + b"1" + b"}" * 50_000, "Pod: nested too deeply"),
        (b'\xff\xfe{"metadata":{}}', "Pod: not JSON"),
        (b'{"metadata":{"name":"\xff"}}', "Pod: not UTF-8 text"),
    ],
)  # fmt: skip
def test_bad_text_gives_a_clear_error_of_ours(data: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        Pod.from_json(data)

    assert str(caught.value).startswith(message)


def test_a_mistake_in_a_section_is_told_when_it_is_read_and_names_the_object() -> None:
    pod = Pod.from_json(
        b'{"metadata":{"name":"web","namespace":"shop"},"spec":{"containers":[{"env":[{"value":1}]}]}}'
    )

    for _ in range(2):
        with pytest.raises(DecodeError) as caught:
            _ = pod.spec
        assert str(caught.value) == (
            'Pod "shop/web": spec.containers[0].env[0].value: expected a string, got an integer (1)'
        )
    assert pod.metadata.name == "web"


def test_a_bad_quantity_on_the_wire_names_the_field() -> None:
    pod = Pod.from_json(b'{"spec":{"containers":[{"resources":{"limits":{"cpu":"12 gigs"}}}]}}')

    with pytest.raises(
        DecodeError, match=r'spec\.containers\[0\]\.resources\.limits\["cpu"\]: expected a quantity'
    ):
        _ = pod.spec


def test_deep_nesting_inside_a_section_is_refused_not_followed() -> None:
    deep = b'{"spec":{"x":' + b"[" * 500 + b"]" * 500 + b"}}"
    deeper = b'{"spec":{"x":' + b"[" * 100_000 + b"]" * 100_000 + b"}}"

    assert unknown_fields(Pod.from_json(deep).spec)
    with pytest.raises(DecodeError, match="nested too deeply"):
        _ = Pod.from_json(deeper).spec


def test_what_json_cannot_say_is_refused_when_writing() -> None:
    pod = Pod.new("web")
    pod.metadata.annotations["x"] = object()  # type: ignore[assignment]
    with pytest.raises(InvalidValueError, match="cannot be written as JSON"):
        pod.to_json()

    pod.metadata.annotations["x"] = "\ud800"
    with pytest.raises(InvalidValueError, match="cannot be written as JSON"):
        pod.to_json()


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


# -- Lists -----------------------------------------------------------------------------------------------------

LIST = (
    b'{"kind":"PodList","apiVersion":"v1","metadata":{"resourceVersion":"7"},"items":['
    + WEB
    + b","
    + NEWER
    + b"]}"
)


def test_a_list_is_a_sequence_of_lazy_objects() -> None:
    pods = PodList.from_json(LIST)

    assert pods.metadata.resource_version == "7"
    assert len(pods) == 2
    assert [pod.metadata.name for pod in pods] == ["web", "web"]
    assert pods[0] is pods.items[0]
    assert pods[-1:] == pods.items[1:]
    assert type(held(pods[0], "spec")) is msgspec.Raw


def test_each_item_of_a_list_has_bytes_of_its_own() -> None:
    pods = PodList.from_json(LIST)

    assert [pod.wire_bytes for pod in pods] == [WEB, NEWER]


def test_a_list_writes_its_items_as_they_came() -> None:
    pods = PodList.from_json(LIST)
    assert (
        pods.to_json()
        == b'{"apiVersion":"v1","kind":"PodList",' + LIST[len(b'{"kind":"PodList","apiVersion":"v1",') :]
    )

    pods[0].spec.node_name = "other"
    again = PodList.from_json(pods.to_json())
    assert again == pods
    assert again[0].spec.node_name == "other"
    assert NEWER in pods.to_json()


def test_lists_copy_pickle_and_convert() -> None:
    pods = PodList.from_json(LIST)

    assert copy.deepcopy(pods) == pods
    assert pickle.loads(pickle.dumps(pods)) == pods
    assert PodList.from_dict(pods.to_dict()) == pods
    assert PodList.from_yaml(pods.to_yaml()) == pods
    assert PodList(items=[Pod.new("a")]).to_dict()["items"] == [{"metadata": {"name": "a"}}]


@pytest.mark.parametrize("items", [b"[]", b"null"])
def test_an_empty_list_is_empty_however_it_says_so(items: bytes) -> None:
    pods = PodList.from_json(b'{"items":' + items + b"}")

    assert pods.items == []
    assert not pods
    assert json.loads(pods.to_json())["items"] == []


def test_what_kubectl_prints_as_a_list_is_read() -> None:
    assert len(PodList.from_json(LIST.replace(b"PodList", b"List"))) == 2


def test_a_broken_item_is_named_and_can_be_set_aside() -> None:
    data = b'{"items":[{"metadata":{"name":"ok"}},{"metadata":{"name":"bad","labels":{"a":1}}},{"metadata":{"name":"fine"}}]}'
    with pytest.raises(DecodeError) as caught:
        PodList.from_json(data)
    assert str(caught.value).startswith('Pod "bad": items[1].metadata.labels["a"]: expected a string')

    broken: list[DecodeError] = []
    pods = PodList.from_wire(data, on_error=broken.append)
    assert [pod.metadata.name for pod in pods] == ["ok", "fine"]
    assert [error.value for error in broken] == [b'{"metadata":{"name":"bad","labels":{"a":1}}}']


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b'{"items":{}}', "PodList: items: expected a list, got an object"),
        (b'{"items":[1]}', "Pod: items[0]: expected an object, got an integer (1)"),
        (b'{"items":[{}', "PodList: not JSON: the text ends too early"),
        (b'{"kind":"ServiceList","items":[]}', 'PodList: kind: expected "PodList", got "ServiceList"'),
        (b"[]", "PodList: expected an object, got a list"),
    ],
)
def test_a_bad_list_gives_a_clear_error_of_ours(data: bytes, message: str) -> None:
    with pytest.raises(DecodeError) as caught:
        PodList.from_json(data)

    assert str(caught.value).startswith(message)


def test_unknown_fields_of_a_list_itself_are_kept() -> None:
    pods = PodList.from_json(b'{"metadata":{"newMeta":1},"items":[],"newer":[2]}')

    assert pods.to_dict() == {
        "apiVersion": "v1",
        "kind": "PodList",
        "metadata": {"newMeta": 1},
        "items": [],
        "newer": [2],
    }


@pytest.mark.parametrize(
    "data", [b"[1,", b'{"newField":null},{}', b'{"new":1', b'{"metadata":{"new":1}', b"\xff", b"3 4"]
)
def test_bad_bytes_from_a_server_give_the_same_clear_error(data: bytes) -> None:
    for kind in (Pod, PodList, Unstructured):
        with pytest.raises(DecodeError):
            kind.from_wire(data)


def test_a_broken_section_can_be_replaced() -> None:
    pod = Pod.from_json(b'{"metadata":{"name":"web"},"spec":{"containers":3}}')
    pod.spec = PodSpec(node_name="node-1")

    assert pod.is_modified()
    assert pod.to_dict()["spec"] == {"nodeName": "node-1"}


def test_a_mistake_in_metadata_that_waits_names_its_object_too() -> None:
    pod = Pod.from_json(b'{"metadata":{"name":"web","namespace":"shop","annotations":{"a":1}}}')

    with pytest.raises(DecodeError) as caught:
        _ = pod.metadata.annotations
    assert (
        str(caught.value)
        == 'ObjectMeta "shop/web": metadata.annotations["a"]: expected a string, got an integer (1)'
    )
