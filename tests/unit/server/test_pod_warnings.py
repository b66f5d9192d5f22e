"""Warnings about pods and their templates, with the texts of kube-apiserver 1.36.4."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.unit.server.builtin import hooks_of, on_create, on_update

from masthead_server.resources.allocator import Allocations, Allocator

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

OLD_OS: dict[str, Any] = {"nodeSelector": {"beta.kubernetes.io/os": "linux"}}
OS = 'deprecated since v1.14; use "kubernetes.io/os" instead'
ARCH = 'deprecated since v1.14; use "kubernetes.io/arch" instead'
IN_PODS = "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior"
DOTS = "a DNS label is recommended: [must not contain dots]"
FRACTION = 'fractional byte value "1500m" is invalid, must be an integer'
HIDES = 'hides previous definition of "A", which may be dropped when using apply'
NO_POD = "a null labelSelector results in matching no pod"
LONG_WAY = 'should be in RFC 5952 canonical format ("fd00::1")'
APPARMOR = "container.apparmor.security.beta.kubernetes.io/c"
APPARMOR_FIELD = 'deprecated since v1.30; use the "appArmorProfile" field instead'
MANY_INDEXES = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4,"
    " Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
)


def obj(name: str = "web", *, annotations: dict[str, str] | None = None, **fields: Any) -> Plain:
    return {"metadata": {"name": name, "generation": 1, "annotations": annotations or {}}, **fields}


def of_pod(name: str = "web", *, annotations: dict[str, str] | None = None, **spec: Any) -> list[str]:
    pod = obj(name, annotations=annotations, spec={"containers": [{"name": "c", "image": "i"}], **spec})
    allocator = Allocator(Allocations())
    hooks_of("", "pods").prepare_create(pod, allocator)
    return [*allocator.warnings, *on_create("", "pods", pod)]


def of_container(**fields: Any) -> list[str]:
    return of_pod(containers=[{"name": "c", **fields}])


def template(**spec: Any) -> Plain:
    return {"template": {"spec": {"containers": [{"name": "c"}], **spec}}}


def changed(found: Plain) -> Plain:
    return {**found, "metadata": {**found["metadata"], "generation": 2}}


def test_a_pods_name_is_its_hosts_name() -> None:
    expected = "metadata.name: this is used in the Pod's hostname, which can result in surprising behavior"

    assert of_pod("a.b") == [f"{expected}; {DOTS}"]
    both = "[must be no more than 63 characters must not contain dots]"
    assert of_pod("a." + "a" * 70) == [f"{expected}; a DNS label is recommended: {both}"]


def test_nodes_are_chosen_by_labels_that_have_newer_names() -> None:
    expression = {"key": "beta.kubernetes.io/arch", "operator": "In", "values": ["ok", "a b"]}
    affinity = {
        "requiredDuringSchedulingIgnoredDuringExecution": {"nodeSelectorTerms": [{"matchExpressions": [expression]}]},
        "preferredDuringSchedulingIgnoredDuringExecution": [{"preference": {"matchExpressions": [expression]}}],
    }
    zones = [{"topologyKey": "failure-domain.beta.kubernetes.io/zone"}, {"labelSelector": {}}]

    found = of_pod(**OLD_OS, affinity={"nodeAffinity": affinity}, topologySpreadConstraints=zones)

    at = "spec.affinity.nodeAffinity"
    terms = "requiredDuringSchedulingIgnoredDuringExecution.nodeSelectorTerms[0]"
    preference = "preferredDuringSchedulingIgnoredDuringExecution[0].preference"
    assert found[:3] == [
        f"spec.nodeSelector[beta.kubernetes.io/os]: {OS}",
        f"{at}.{terms}.matchExpressions[0].key: beta.kubernetes.io/arch is {ARCH}",
        f"{at}.{preference}.matchExpressions[0].key: beta.kubernetes.io/arch is {ARCH}",
    ]
    assert found[3].startswith(f"{at}.{preference}.matchExpressions[0].values[1]: a b is invalid, a valid label")
    assert found[4:] == [
        (
            "spec.topologySpreadConstraints[0].topologyKey: failure-domain.beta.kubernetes.io/zone is"
            ' deprecated since v1.17; use "topology.kubernetes.io/zone" instead'
        ),
        f"spec.topologySpreadConstraints[0].labelSelector: {NO_POD}",
    ]


def test_pod_affinity_without_a_label_selector_is_warned_of() -> None:
    required, preferred = (f"{how}DuringSchedulingIgnoredDuringExecution" for how in ("required", "preferred"))
    terms = {required: [{"topologyKey": "k"}, {"labelSelector": {}}], preferred: [{"podAffinityTerm": {}}]}

    assert of_pod(affinity={"podAffinity": terms, "podAntiAffinity": terms}) == [
        f"spec.affinity.{side}.{path}: {NO_POD}"
        for side in ("podAffinity", "podAntiAffinity")
        for path in (f"{required}[0].labelSelector", f"{preferred}[0].podAffinityTerm.labelSelector")
    ]


def test_annotations_that_became_fields_are_warned_of_with_apparmor_before_the_name() -> None:
    annotations = {
        "security.alpha.kubernetes.io/sysctls": "x",
        "scheduler.alpha.kubernetes.io/critical-pod": "",
        "seccomp.security.alpha.kubernetes.io/pod": "runtime/default",
        "container.seccomp.security.alpha.kubernetes.io/c": "runtime/default",
        APPARMOR: "unconfined",
    }
    found = of_pod("a.b", annotations=annotations)

    assert [each.partition(": ")[0] for each in found] == [
        f"metadata.annotations[{APPARMOR}]",
        "metadata.name",
        "metadata.annotations[scheduler.alpha.kubernetes.io/critical-pod]",
        "metadata.annotations[security.alpha.kubernetes.io/sysctls]",
        "metadata.annotations[seccomp.security.alpha.kubernetes.io/pod]",
        "metadata.annotations[container.seccomp.security.alpha.kubernetes.io/c]",
    ]
    assert found[0].endswith(APPARMOR_FIELD)
    assert found[-1].endswith('non-functional in v1.27+; use the "seccompProfile" field instead')


@pytest.mark.parametrize(
    ("annotation", "profile"),
    [
        ("runtime/default", {"type": "RuntimeDefault"}),
        ("unconfined", {"type": "Unconfined"}),
        ("localhost/a/b", {"type": "Localhost", "localhostProfile": "a/b"}),
    ],
)
def test_an_apparmor_annotation_that_the_pods_field_repeats_is_fine(annotation: str, profile: Plain) -> None:
    annotations = {APPARMOR: annotation}

    assert of_pod(annotations=annotations, securityContext={"appArmorProfile": profile}) == []
    other = {"appArmorProfile": {"type": "Localhost", "localhostProfile": "other"}}
    assert len(of_pod(annotations=annotations, securityContext=other)) == 1
    assert of_pod(annotations=annotations, os={"name": "windows"}) == []


def test_removed_volume_plugins_are_warned_of() -> None:
    assert of_pod(volumes=[{"name": "a", "emptyDir": {}}, {"name": "b", "storageos": {}}]) == [
        "spec.volumes[1].storageOS: deprecated in v1.22, non-functional in v1.25+"
    ]
    assert of_pod(volumes=[{"name": "b", "gitRepo": {"repository": "x"}}]) == [
        "spec.volumes[0].gitRepo: deprecated in v1.11, and disabled by default in v1.33+"
    ]


def test_overlapping_files_are_warned_of() -> None:
    keys = [{"key": "a", "path": "p"}, {"key": "b", "path": "p/q/"}, {"key": "c", "path": "pq"}]

    assert of_pod(volumes=[{"name": "v", "configMap": {"name": "m", "items": keys}}]) == [
        'volume "v" (ConfigMap "m"): overlapping paths: "p/q" with "p"'
    ]
    sources = [
        {"configMap": {"name": "m", "items": keys[:1]}},
        {"secret": {"name": "s", "items": [{"key": "a", "path": "p/z"}]}},
        {"downwardAPI": {"items": [{"path": "p/1"}]}},
        {"serviceAccountToken": {"path": "p/2"}},
        {},
    ]
    of_volume = 'volume "y" (Projected)'
    assert of_pod(volumes=[{"name": "y", "projected": {"sources": sources}}]) == [
        f'{of_volume}: overlapping paths: "p/z" (Secret "s") with "p" (ConfigMap "m")',
        f'{of_volume}: overlapping paths: "p/1" (DownwardAPI) with "p" (ConfigMap "m")',
        f'{of_volume}: overlapping paths: "p/2" (ServiceAccountToken) with "p" (ConfigMap "m")',
        f"{of_volume} has no sources provided",
    ]


def test_duplicate_entries_of_lists_are_warned_of() -> None:
    assert of_pod(imagePullSecrets=[{"name": "a"}, {"name": "a"}, {}]) == [
        'spec.imagePullSecrets[1].name: duplicate name "a"',
        'spec.imagePullSecrets[2].name: invalid empty name ""',
    ]
    assert of_pod(hostAliases=[{"ip": "1.2.3.4"}, {"ip": "1.2.3.4"}, {"ip": "FD00::1"}]) == [
        'spec.hostAliases[1].ip: duplicate ip "1.2.3.4"',
        f'spec.hostAliases[2].ip: IPv6 address "FD00::1" {LONG_WAY}',
    ]


@pytest.mark.parametrize("amount", ["1Gi", "512", "1e3", "1.5Ki", "0.5k", "128M", "5"])
def test_whole_bytes_are_fine(amount: str) -> None:
    assert of_container(resources={"limits": {"memory": amount}}) == []


def test_fractions_of_bytes_are_warned_of_memory_first() -> None:
    amounts = {"ephemeral-storage": "1.5", "memory": "1500m", "cpu": "1500m"}

    assert of_container(resources={"limits": amounts, "requests": amounts}) == [
        f"spec.containers[0].resources.{side}[{name}]: {FRACTION}"
        for name in ("memory", "ephemeral-storage")
        for side in ("limits", "requests")
    ]


def test_a_variable_may_build_on_an_earlier_one_but_not_hide_it() -> None:
    values: list[Plain] = [{"value": "1"}, {"value": "2"}, {"value": "$(A)3"}, {"value": "$(A)"}]
    values += [{"valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}}]

    assert of_container(env=[{"name": "A", **value} for value in values]) == [
        f"spec.containers[0].env[{index}]: {HIDES}" for index in (1, 3, 4)
    ]


def test_conflicting_ports_are_warned_of() -> None:
    ports = [
        {"containerPort": 80, "protocol": "TCP", "hostPort": 80},
        {"containerPort": 80, "protocol": "UDP"},
        {"containerPort": 80, "protocol": "TCP", "hostPort": 80, "hostIP": "1.2.3.4"},
        {"containerPort": 80, "protocol": "TCP", "hostIP": "1.2.3.4", "name": "x"},
        {"containerPort": 80, "protocol": "TCP", "hostPort": 80},
        {"containerPort": 81, "protocol": "TCP", "name": "x"},
    ]
    at = [f"spec.containers[0].ports[{index}]" for index in range(6)]

    assert of_container(ports=ports) == [
        f"{at[2]}: dangerously ambiguous port definition with {at[0]}",
        (f"{at[3]}: hostIP set without hostPort: {{Name:x HostPort:0 ContainerPort:80 Protocol:TCP HostIP:1.2.3.4}}"),
        f"{at[3]}: overlapping port definition with {at[0]}",
        f"{at[3]}: overlapping port definition with {at[2]}",
        f"{at[4]}: duplicate port definition with {at[0]}",
        f"{at[4]}: dangerously ambiguous port definition with {at[2]}",
        f"{at[4]}: overlapping port definition with {at[3]}",
        (
            f'{at[5]}: duplicate port name "x" with {at[3]}, services and probes that select ports by name'
            f" will use {at[3]}"
        ),
    ]


def test_name_servers_should_be_written_the_short_way() -> None:
    assert of_pod(dnsConfig={"nameservers": ["1.2.3.4", "FD00::1", "fd00::1"]}) == [
        f'spec.dnsConfig.nameservers[1]: IPv6 address "FD00::1" {LONG_WAY}'
    ]


def test_updates_of_pods_are_not_checked() -> None:
    pod = obj("a.b", spec={"containers": [{"name": "c"}], **OLD_OS})

    assert on_update("", "pods", changed(pod), pod) == []


@pytest.mark.parametrize(
    ("group", "resource"), [("apps", "deployments"), ("apps", "replicasets"), ("", "replicationcontrollers")]
)
def test_a_workloads_template_is_warned_of_on_create_and_with_each_generation(group: str, resource: str) -> None:
    found = obj("a.b", spec=template(**OLD_OS, terminationGracePeriodSeconds=-1))
    expected = [
        f"spec.template.spec.nodeSelector[beta.kubernetes.io/os]: {OS}",
        (
            "spec.template.spec.terminationGracePeriodSeconds: must be >= 0;"
            " negative values are invalid and will be treated as 1"
        ),
    ]

    assert on_create(group, resource, found) == [f"{IN_PODS}; {DOTS}", *expected]
    assert on_update(group, resource, changed(found), found) == expected
    assert on_update(group, resource, found, found) == []


def test_a_replication_controllers_update_is_warned_of_the_template_before_it() -> None:
    old, new = obj(spec=template(**OLD_OS)), changed(obj(spec=template()))

    assert on_update("", "replicationcontrollers", new, old) == [
        f"spec.template.spec.nodeSelector[beta.kubernetes.io/os]: {OS}"
    ]
    assert on_update("apps", "deployments", new, old) == []


def test_daemon_sets_may_have_dots_and_count_their_templates_themselves() -> None:
    counter = "deprecated.daemonset.template.generation"
    old = obj("a.b", annotations={counter: "1"}, spec=template(**OLD_OS))
    new = obj("a.b", annotations={counter: "2"}, spec=template(**OLD_OS))
    expected = [f"spec.template.spec.nodeSelector[beta.kubernetes.io/os]: {OS}"]

    assert on_create("apps", "daemonsets", old) == expected
    assert on_update("apps", "daemonsets", new, old) == expected
    assert on_update("apps", "daemonsets", changed(old), old) == []


def test_a_stateful_sets_claims_are_spelled_differently_in_an_update() -> None:
    claims = [{"spec": {"resources": {"requests": {"storage": "1500m"}}}}]
    found = obj(spec={**template(**OLD_OS), "volumeClaimTemplates": claims, "revisionHistoryLimit": -1})
    of_template = f"spec.template.spec.nodeSelector[beta.kubernetes.io/os]: {OS}"
    history = (
        "spec.revisionHistoryLimit: a negative value retains all historical revisions; a value >= 0 is recommended"
    )
    claim, again = (f"spec.volumeClaimTemplates[0]{way}.resources.requests[storage]" for way in ("", ".Spec"))

    assert on_create("apps", "statefulsets", found) == [of_template, f"{claim}: {FRACTION}", history]
    assert on_update("apps", "statefulsets", found, found) == [f"{again}: {FRACTION}", history]
    assert on_update("apps", "statefulsets", changed(found), found)[0] == of_template


def test_templates_of_pods_in_other_places_have_other_paths() -> None:
    spec = {"completionMode": "Indexed", "completions": 100_001, "parallelism": 10_001, **template(**OLD_OS)}
    job, cron = obj(spec=spec), obj(spec={"jobTemplate": {"spec": spec}})

    assert on_create("batch", "jobs", job) == [
        f"spec: {MANY_INDEXES}",
        f"spec.template.spec.nodeSelector[beta.kubernetes.io/os]: {OS}",
    ]
    assert on_update("batch", "cronjobs", changed(cron), cron) == [
        f"spec.jobTemplate.spec: {MANY_INDEXES}",
        f"spec.jobTemplate.spec.template.spec.nodeSelector[beta.kubernetes.io/os]: {OS}",
    ]
    assert on_create("", "podtemplates", obj(**template(**OLD_OS))) == [
        f"template.spec.nodeSelector[beta.kubernetes.io/os]: {OS}"
    ]
