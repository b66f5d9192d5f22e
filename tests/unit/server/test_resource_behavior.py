"""Defaulting, strategy and validation of resources, against what a real kube-apiserver did.

``tests/data/server`` holds requests to kube-apiserver and its responses.
"""

from __future__ import annotations

import base64
import copy
from ipaddress import IPv4Network
from pathlib import Path
from typing import TYPE_CHECKING, Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.server.admitting import admit
from tests.unit.server.builtin import apply_defaults, from_storage, hooks_of, of_kind, to_storage

from masthead_server.resources.allocator import AddressInUse, Allocations, Allocator, RangeExhausted
from masthead_server.resources.behavior import NO_HOOKS
from masthead_server.wire.failures import StatusFailure, refused_fields
from masthead_server.wire.user_info import ADMIN

if TYPE_CHECKING:
    from masthead_server.resources.behavior import StrategyHooks

Plain = dict[str, Any]


class Case(msgspec.Struct):
    name: str
    given: Plain
    stored: Plain = {}
    answer: Plain = {}
    code: int = 201
    message: str = ""
    causes: list[dict[str, str]] = []
    part: str = "status"


class Recorded(msgspec.Struct):
    about: str
    cases: list[Case]


DATA = Path(__file__).parents[2] / "data" / "server"
NAMESPACE = "demo"
# What stands in the recordings for every time that the real server set itself.
NOW = "2026-01-01T00:00:00Z"
# Where the addresses of the recorded services come from.
NETWORK = IPv4Network("10.0.0.0/24")
IRREGULAR = {
    "DeviceClass": "deviceclasses",
    "ValidatingAdmissionPolicy": "validatingadmissionpolicies",
    "Endpoints": "endpoints",
    "Ingress": "ingresses",
    "NetworkPolicy": "networkpolicies",
    "StorageClass": "storageclasses",
    "IngressClass": "ingressclasses",
    "PriorityClass": "priorityclasses",
    "RuntimeClass": "runtimeclasses",
    "VolumeAttributesClass": "volumeattributesclasses",
}


def recorded(file: str) -> list[Case]:
    return msgspec.json.decode((DATA / file).read_bytes(), type=Recorded).cases


def cases(file: str) -> pytest.MarkDecorator:
    found = recorded(file)
    return pytest.mark.parametrize("case", found, ids=[case.name for case in found])


def kind_of(obj: Plain) -> tuple[str, str, str]:
    group, _, version = obj["apiVersion"].rpartition("/")
    return group, version, obj["kind"]


def hooks_for(obj: Plain, part: str = "") -> StrategyHooks:
    group, _, kind = kind_of(obj)
    resource = IRREGULAR.get(kind, f"{kind.lower()}s")
    return hooks_of(group, f"{resource}/{part}" if part else resource)


def decoded(obj: Plain) -> Plain:
    """Decode an object as the server does, with the structs that Go writes though they are empty."""
    found, _ = of_kind(*kind_of(obj)).codec.decode(copy.deepcopy(obj))
    return {"apiVersion": obj["apiVersion"], "kind": obj["kind"], **found}


def stored(obj: Plain) -> Plain:
    """Give an object the shape in which hooks see it."""
    group, version, kind = kind_of(obj)
    return to_storage(obj, kind, group, version)


def as_response(obj: Plain) -> Plain:
    """Convert an object to the shape of a response, with its defaults."""
    group, version, kind = kind_of(obj)
    shown = from_storage(obj, kind, group, version)
    apply_defaults(group, version, kind, shown)
    return shown


