"""Warnings of the server, with the texts of kube-apiserver 1.36.4."""

from __future__ import annotations

import base64
import json
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.unit.server.builtin import RESOURCES, of_kind, on_create, on_update, served

from masthead_server.resources.warnings.headers import fit
from masthead_server.resources.warnings.owner_references import dedup_owner_references

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

OLD_OS: dict[str, Any] = {"nodeSelector": {"beta.kubernetes.io/os": "linux"}}
OS = 'deprecated since v1.14; use "kubernetes.io/os" instead'
FRACTION = 'fractional byte value "1500m" is invalid, must be an integer'
LONG_WAY = 'should be in RFC 5952 canonical format ("fd00::1")'
STATIC = (
    'metadata.name: names ending with ".static.k8s.io" are reserved for static manifest-based configurations'
    " and cannot be managed via the API"
)
PODS_STAY = (
    "child pods are preserved by default when jobs are deleted; set propagationPolicy=Background to remove them"
    " or set propagationPolicy=Orphan to suppress this warning"
)
TOKENS = (
    "spec.serviceAccountTokenInSecrets is unset; if supported by this CSI driver, set to true to prevent possible"
    " logging of tokens in volume attributes"
)


def obj(name: str = "web", *, annotations: dict[str, str] | None = None, **fields: Any) -> Plain:
    return {"metadata": {"name": name, "generation": 1, "annotations": annotations or {}}, **fields}


def of_service(**spec: Any) -> list[str]:
    return on_create("", "services", obj(spec={"type": "ClusterIP", "sessionAffinity": "None", **spec}))


def changed(found: Plain) -> Plain:
    return {**found, "metadata": {**found["metadata"], "generation": 2}}


@pytest.mark.parametrize(
    ("kind", "expected"),
    [
        (("", "v1", "ComponentStatus"), "v1 ComponentStatus is deprecated in v1.19+"),
        (
            ("", "v1", "Endpoints"),
            "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
        ),
        (
            ("coordination.k8s.io", "v1alpha2", "LeaseCandidate"),
            "coordination.k8s.io/v1alpha2 LeaseCandidate is deprecated in v1.35+, unavailable in v1.38+",
        ),
        (
            ("storage.k8s.io", "v1beta1", "VolumeAttributesClass"),
            (
                "storage.k8s.io/v1beta1 VolumeAttributesClass is deprecated in v1.34+, unavailable in v1.37+;"
                " use storage.k8s.io/v1 VolumeAttributesClass"
            ),
        ),
        (("storage.k8s.io", "v1", "VolumeAttributesClass"), ""),
        (("resource.k8s.io", "v1beta2", "DeviceTaintRule"), ""),
        (("admissionregistration.k8s.io", "v1beta1", "MutatingAdmissionPolicy"), ""),
        (("example.com", "v1", "Endpoints"), ""),
    ],
)
def test_a_deprecated_version_names_its_removal(kind: tuple[str, str, str], expected: str) -> None:
    assert of_kind(*kind).deprecation_warning == expected


@pytest.mark.parametrize("key", sorted(RESOURCES))
def test_a_plain_object_of_any_kind_is_not_warned_of(key: tuple[str, str]) -> None:
    assert on_create(*key, obj()) == []
    assert on_update(*key, changed(obj()), obj()) == []
    assert on_update(key[0], f"{key[1]}/status", obj(), obj()) == []


@pytest.mark.parametrize(
    ("spec", "expected"),
    [
        (
            {"externalIPs": ["FD00::1"]},
            [
                f'spec.externalIPs[0]: IPv6 address "FD00::1" {LONG_WAY}',
                "spec.externalIPs is deprecated and may no longer be implemented in some clusters",
            ],
        ),
        (
            {
                "clusterIP": "None",
                "externalIPs": ["1.2.3.4"],
                "sessionAffinity": "ClientIP",
                "loadBalancerIP": "1.2.3.4",
            },
            [
                "spec.loadBalancerIP is ignored for headless services",
                "spec.externalIPs is ignored for headless services",
                "spec.SessionAffinity is ignored for headless services",
            ],
        ),
        (
            {"type": "ExternalName", "externalName": "a.b", "externalIPs": ["1.2.3.4"]},
            ['spec.externalIPs is ignored when spec.type is "ExternalName"'],
        ),
        ({"externalName": "a.b"}, ['spec.externalName is ignored when spec.type is not "ExternalName"']),
        (
            {"trafficDistribution": "PreferClose"},
            ['spec.trafficDistribution: "PreferClose" is deprecated; use "PreferSameZone"'],
        ),
        (
            {"type": "LoadBalancer", "loadBalancerSourceRanges": ["10.0.0.0/8", "FD00::/64"]},
            [
                (
                    'spec.loadBalancerSourceRanges[1]: IPv6 CIDR value "FD00::/64"'
                    ' should be in RFC 5952 canonical format ("fd00::/64")'
                )
            ],
        ),
    ],
)
def test_warnings_about_services(spec: Plain, expected: list[str]) -> None:
    assert of_service(**spec) == expected


