"""Decoding as Go does it: which zeros stay, and what a value of the wrong type is called."""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any, cast

import pytest

from masthead._meta.gvk import GroupVersionResource
from masthead_server.resources.catalog import Catalog
from masthead_server.resources.codec import GoCodec
from masthead_server.resources.go_decoder import Mismatch

if TYPE_CHECKING:
    from masthead_server.resources.go_decoder import GoDecoder

Plain = dict[str, Any]

CONTAINER = ("spec", "containers", 0)


def decoder_of(group: str, resource: str) -> GoDecoder:
    codec = Catalog.builtin().require(GroupVersionResource(group, "v1", resource)).codec
    assert isinstance(codec, GoCodec)
    return codec.decoder


def holder(obj: Plain, path: tuple[str | int, ...]) -> Plain:
    found: Any = obj
    for step in path:
        found = found[step]
    return cast("Plain", found)


POD: Plain = {"spec": {"containers": [{"name": "c", "securityContext": {}, "ports": [{"containerPort": 1}]}]}}
DEPLOYMENT: Plain = {"spec": {"template": {}}, "status": {}}


@pytest.mark.parametrize(
    ("group", "resource", "obj", "path", "field", "zero"),
    [
        ("", "pods", POD, ("spec",), "hostNetwork", False),
        ("", "pods", POD, ("spec",), "nodeName", ""),
        ("", "pods", POD, CONTAINER, "tty", False),
        ("", "pods", POD, CONTAINER, "workingDir", ""),
        ("", "pods", POD, (*CONTAINER, "ports", 0), "hostPort", 0),
        ("apps", "deployments", DEPLOYMENT, ("spec",), "minReadySeconds", 0),
        ("apps", "deployments", DEPLOYMENT, ("spec",), "paused", False),
        ("apps", "deployments", DEPLOYMENT, ("status",), "readyReplicas", 0),
        ("", "services", {"spec": {}}, ("spec",), "publishNotReadyAddresses", False),
        ("", "configmaps", {"metadata": {}}, ("metadata",), "generateName", ""),
    ],
)
def test_a_zero_that_go_omits_is_dropped(
    group: str, resource: str, obj: Plain, path: tuple[str | int, ...], field: str, zero: object
) -> None:
    given = copy.deepcopy(obj)
    holder(given, path)[field] = zero
    cleaned, unknown = decoder_of(group, resource).clean(given)
    assert field not in holder(cleaned, path)
    assert unknown == []


@pytest.mark.parametrize(
    ("group", "resource", "obj", "path", "field", "zero"),
    [
        ("", "pods", POD, ("spec",), "terminationGracePeriodSeconds", 0),
        ("", "pods", POD, ("spec",), "automountServiceAccountToken", False),
        ("", "pods", POD, (*CONTAINER, "securityContext"), "allowPrivilegeEscalation", False),
        ("", "pods", POD, (*CONTAINER, "securityContext"), "runAsUser", 0),
        ("apps", "deployments", DEPLOYMENT, ("spec",), "replicas", 0),
        ("apps", "replicasets", DEPLOYMENT, ("status",), "replicas", 0),
        ("", "configmaps", {}, (), "immutable", False),
        ("", "persistentvolumeclaims", {"spec": {}}, ("spec",), "storageClassName", ""),
        ("coordination.k8s.io", "leases", {"spec": {}}, ("spec",), "holderIdentity", ""),
    ],
)
def test_a_meaningful_zero_stays(
    group: str, resource: str, obj: Plain, path: tuple[str | int, ...], field: str, zero: object
) -> None:
    given = copy.deepcopy(obj)
    holder(given, path)[field] = zero
    cleaned, _ = decoder_of(group, resource).clean(given)
    assert holder(cleaned, path)[field] == zero


def test_texts_in_lists_and_maps_stay_however_short() -> None:
    pod = copy.deepcopy(POD)
    holder(pod, CONTAINER)["args"] = ["", "a"]
    pod["metadata"] = {"labels": {"a": ""}}
    cleaned, _ = decoder_of("", "pods").clean(pod)
    assert holder(cleaned, CONTAINER)["args"] == ["", "a"]
    assert cleaned["metadata"]["labels"] == {"a": ""}


def test_an_object_without_a_name_gets_no_empty_name() -> None:
    cleaned, _ = decoder_of("", "serviceaccounts").clean({"imagePullSecrets": [{}]})
    assert cleaned["imagePullSecrets"] == [{}]