def create(obj: Plain, allocate: Allocator, *others: Plain, like: Plain | None = None) -> Plain:
    """Do what a server does with a new object, as far as its kind and the other objects matter."""
    obj, hooks = copy.deepcopy(obj), hooks_for(obj)
    apply_defaults(*kind_of(obj), obj)
    if (default_times := of_kind(*kind_of(obj)).behavior.default_times) is not None:
        default_times(obj, allocate.now())
    obj = stored(obj)
    meta = obj.setdefault("metadata", {})
    known = like["metadata"] if like else {"name": "a", "namespace": NAMESPACE, "uid": "u"}
    meta.setdefault("name", known["name"])
    meta |= {key: known.get(key) for key in ("namespace", "uid", "creationTimestamp")}
    obj = admit(obj, stored=others)
    if obj["kind"] not in {"Node", "CustomResourceDefinition"}:
        obj.pop("status", None)
    hooks.record_user(obj, ADMIN)
    hooks.prepare_create(obj, allocate)
    refuse(obj, hooks.validate_create(obj))
    hooks.finish_create(obj)
    return as_response(obj)


def update(obj: Plain, known: Plain, allocate: Allocator) -> Plain:
    """Do what a server does with a changed object, as far as its kind matters."""
    obj, hooks = decoded(obj), hooks_for(obj)
    apply_defaults(*kind_of(obj), obj)
    obj, old = stored(obj), stored(decoded(known))
    fixed = {key: old["metadata"].get(key) for key in ("uid", "creationTimestamp", "namespace")}
    obj["metadata"] = {**obj["metadata"], **fixed}
    obj = admit(obj, old)
    if "status" in old:
        obj["status"] = copy.deepcopy(old["status"])
    hooks.reallocate(obj, old, allocate)
    hooks.prepare_update(obj, old)
    refuse(obj, hooks.validate_update(obj, old))
    return as_response(obj)


def update_status(obj: Plain, known: Plain, part: str) -> Plain:
    """Do what a server does with a changed status, as far as its kind matters."""
    obj, hooks = copy.deepcopy(obj), hooks_for(obj, part)
    apply_defaults(*kind_of(obj), obj)
    obj, old = stored(obj), stored(known)
    hooks.prepare_status(obj, old, Allocator(Allocations(), now=lambda: NOW))
    refuse(obj, hooks.validate_status(obj, old))
    return as_response(obj)


def refuse(obj: Plain, errors: list[Any]) -> None:
    if errors:
        group, _, kind = kind_of(obj)
        raise refused_fields(group, kind, obj["metadata"]["name"], errors)


def meaning(found: object, *, in_status: bool = False) -> object:
    """Leave out what carries no information: what is empty, and counts of a status that are zero."""
    if isinstance(found, dict):
        parts = {key: meaning(found[key], in_status=in_status or key == "status") for key in found}
        return {key: part for key, part in parts.items() if not is_empty(part, in_status=in_status)}
    return [meaning(each, in_status=in_status) for each in found] if isinstance(found, list) else found


def is_empty(found: object, *, in_status: bool) -> bool:
    return found in (None, "", [], {}) or (in_status and not found)


def ports_of(obj: Plain) -> Plain:
    """Put one word in place of ports, which the real server draws by lot."""
    spec = obj.get("spec", {})
    for port in spec.get("ports", []) if obj["kind"] == "Service" else []:
        if "nodePort" in port:
            port["nodePort"] = "some"
    if "healthCheckNodePort" in spec:
        spec["healthCheckNodePort"] = "some"
    if spec.get("clusterIP", "None") != "None":
        spec |= {"clusterIP": "some", "clusterIPs": ["some"]}
    return obj


@cases("created.json")
def test_a_new_object_is_completed_as_on_the_real_server(case: Case) -> None:
    made = create(case.given, Allocator(Allocations(network=NETWORK)), like=case.answer)
    assert meaning(ports_of(made)) == meaning(ports_of(copy.deepcopy(case.answer)))


@cases("refused.json")
def test_a_new_object_is_refused_for_the_reasons_of_the_real_server(case: Case) -> None:
    with pytest.raises(StatusFailure) as refused:
        create(case.given, Allocator(Allocations(network=NETWORK)))
    assert refused.value.code == case.code
    if case.causes:
        assert (refused.value.details or {}).get("causes") == case.causes
    else:
        assert refused.value.message == case.message


