"""The resource descriptions of the server, checked against responses of kube-apiserver 1.36.4."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.server.builtin import RESOURCES, served, strategy_of

from masthead._meta.names import problem_with_dns1123_subdomain, problem_with_qualified_name
from masthead_server.resources import names
from masthead_server.resources.strategy import ALL_METADATA

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

SUBDOMAIN_TEXT = (
    "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start"
    " and end with an alphanumeric character (e.g. 'example.com', regex used for validation is"
    r" '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')"
)


def field_values(group: str, resource: str, obj: Plain) -> dict[str, str]:
    return served(group, resource).selectable.values(obj)


@pytest.mark.parametrize("key", RESOURCES)
def test_the_description_of_a_resource_names_the_versions_that_its_code_converts(
    key: tuple[str, str],
) -> None:
    found = served(*key)

    assert found.description.converted == found.behavior.conversions.keys()
    assert found.definition is None


def test_a_resource_that_is_not_built_in_is_treated_as_custom() -> None:
    custom = strategy_of("example.com", "widgets")

    assert custom.has_status
    assert custom.drops_status
    assert custom.status_keeps == ALL_METADATA
    assert "managedFields" not in custom.status_keeps
    assert not custom.unconditional_update
    assert not custom.known_finalizers
    assert custom.first_generation == 1


def test_only_pods_wait_for_a_grace_period() -> None:
    assert [key for key in RESOURCES if strategy_of(*key).graceful] == [("", "pods")]


def test_a_put_creates_a_missing_object_for_a_few_kinds() -> None:
    creating = {resource for group, resource in RESOURCES if strategy_of(group, resource).create_on_update}

    assert creating == {
        "clusterrolebindings",
        "clusterroles",
        "endpoints",
        "events",
        "leasecandidates",
        "leases",
        "limitranges",
        "rolebindings",
        "roles",
        "runtimeclasses",
        "services",
    }


def test_jobs_and_replication_controllers_orphan_dependents_by_default() -> None:
    orphaning = {key for key in RESOURCES if strategy_of(*key).dependents == "orphan"}

    assert orphaning == {("", "replicationcontrollers"), ("batch", "jobs")}


def test_a_node_is_created_with_its_status_and_updated_without() -> None:
    node = strategy_of("", "nodes")

    assert node.has_status
    assert not node.drops_status


@pytest.mark.parametrize(
    ("group", "resource", "before", "after", "generation"),
    [
        ("apps", "deployments", {"spec": {"replicas": 1}}, {"spec": {"replicas": 2}}, 4),
        ("apps", "deployments", {"metadata": {"labels": {"a": "b"}}}, {}, 3),
        ("apps", "deployments", {"metadata": {"annotations": {"a": "b"}}}, {}, 4),
        ("apps", "deployments", {"metadata": {"annotations": {}}}, {}, 3),
        ("apps", "replicasets", {"metadata": {"annotations": {"a": "b"}}}, {}, 3),
        ("apps", "replicasets", {"spec": {"x": []}}, {"spec": {}}, 3),
        ("apps", "replicasets", {"spec": {"x": [{"y": None}]}}, {"spec": {"x": [{}]}}, 3),
        ("apps", "replicasets", {"spec": {"x": [1, 2]}}, {"spec": {"x": [2, 1]}}, 4),
        ("apps", "replicasets", {"spec": {"emptyDir": {}}}, {"spec": {}}, 4),
        ("discovery.k8s.io", "endpointslices", {"metadata": {"labels": {"a": "b"}}}, {}, 4),
        ("discovery.k8s.io", "endpointslices", {"ports": [{"port": 1}]}, {"ports": [{"port": 2}]}, 4),
        ("discovery.k8s.io", "endpointslices", {"metadata": {"annotations": {"a": "b"}}}, {}, 3),
        ("scheduling.k8s.io", "priorityclasses", {"description": "a"}, {"description": "b"}, 3),
        ("", "podtemplates", {"template": {"a": 1}}, {"template": {"a": 2}}, 4),
        ("admissionregistration.k8s.io", "mutatingwebhookconfigurations", {"webhooks": [1]}, {}, 4),
        ("example.com", "widgets", {"anything": 1}, {"anything": 2}, 4),
        ("example.com", "widgets", {"metadata": {"labels": {"a": "b"}}}, {}, 3),
    ],
)
def test_the_generation_rises_with_changes_that_the_kind_counts(
    group: str, resource: str, before: Plain, after: Plain, generation: int
) -> None:
    old = {**before, "metadata": {**before.get("metadata", {}), "generation": 3}}

    assert strategy_of(group, resource).next_generation(after, old) == generation
    assert strategy_of(group, resource).next_generation(old, old) == 3


def test_the_generation_of_a_csi_driver_starts_with_its_first_change() -> None:
    driver = strategy_of("storage.k8s.io", "csidrivers")

    assert driver.first_generation is None
    assert driver.next_generation({"spec": {"a": 1}}, {"metadata": {}}) == 1


def test_a_kind_without_generations_keeps_the_one_that_a_client_wrote() -> None:
    config_map = strategy_of("", "configmaps")

    assert config_map.first_generation is None
    assert config_map.next_generation({"data": {"a": "b"}}, {"metadata": {"generation": 7}}) == 7


@pytest.mark.parametrize(
    ("group", "resource", "name", "expected"),
    [
        ("", "pods", "web.example.com", []),
        ("", "pods", "A", [SUBDOMAIN_TEXT]),
        ("", "pods", "a" * 254, ["must be no more than 253 characters"]),
        ("", "replicationcontrollers", "a" * 254, ["must be no more than 253 bytes"]),
        ("", "services", "1abc", []),
        ("", "services", "a.b", ["must not contain dots"]),
        ("apps", "statefulsets", "a" * 64, ["must be no more than 63 characters"]),
        ("batch", "cronjobs", "a" * 53, ["must be no more than 52 characters"]),
        ("certificates.k8s.io", "certificatesigningrequests", "Any thing/goes", []),
        ("rbac.authorization.k8s.io", "roles", "system:node", []),
        ("rbac.authorization.k8s.io", "roles", "..", ["may not be '..'"]),
        ("rbac.authorization.k8s.io", "roles", "a/b%c", ["may not contain '/'", "may not contain '%'"]),
        ("coordination.k8s.io", "leasecandidates", "Any_thing-", []),
        ("coordination.k8s.io", "leasecandidates", "..a", ["must not start with '..'"]),
        (
            "internal.apiserver.k8s.io",
            "storageversions",
            "a",
            ["name must be in the form of <group>.<resource>"],
        ),
        ("networking.k8s.io", "ipaddresses", "10.0.0.1", []),
        ("networking.k8s.io", "ipaddresses", "010.0.0.1", ["must not have leading 0s"]),
        ("networking.k8s.io", "ipaddresses", "FE80::1", ['must be in canonical form ("fe80::1")']),
        ("networking.k8s.io", "ipaddresses", "::ffff:1.2.3.4", ["must not be an IPv4-mapped IPv6 address"]),
        (
            "networking.k8s.io",
            "ipaddresses",
            "10.0.0.256",
            ["must be a valid IP address, (e.g. 10.9.8.7 or 2001:db8::ffff)"],
        ),
    ],
)
def test_an_invalid_name_is_rejected_with_the_message_of_the_real_server(
    group: str, resource: str, name: str, expected: list[str]
) -> None:
    assert strategy_of(group, resource).name_errors(name, is_prefix=False) == expected


def test_some_names_must_repeat_what_is_in_the_spec() -> None:
    definition = {"spec": {"group": "example.com", "names": {"plural": "widgets"}}}
    service = {"spec": {"group": "example.com", "version": "v1"}}
    bundle = {"spec": {"signerName": "example.com/signer"}}
    crds = strategy_of("apiextensions.k8s.io", "customresourcedefinitions")
    api_services = strategy_of("apiregistration.k8s.io", "apiservices")
    bundles = strategy_of("certificates.k8s.io", "clustertrustbundles")

    assert crds.name_errors("widgets.example.com", is_prefix=False, obj=definition) == []
    assert crds.name_errors("others.example.com", is_prefix=False, obj=definition) == [
        'must be spec.names.plural+"."+spec.group'
    ]
    assert api_services.name_errors("v1.example.com", is_prefix=False, obj=service) == []
    assert api_services.name_errors("v2.example.com", is_prefix=False, obj=service) == [
        'must be `spec.version+"."+spec.group`: "v1.example.com"'
    ]
    assert bundles.name_errors("example.com:signer:a", is_prefix=False, obj=bundle) == []
    assert bundles.name_errors("a", is_prefix=False, obj=bundle) == [
        "ClusterTrustBundle for signerName example.com/signer must be named with prefix example.com:signer:"
    ]
    assert bundles.name_errors("a:b", is_prefix=False, obj={}) == [
        'ClusterTrustBundle without signer name must not have ":" in its name'
    ]


def test_the_beginning_of_a_name_may_end_with_a_dash() -> None:
    pods = strategy_of("", "pods")

    assert pods.name_errors("web-", is_prefix=True) == []
    assert pods.name_errors("web-", is_prefix=False) == [SUBDOMAIN_TEXT]
    assert pods.name_errors("-", is_prefix=True) == [SUBDOMAIN_TEXT]


@given(st.text(max_size=80) | st.from_regex(r"[a-z0-9.-]{1,70}", fullmatch=True))
def test_the_servers_name_patterns_agree_with_the_clients(value: str) -> None:
    assert bool(names.SUBDOMAIN(value)) == (problem_with_dns1123_subdomain(value) is not None)
    assert bool(names.qualified_name(value)) == (problem_with_qualified_name(value) is not None)


@given(st.sampled_from(sorted(RESOURCES)))
def test_every_field_that_can_be_selected_by_has_a_value(key: tuple[str, str]) -> None:
    values = field_values(*key, {"metadata": {"name": "a", "namespace": "b"}})

    assert served(*key).selectable.names <= values.keys()
    assert values["metadata.name"] == "a"
    assert values["metadata.namespace"] == "b"
    assert all(re.fullmatch(r"|false|0|a|b", value) for value in values.values())


def test_flags_and_counts_are_written_as_go_writes_them() -> None:
    assert field_values("", "nodes", {"spec": {"unschedulable": True}})["spec.unschedulable"] == "true"
    assert field_values("", "nodes", {})["spec.unschedulable"] == "false"
    assert field_values("batch", "jobs", {"status": {"succeeded": 3}})["status.successful"] == "3"
    assert field_values("", "replicationcontrollers", {})["status.replicas"] == "0"


def test_a_pod_is_selected_by_its_first_address_and_by_the_old_name_of_its_node() -> None:
    pod = {"spec": {"nodeName": "n"}, "status": {"podIP": "10.0.0.9", "podIPs": [{"ip": "10.0.0.1"}]}}
    values = field_values("", "pods", pod)

    assert values["status.podIP"] == "10.0.0.1"
    assert values["status.podIPs"] == ""
    assert values["spec.host"] == values["spec.nodeName"] == "n"


def test_an_event_is_selected_alike_in_the_shape_of_either_group() -> None:
    core = {"involvedObject": {"name": "web"}, "reportingComponent": "kubelet"}
    newer = {"regarding": {"name": "web"}, "reportingController": "kubelet"}

    assert field_values("", "events", core) == field_values("", "events", newer)
    assert field_values("events.k8s.io", "events", core) == field_values("events.k8s.io", "events", newer)
    assert field_values("events.k8s.io", "events", core)["regarding.name"] == "web"
    assert field_values("events.k8s.io", "events", core)["reportingController"] == "kubelet"
    assert field_values("", "events", core)["involvedObject.name"] == "web"
    assert field_values("", "events", core)["source"] == "kubelet"
    assert field_values("", "events", {**core, "source": {"component": "me"}})["source"] == "me"


def test_an_object_is_not_changed_when_its_fields_are_read() -> None:
    obj: Plain = {}
    field_values("", "pods", obj)

    assert obj == {}


def test_metadata_namespace_is_selectable_for_some_cluster_scoped_kinds() -> None:
    assert "metadata.namespace" in served("", "persistentvolumes").selectable.names
    assert "metadata.namespace" not in served("", "nodes").selectable.names
    assert "metadata.namespace" in served("example.com", "widgets").selectable.names
    assert "metadata.namespace" not in served("example.com", "widgets", namespaced=False).selectable.names
    assert "status.replicas" not in served("apps", "replicasets").selectable.names


@pytest.mark.parametrize(
    ("group", "version", "resource", "expected"),
    [
        ("", "v1", "pods", "field label not supported: x"),
        (
            "",
            "v1",
            "configmaps",
            '"x" is not a known field selector: only "metadata.name", "metadata.namespace"',
        ),
        ("batch", "v1", "jobs", 'field label "x" not supported for Job'),
        (
            "resource.k8s.io",
            "v1beta1",
            "resourceslices",
            "field label not supported for resource.k8s.io/v1beta1, Kind=ResourceSlice: x",
        ),
        ("example.com", "v1", "widgets", "field label not supported: x"),
    ],
)
def test_an_unsupported_field_selector_is_rejected_with_the_message_of_its_kind(
    group: str, version: str, resource: str, expected: str
) -> None:
    found = served(group, resource, version)

    assert found.selectable.unsupported_message("x", found.gvk) == expected