def test_times_that_go_cannot_omit_are_null() -> None:
    state = {"terminated": {"exitCode": 1}}
    status = {"containerStatuses": [{"name": "c", "state": state}]}
    cleaned, _ = decoder_of("", "pods").clean({"status": status})
    ended = cleaned["status"]["containerStatuses"][0]["state"]["terminated"]
    assert ended == {"exitCode": 1, "startedAt": None, "finishedAt": None}


def problem(group: str, resource: str, obj: Plain) -> str:
    with pytest.raises(Mismatch) as found:
        decoder_of(group, resource).clean(obj)
    return str(found.value)


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"restartPolicy": 1},
            "number into Go struct field PodSpec.spec.restartPolicy of type v1.RestartPolicy",
        ),
        ({"hostNetwork": "x"}, "string into Go struct field PodSpec.spec.hostNetwork of type bool"),
        ({"priority": 2**31}, "number 2147483648 into Go struct field PodSpec.spec.priority of type int32"),
        (
            {"activeDeadlineSeconds": 1.5},
            "number 1.5 into Go struct field PodSpec.spec.activeDeadlineSeconds of type int64",
        ),
        ({"overhead": []}, "array into Go struct field PodSpec.spec.overhead of type v1.ResourceList"),
        ({"containers": {}}, "object into Go struct field PodSpec.spec.containers of type []v1.Container"),
        (
            {"containers": [{"ports": [{"protocol": True}]}]},
            "bool into Go struct field ContainerPort.spec.containers.ports.protocol of type v1.Protocol",
        ),
        (
            {"volumes": [{"configMap": {"name": 1}}]},
            (
                "number into Go struct field ConfigMapVolumeSource.spec.volumes.VolumeSource.configMap"
                ".LocalObjectReference.name of type string"
            ),
        ),
    ],
)
def test_a_value_of_the_wrong_type_is_described_as_go_describes_it(spec: Plain, expected: str) -> None:
    assert problem("", "pods", {"spec": spec}) == f"json: cannot unmarshal {expected}"


def test_the_first_value_of_the_wrong_type_is_reported() -> None:
    pod = {"spec": {"hostNetwork": 1, "hostPID": 2}, "status": 3}
    assert "PodSpec.spec.hostNetwork" in problem("", "pods", pod)


def test_a_type_with_a_decoder_of_its_own_stops_at_its_error() -> None:
    pod = {"spec": {"hostNetwork": 1, "overhead": {"cpu": "x"}, "hostPID": 2}}
    assert problem("", "pods", pod).startswith("quantities must match")


def test_null_in_lists_and_maps_is_the_zero_value() -> None:
    container = {"name": "c", "args": [None, "a"], "ports": [None], "resources": {"limits": {"cpu": None}}}
    cleaned, _ = decoder_of("", "pods").clean({"spec": {"containers": [container]}})
    made = holder(cleaned, CONTAINER)
    assert made["args"] == ["", "a"]
    assert made["ports"] == [{"containerPort": 0}]
    assert made["resources"] == {"limits": {"cpu": "0"}}


def test_schemas_in_schemas_are_cleaned_without_reports() -> None:
    schema = {"items": {"type": "object", "nonsense": 1}, "additionalProperties": False}
    definition = {"spec": {"versions": [{"name": "v1", "schema": {"openAPIV3Schema": schema}}]}}
    cleaned, unknown = decoder_of("apiextensions.k8s.io", "customresourcedefinitions").clean(definition)
    found = cleaned["spec"]["versions"][0]["schema"]["openAPIV3Schema"]
    assert found == {"items": {"type": "object"}, "additionalProperties": False}
    assert unknown == []


def test_a_type_error_in_a_schema_of_a_schema_names_the_whole_path() -> None:
    schema = {"items": {"externalDocs": {"url": 1}}}
    definition = {"spec": {"versions": [{"schema": {"openAPIV3Schema": schema}}]}}
    assert problem("apiextensions.k8s.io", "customresourcedefinitions", definition) == (
        "json: cannot unmarshal number into Go struct field JSONSchemaProps.spec.versions.schema.openAPIV3Schema"
        ".items.externalDocs.url of type string"
    )


def test_the_template_of_a_claim_keeps_its_kind_and_version() -> None:
    claim = {"apiVersion": "v1", "kind": "PersistentVolumeClaim", "metadata": {"name": "data"}}
    cleaned, _ = decoder_of("apps", "statefulsets").clean({"spec": {"volumeClaimTemplates": [claim]}})
    made = cleaned["spec"]["volumeClaimTemplates"][0]
    assert (made["apiVersion"], made["kind"]) == ("v1", "PersistentVolumeClaim")