@cases("changed.json")
def test_a_change_has_the_outcome_that_it_has_on_the_real_server(case: Case) -> None:
    allocate = Allocator(Allocations(network=NETWORK))
    if case.stored["kind"] == "Service":
        allocate.allocations.reserve(case.stored)
    if not case.causes:
        made = update(case.given, case.stored, allocate)
        assert meaning(ports_of(made)) == meaning(ports_of(copy.deepcopy(case.answer)))
        return
    with pytest.raises(StatusFailure) as refused:
        update(case.given, case.stored, allocate)
    assert (refused.value.details or {}).get("causes") == case.causes


@cases("statuses.json")
def test_a_status_has_the_outcome_that_it_has_on_the_real_server(case: Case) -> None:
    if not case.causes:
        made = update_status(case.given, case.stored, case.part)
        assert meaning(made["status"], in_status=True) == meaning(case.answer["status"], in_status=True)
        return
    with pytest.raises(StatusFailure) as refused:
        update_status(case.given, case.stored, case.part)
    causes = (refused.value.details or {}).get("causes", [])
    # Amounts are looked at in no order there.
    assert sorted(causes, key=repr) == sorted(case.causes, key=repr)


@pytest.mark.parametrize("case", [each for each in recorded("created.json") if "pod" in each.name])
def test_validation_does_not_modify_the_object(case: Case) -> None:
    before = copy.deepcopy(case.answer)
    hooks = hooks_for(case.answer)
    hooks.validate_create(case.answer)
    hooks.validate_update(case.answer, case.answer)
    assert case.answer == before


def test_a_resource_without_hooks_has_hooks_that_do_nothing() -> None:
    hooks, thing = hooks_of("example.com", "things"), {"spec": {"a": 1}}
    allocate = Allocator(Allocations())
    assert hooks.admit_create(thing, allocate) is None
    hooks.prepare_create(thing, allocate)
    hooks.reallocate(thing, thing, allocate)
    hooks.prepare_update(thing, thing)
    hooks.finish_create(thing)
    hooks.prepare_status(thing, thing, allocate)
    assert hooks.validate_create(thing) == hooks.validate_update(thing, thing) == []
    assert hooks.validate_status(thing, thing) == []
    assert thing == {"spec": {"a": 1}}


def test_hooks_are_made_once() -> None:
    assert hooks_of("", "pods") is hooks_of("", "pods")


def test_the_status_has_the_hooks_of_its_resource_and_other_subresources_have_their_own() -> None:
    assert hooks_of("apps", "deployments/status") == hooks_of("apps", "deployments")
    assert hooks_of("apps", "deployments/scale") == NO_HOOKS
    requests = "certificatesigningrequests"
    approval = hooks_of("certificates.k8s.io", f"{requests}/approval")
    assert approval.validate_status is not hooks_of("certificates.k8s.io", requests).validate_status


POD: Plain = {
    "apiVersion": "v1",
    "kind": "Pod",
    "metadata": {"name": "a"},
    "spec": {"containers": [{"name": "c", "image": "i"}]},
}
SERVICE: Plain = {
    "apiVersion": "v1",
    "kind": "Service",
    "metadata": {"name": "a"},
    "spec": {"type": "NodePort", "ports": [{"port": 80}]},
}


PRIORITY_CLASS: Plain = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass"}
STORAGE_CLASS: Plain = {"apiVersion": "storage.k8s.io/v1", "kind": "StorageClass", "provisioner": "example.com/disk"}


def test_a_pod_takes_its_priority_from_the_class_that_it_names() -> None:
    high = {**PRIORITY_CLASS, "metadata": {"name": "high"}, "value": 7, "preemptionPolicy": "Never"}
    pod = copy.deepcopy(POD)
    pod["spec"]["priorityClassName"] = "high"
    spec = create(pod, Allocator(Allocations()), high)["spec"]
    assert (spec["priority"], spec["preemptionPolicy"]) == (7, "Never")