@pytest.mark.parametrize(
    ("address", "better"),
    [("01.2.3.4", "1.2.3.4"), ("::ffff:1.2.3.4", "1.2.3.4"), ("::FFFF:1.2.3.4", "1.2.3.4")],
)
def test_an_address_that_is_not_canonical_is_warned_of(address: str, better: str) -> None:
    assert of_service(type="LoadBalancer", loadBalancerIP=address) == [
        f'spec.loadBalancerIP: non-standard IP address "{address}" is invalid: use "{better}"'
    ]


@given(st.ip_addresses().map(str) | st.text())
def test_canonical_addresses_and_other_text_are_not_warned_of(address: str) -> None:
    is_mapped = address.startswith("::ffff:")
    is_sloppy = all(each.isdigit() for each in address.split("."))

    assert is_mapped or is_sloppy or of_service(loadBalancerIP=address) == []


def test_addresses_in_a_status_are_warned_of() -> None:
    pod = {"status": {"podIPs": [{"ip": "FD00::1"}], "hostIPs": [{"ip": "FD00::1"}]}}
    balancer = {"status": {"loadBalancer": {"ingress": [{"hostname": "x"}, {"ip": "FD00::1"}]}}}

    assert on_update("", "pods/status", pod, {}) == [
        f'status.{name}[0].ip: IPv6 address "FD00::1" {LONG_WAY}' for name in ("podIPs", "hostIPs")
    ]
    for group, resource in (("", "services/status"), ("networking.k8s.io", "ingresses/status")):
        assert on_update(group, resource, balancer, {}) == [
            f'status.loadBalancer.ingress[1]: IPv6 address "FD00::1" {LONG_WAY}'
        ]


def test_endpoints_of_the_servers_own_controller_are_trusted() -> None:
    found = obj(subsets=[{"notReadyAddresses": [{"ip": "FD00::1"}]}])

    assert on_create("", "endpoints", found) == [
        f'subsets[0].notReadyAddresses[0].ip: IPv6 address "FD00::1" {LONG_WAY}'
    ]
    found["metadata"]["labels"] = {"endpoints.kubernetes.io/managed-by": "endpoint-controller"}
    assert on_create("", "endpoints", found) == []


@pytest.mark.parametrize(
    ("group", "resource", "fields", "expected"),
    [
        (
            "discovery.k8s.io",
            "endpointslices",
            {"addressType": "FQDN"},
            "spec.addressType: FQDN endpoints are deprecated",
        ),
        (
            "",
            "nodes",
            {"spec": {"externalID": "x"}},
            "spec.externalID: this field is deprecated, and is unused by Kubernetes",
        ),
        (
            "",
            "resourcequotas",
            {"spec": {"hard": {"memory": "2Gi", "limits.memory": "1Gi", "limits.cpu": "1"}}},
            "ResourceQuota memory (2Gi) should be less than limits.memory (1Gi)",
        ),
        (
            "",
            "persistentvolumeclaims",
            {"spec": {"resources": {"requests": {"storage": "1500m"}}}},
            f"spec.resources.requests[storage]: {FRACTION}",
        ),
        (
            "",
            "persistentvolumes",
            {"spec": {"persistentVolumeReclaimPolicy": "Recycle"}},
            (
                "spec.persistentVolumeReclaimPolicy: The Recycle reclaim policy is deprecated."
                " Instead, the recommended approach is to use dynamic provisioning."
            ),
        ),
        (
            "",
            "persistentvolumes",
            {"spec": {"rbd": {}, "flocker": {}}},
            "spec.rbd: deprecated in v1.28, non-functional in v1.31+",
        ),
        (
            "storage.k8s.io",
            "storageclasses",
            {"allowedTopologies": [{"matchLabelExpressions": [{"key": "beta.kubernetes.io/os"}]}]},
            f"allowedTopologies[0].matchLabelExpressions[0].key: {OS}",
        ),
        (
            "storage.k8s.io",
            "csistoragecapacities",
            {"nodeTopology": {"matchLabels": {"beta.kubernetes.io/os": "x"}}},
            f"nodeTopology.matchLabels.beta.kubernetes.io/os: {OS}",
        ),
        ("storage.k8s.io", "csidrivers", {"spec": {"tokenRequests": [{"audience": "a"}]}}, TOKENS),
        ("node.k8s.io", "runtimeclasses", {"scheduling": OLD_OS}, f"scheduling.nodeSelector: {OS}"),
        (
            "resource.k8s.io",
            "resourceslices",
            {"spec": {"driver": "A.b"}},
            'spec.driver: driver names should be lowercase; "A.b" contains uppercase characters',
        ),
        (
            "networking.k8s.io",
            "networkpolicies",
            {"spec": {"egress": [{"to": [{"ipBlock": {"cidr": "::/0", "except": ["FD00::1/128"]}}]}]}},
            (
                'spec.egress[0].to[0].ipBlock.except[0]: IPv6 CIDR value "FD00::1/128"'
                ' should be in RFC 5952 canonical format ("fd00::1/128")'
            ),
        ),
    ],
)
def test_warnings_about_new_objects(group: str, resource: str, fields: Plain, expected: str) -> None:
    assert on_create(group, resource, obj(**fields)) == [expected]