def test_a_pod_that_names_no_class_is_of_the_default_one() -> None:
    usual = {**PRIORITY_CLASS, "metadata": {"name": "usual"}, "value": 5, "globalDefault": True}
    spec = create(POD, Allocator(Allocations()), usual)["spec"]
    assert (spec["priorityClassName"], spec["priority"]) == ("usual", 5)


def test_a_claim_that_names_no_class_is_of_the_newest_default_one() -> None:
    marked = {"storageclass.kubernetes.io/is-default-class": "true"}
    classes = [
        {**STORAGE_CLASS, "metadata": {"name": name, "creationTimestamp": since, "annotations": marked}}
        for name, since in (("old", "2020-01-01T00:00:00Z"), ("new", "2021-01-01T00:00:00Z"))
    ]
    spec = {"accessModes": ["ReadWriteOnce"], "resources": {"requests": {"storage": "1Gi"}}}
    claim: Plain = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "spec": spec}
    assert create(claim, Allocator(Allocations()), *classes)["spec"]["storageClassName"] == "new"
    claim["spec"]["storageClassName"] = ""
    assert create(claim, Allocator(Allocations()), *classes)["spec"]["storageClassName"] == ""


def test_a_certificate_request_records_the_requesting_user() -> None:
    pem = "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlJQgotLS0tLUVORCBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0K"
    spec = {"request": pem, "signerName": "example.com/a", "usages": ["client auth"], "username": "root"}
    request = {"apiVersion": "certificates.k8s.io/v1", "kind": "CertificateSigningRequest", "spec": spec}
    made = create(request, Allocator(Allocations()))["spec"]
    assert made["username"] == "kubernetes-admin"
    assert made["groups"] == ["system:masters", "system:authenticated"]


@pytest.mark.parametrize("labels", [{}, {"app": "x"}])
def test_a_job_without_labels_gets_those_of_its_pods(labels: dict[str, str]) -> None:
    template = {"metadata": {"labels": labels}, "spec": {**POD["spec"], "restartPolicy": "Never"}}
    job = {"apiVersion": "batch/v1", "kind": "Job", "metadata": {"name": "j"}, "spec": {"template": template}}
    made = create(job, Allocator(Allocations()))
    assert made["metadata"]["labels"] == made["spec"]["template"]["metadata"]["labels"]
    assert made["metadata"]["labels"]["job-name"] == "j"


def test_two_services_get_addresses_and_ports_of_their_own() -> None:
    allocate = Allocator(Allocations())
    one, other = create(SERVICE, allocate), create(SERVICE, allocate)
    assert (one["spec"]["clusterIP"], other["spec"]["clusterIP"]) == ("10.0.0.1", "10.0.0.2")
    assert [each["spec"]["ports"][0]["nodePort"] for each in (one, other)] == [30000, 30001]


def test_allocations_of_a_refused_request_are_released() -> None:
    allocate = Allocator(Allocations())
    create(SERVICE, allocate)
    allocate.undo()
    assert create(SERVICE, allocate)["spec"]["clusterIP"] == "10.0.0.1"


def test_a_refused_write_releases_nothing_of_a_write_that_waits() -> None:
    allocations = Allocations()
    waiting, refused = Allocator(allocations), Allocator(allocations)
    first, second = create(SERVICE, waiting), create(SERVICE, refused)
    refused.undo()
    third = create(SERVICE, Allocator(allocations))
    addresses = [service["spec"]["clusterIP"] for service in (first, second, third)]
    assert addresses == ["10.0.0.1", "10.0.0.2", "10.0.0.2"]


def test_allocations_of_a_deleted_service_are_released() -> None:
    allocate = Allocator(Allocations())
    made = create(SERVICE, allocate)
    allocate.keep()
    allocate.allocations.release(made)
    assert create(SERVICE, allocate)["spec"]["clusterIP"] == "10.0.0.1"


def test_a_released_address_is_free_once_the_change_is_stored() -> None:
    allocate = Allocator(Allocations())
    made = create(SERVICE, allocate)
    allocate.keep()
    outside = {"type": "ExternalName", "externalName": "a.example", "ports": [{"port": 80}]}
    changed = update({**made, "spec": outside}, made, allocate)
    assert "clusterIP" not in changed["spec"]
    with pytest.raises(AddressInUse):
        allocate.address("10.0.0.1")
    allocate.keep()
    assert allocate.address("10.0.0.1") == "10.0.0.1"


def test_stored_services_keep_their_allocations_after_a_restart() -> None:
    made = create(SERVICE, Allocator(Allocations()))
    allocate = Allocator(Allocations())
    allocate.allocations.reserve(made)
    wanted = copy.deepcopy(SERVICE)
    wanted["spec"]["clusterIP"] = "10.0.0.1"
    with pytest.raises(StatusFailure, match="provided IP is already allocated"):
        create(wanted, allocate)
    assert create(SERVICE, allocate)["spec"]["clusterIP"] == "10.0.0.2"


@pytest.mark.parametrize(
    ("address", "why"),
    [
        ("1.2.3.4", r"the provided IP \(1\.2\.3\.4\) is not in the valid range"),
        ("10.0.0.0", "the provided network does not match the current range"),
    ],
)
def test_an_address_outside_of_the_range_is_refused(address: str, why: str) -> None:
    wanted = copy.deepcopy(SERVICE)
    wanted["spec"]["clusterIP"] = address
    with pytest.raises(StatusFailure, match=why):
        create(wanted, Allocator(Allocations()))


def test_a_node_port_outside_of_the_range_is_refused() -> None:
    wanted = copy.deepcopy(SERVICE)
    wanted["spec"]["ports"][0]["nodePort"] = 80
    with pytest.raises(StatusFailure, match=r"valid range\. The range of valid ports is 30000-32767"):
        create(wanted, Allocator(Allocations()))


def test_a_full_network_is_reported_as_full() -> None:
    allocate = Allocator(Allocations(network=IPv4Network("10.0.0.0/30")))
    create(SERVICE, allocate)
    create(SERVICE, allocate)
    with pytest.raises(StatusFailure, match="range is full"):
        create(SERVICE, allocate)


@given(st.lists(st.sampled_from(["take", "keep", "undo", "drop"])))
def test_no_address_is_allocated_twice_or_leaked(steps: list[str]) -> None:
    allocate = Allocator(Allocations(network=IPv4Network("10.0.0.0/28")))
    kept: set[str] = set()
    drafted: set[str] = set()
    dropped: set[str] = set()
    for step in steps:
        if step == "take":
            try:
                address = allocate.address()
            except RangeExhausted:
                assert len(kept | drafted) == 14
                continue
            assert address not in kept | drafted
            drafted.add(address)
        elif step == "drop" and kept - dropped:
            address = min(kept - dropped)
            allocate.drop_address(address)
            dropped.add(address)
        elif step == "keep":
            allocate.keep()
            kept, drafted, dropped = (kept | drafted) - dropped, set(), set()
        elif step == "undo":
            allocate.undo()
            drafted, dropped = set(), set()


def test_a_runtime_keeps_its_handler() -> None:
    runtime = {"apiVersion": "node.k8s.io/v1", "kind": "RuntimeClass", "metadata": {"name": "a"}}
    with pytest.raises(StatusFailure, match="handler: Required value"):
        create(runtime, Allocator(Allocations()))
    known = create({**runtime, "handler": "a"}, Allocator(Allocations()))
    with pytest.raises(StatusFailure, match='handler: Invalid value: "b": field is immutable'):
        update({**known, "handler": "b"}, known, Allocator(Allocations()))