def test_some_kinds_are_warned_only_of_what_is_new() -> None:
    account = obj(annotations={"kubernetes.io/enforce-mountable-secrets": "true"})
    driver = obj(spec={"tokenRequests": [{"audience": "a"}]})
    ingress = obj(annotations={"kubernetes.io/ingress.class": "x"}, spec={})

    assert len(on_create("", "serviceaccounts", account)) == 1
    assert on_update("", "serviceaccounts", account, obj()) == on_create("", "serviceaccounts", account)
    assert on_update("", "serviceaccounts", account, account) == []
    assert on_update("storage.k8s.io", "csidrivers", driver, driver) == []
    assert on_update("storage.k8s.io", "csidrivers", driver, obj(spec={})) == [TOKENS]
    assert on_create("networking.k8s.io", "ingresses", ingress) == [
        "annotation \"kubernetes.io/ingress.class\" is deprecated, please use 'spec.ingressClassName' instead"
    ]
    assert on_update("networking.k8s.io", "ingresses", ingress, obj()) == []


@pytest.mark.parametrize("suffix", ["", "/status"])
def test_a_reserved_name_is_warned_of_even_in_a_write_of_the_status(suffix: str) -> None:
    found = obj("w.static.k8s.io")

    resource = f"validatingadmissionpolicies{suffix}"
    assert on_update("admissionregistration.k8s.io", resource, found, found) == [STATIC]


def pem(kind: str, content: bytes = b"\x30\x00") -> str:
    body = base64.b64encode(content).decode()
    return f"-----BEGIN {kind}-----\n{body}\n-----END {kind}-----\n"


@pytest.mark.parametrize(
    ("certificate", "key", "expected"),
    [
        ("x", "y", "tls: failed to find any PEM data in certificate input"),
        (pem("CERTIFICATE"), "y", "tls: failed to find any PEM data in key input"),
        (pem("CERTIFICATE", b"\0"), pem("PRIVATE KEY"), "x509: malformed certificate"),
        (pem("CERTIFICATE"), pem("RSA PRIVATE KEY", b"\0"), "tls: failed to parse private key"),
        (
            pem("PRIVATE KEY"),
            pem("CERTIFICATE"),
            (
                "tls: failed to find certificate PEM data in certificate input, but did find a private key;"
                " PEM inputs may have been switched"
            ),
        ),
        (
            pem("FOO") + pem("BAR"),
            "y",
            (
                'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks'
                " of the following types: [FOO BAR]"
            ),
        ),
        (
            pem("CERTIFICATE"),
            pem("CERTIFICATE"),
            "tls: found a certificate rather than a key in the PEM for the private key",
        ),
        (
            pem("CERTIFICATE"),
            pem("FOO"),
            (
                'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping'
                " PEM blocks of the following types: [FOO]"
            ),
        ),
    ],
)
def test_a_secret_that_cannot_serve_tls_is_warned_of(certificate: str, key: str, expected: str) -> None:
    data = {"tls.crt": certificate, "tls.key": key}
    encoded = {name: base64.b64encode(value.encode()).decode() for name, value in data.items()}

    assert on_create("", "secrets", obj(type="kubernetes.io/tls", data=encoded)) == [expected]
    assert on_create("", "secrets", obj(type="Opaque", data=encoded)) == []