def test_a_revision_keeps_its_data() -> None:
    revision = {
        "apiVersion": "apps/v1",
        "kind": "ControllerRevision",
        "metadata": {"name": "a"},
        "revision": 1,
    }
    with pytest.raises(StatusFailure, match="data: Required value: data is mandatory"):
        create(revision, Allocator(Allocations()))
    known = create({**revision, "data": {"a": [None, 1]}}, Allocator(Allocations()))
    assert update({**known, "revision": 2}, known, Allocator(Allocations()))["revision"] == 2
    with pytest.raises(StatusFailure, match=r'data: Invalid value: \{"a":1\}: field is immutable'):
        update({**known, "data": {"a": 1}}, known, Allocator(Allocations()))


def test_the_spec_of_a_volume_attachment_is_validated_and_immutable() -> None:
    spec = {"attacher": "a.example", "nodeName": "n", "source": {"persistentVolumeName": "v"}}
    wanted = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttachment", "metadata": {"name": "a"}}
    known = create({**wanted, "spec": spec}, Allocator(Allocations()))
    with pytest.raises(StatusFailure, match=r'spec: Invalid value: \{"Attacher":.*field is immutable'):
        update({**known, "spec": {**spec, "nodeName": "m"}}, known, Allocator(Allocations()))
    with pytest.raises(StatusFailure, match="must specify exactly one of inlineVolumeSpec and persistentVolumeName"):
        create({**wanted, "spec": {**spec, "source": {}}}, Allocator(Allocations()))


def test_a_volume_attributes_class_is_protected_and_immutable() -> None:
    attributes = {"driverName": "a.example", "parameters": {"k": "v"}}
    kind = {"apiVersion": "storage.k8s.io/v1", "kind": "VolumeAttributesClass", "metadata": {"name": "a"}}
    known = create({**kind, **attributes}, Allocator(Allocations()))
    assert known["metadata"]["finalizers"] == ["kubernetes.io/vac-protection"]
    with pytest.raises(StatusFailure, match="parameters: Forbidden: updates to parameters are forbidden"):
        update({**known, "parameters": {"k": "w"}}, known, Allocator(Allocations()))


def test_a_device_taint_records_when_its_effect_began() -> None:
    times = iter(["2026-01-01T00:00:01Z", "2026-01-01T00:00:02Z"])
    allocate = Allocator(Allocations(), now=lambda: next(times))
    rule: Plain = {
        "apiVersion": "resource.k8s.io/v1beta2",
        "kind": "DeviceTaintRule",
        "metadata": {"name": "a"},
    }
    first = create({**rule, "spec": {"taint": {"key": "k", "effect": "NoSchedule"}}}, allocate)
    assert first["spec"]["taint"]["timeAdded"] == "2026-01-01T00:00:01Z"
    same = copy.deepcopy(first)
    assert update(same, first, allocate)["spec"]["taint"]["timeAdded"] == "2026-01-01T00:00:01Z"
    same["spec"]["taint"]["effect"] = "NoExecute"
    assert update(same, first, allocate)["spec"]["taint"]["timeAdded"] == "2026-01-01T00:00:02Z"


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ("nope", "invalid character 'o' in literal null (expecting 'u')"),
        ("", "unexpected end of JSON input"),
        ("[1]", "json: cannot unmarshal array into Go value of type map[string]interface {}"),
        ("5", "json: cannot unmarshal number into Go value of type map[string]interface {}"),
        ("null", ""),
        ("{}", ""),
    ],
)
def test_credentials_for_a_registry_are_json(written: str, problem: str) -> None:
    key = ".dockerconfigjson"
    secret = {"type": f"kubernetes.io/{key[1:]}", "data": {key: base64.b64encode(written.encode()).decode()}}
    found = hooks_of("", "secrets").validate_create({"metadata": {"name": "a"}, **secret})
    assert [each.detail for each in found] == ([problem] if problem else [])