def test_custom_resources_are_warned_of_new_finalizers_without_a_domain() -> None:
    old, new = obj(), obj()
    old["metadata"]["finalizers"] = ["plain"]
    new["metadata"]["finalizers"] = ["plain", "other", "dot.ted", "ok.io/x", "orphan"]
    conflicts = "to avoid accidental conflicts with other finalizer writers"
    expected = [
        (f'metadata.finalizers: "dot.ted": prefer a domain-qualified finalizer name including a path (/) {conflicts}'),
        f'metadata.finalizers: "other": prefer a domain-qualified finalizer name {conflicts}',
    ]

    assert on_update("example.com", "widgets", new, old) == expected
    assert on_update("example.com", "widgets/status", new, old) == []
    assert len(on_create("example.com", "widgets", new)) == 3


def test_a_definition_is_warned_of_new_unknown_formats() -> None:
    def definition(**properties: Plain) -> Plain:
        return obj(spec={"versions": [{"schema": {"openAPIV3Schema": {"properties": properties}}}]})

    old = definition(a={"type": "string", "format": "nonsense"}, b={"type": "string", "format": "date-time"})
    new = definition(
        a={"type": "string", "format": "nonsense"},
        b={"type": "array", "items": {"type": "integer", "format": "int33"}},
        c={"additionalProperties": {"anyOf": [{"format": "deep"}]}},
        d={"additionalProperties": True, "type": "number", "format": "double"},
    )
    group, resource = "apiextensions.k8s.io", "customresourcedefinitions"

    assert on_create(group, resource, old) == ['unrecognized format "nonsense"']
    assert on_update(group, resource, new, old) == [
        'unrecognized format "int33"',
        'unrecognized format "deep"',
    ]


def test_deleting_a_job_without_a_propagation_policy_is_warned_of() -> None:
    assert served("batch", "jobs").delete_warnings(policy=None, orphans=None) == [PODS_STAY]
    assert served("batch", "jobs").delete_warnings(policy="Background", orphans=None) == []
    assert served("batch", "jobs").delete_warnings(policy=None, orphans=False) == []
    assert served("batch", "cronjobs").delete_warnings(policy=None, orphans=None) == []


def test_owners_that_are_named_twice_are_named_once_afterwards() -> None:
    first, second = {"uid": "u1"}, {"uid": "u2"}
    found = obj()
    found["metadata"]["ownerReferences"] = [
        first,
        first,
        second,
        {**first, "controller": False},
        first,
        second,
    ]

    messages = dedup_owner_references(json.loads(json.dumps(found)))
    assert dedup_owner_references(found, is_patch=True) == [
        messages[0].replace("duplicate entries;", "duplicate entries after mutating admission happens;")
    ]
    assert messages == [
        (
            ".metadata.ownerReferences contains duplicate entries; API server dedups owner references in 1.20+, and may"
            " reject such requests as early as 1.24; please fix your requests; duplicate UID(s) observed: u1, u1, u2"
        )
    ]
    assert found["metadata"]["ownerReferences"] == [first, second, {**first, "controller": False}]
    assert dedup_owner_references(found) == []


def test_a_warning_is_sent_once_and_only_if_a_header_can_hold_it() -> None:
    assert fit(["a", "b", "a", "", "line\nbreak", "é"]) == ["a", "b", "é"]


def test_too_many_warnings_are_cut_and_then_dropped() -> None:
    exactly = [f"{index:02}" + "x" * 510 for index in range(8)]
    assert fit(exactly) == exactly

    many = [f"{index:02}" + "x" * 510 for index in range(40)]
    assert fit(many) == [each[:256] for each in many[:16]]


@given(st.lists(st.text(st.characters(categories=["L", "N"]), min_size=1, max_size=600), max_size=30))
def test_warnings_within_the_limit_are_sent_unchanged(texts: list[str]) -> None:
    sent = fit(texts)
    unique = list(dict.fromkeys(texts))

    assert sent == unique or (sum(map(len, unique)) > 4096 and all(len(each) <= 256 for each in sent))
    assert sent == fit(sent) or len(set(sent)) < len(sent)
