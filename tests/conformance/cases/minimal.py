"""One object of every kind that can be created, in every version, with as little in it as the server takes.

Custom resource definitions and what needs a kubelet are left out, and so is SelfSubjectRulesReview: the real server
gives its rules in another order each time.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.objects import pod_spec, template

if TYPE_CHECKING:
    from tests.conformance.api import Api, Query

case = area("Minimal objects")

# For a name that is not in use; the key that signed it is gone.
CERTIFICATE_REQUEST = (
    "LS0tLS1CRUdJTiBDRVJUSUZJQ0FURSBSRVFVRVNULS0tLS0KTUlISE1HNENBUUF3RERFS01BZ0dBMVVFQXd3QllUQlpNQk1HQnlx"
    "R1NNNDlBZ0VHQ0NxR1NNNDlBd0VIQTBJQQpCTzZLRmFxVUgxbjdPYi9oVXhUcitJQ3dPNkJHSGNhUFd6MnlQUXBxRXJBcUtNMEpQ"
    "b3RTTG0vLytoYlV6WmJvClY3dHUvei9LeXY0ZllVNjl2Y3V0dFllZ0FEQUtCZ2dxaGtqT1BRUURBZ05KQURCR0FpRUFpR1hMb29k"
    "Y3ZlL1AKZ2ZQN3ZTZnNJUXZXbWRPR3pwMTJwTU9vb0xUUFpoUUNJUUNkSGlRaEI3MVgyc0pEQjc5eGh0cCs2dzdPWEhaZAphaXZo"
    "K29sWHA5SXErZz09Ci0tLS0tRU5EIENFUlRJRklDQVRFIFJFUVVFU1QtLS0tLQo="
)
SELECTOR = {"matchLabels": {"app": "a"}}
ONCE = {"template": {"spec": {**pod_spec(), "restartPolicy": "Never"}}}
TARGET = {"kind": "Deployment", "name": "a", "apiVersion": "apps/v1"}
GIBIBYTE = {"storage": "1Gi"}
ROLE = {"apiGroup": "rbac.authorization.k8s.io", "name": "a"}
POLICY_MATCH = {
    "resourceRules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}]
}
MUTATIONS = [
    {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": "Object{}"}},
]
MUTATING_POLICY = {
    "matchConstraints": POLICY_MATCH,
    "mutations": MUTATIONS,
    "reinvocationPolicy": "Never",
    "failurePolicy": "Ignore",
}
DEVICE_TAINT = {"taint": {"key": "example.com/broken", "effect": "NoSchedule"}}
SLICE = {"driver": "driver.example.com", "pool": {"name": "a", "resourceSliceCount": 1}, "nodeName": "node"}
REQUEST = {"name": "one", "exactly": {"deviceClassName": "class"}}
REQUEST_V1BETA1 = {"name": "one", "deviceClassName": "class"}


def claim(request: dict[str, Any]) -> dict[str, Any]:
    return {"devices": {"requests": [request]}}


@dataclass(frozen=True)
class Minimal:
    """The object that is sent.

    Attributes:
        api_version: Group and version.
        resource: Its plural name.
        kind: Its kind.
        fields: What stands beside the metadata.
        in_cluster: Whether it has no namespace.
        name: Its name; with an asterisk for that of the case's namespace.
        without_name: Whether it is a question rather than an object.
        dry: Whether the server itself would take notice of such an object.
    """

    api_version: str
    resource: str
    kind: str
    fields: dict[str, Any] = field(default_factory=dict)
    in_cluster: bool = False
    name: str = ""
    without_name: bool = False
    dry: bool = False


def inside(api_version: str, resource: str, kind: str, **fields: Any) -> Minimal:
    return Minimal(api_version, resource, kind, fields, name="a")


def outside(
    api_version: str, resource: str, kind: str, *, dry: bool = False, name: str = "*-a", **fields: Any
) -> Minimal:
    return Minimal(api_version, resource, kind, fields, in_cluster=True, name=name, dry=dry)


def question(api_version: str, resource: str, kind: str, *, in_cluster: bool = True, **fields: Any) -> Minimal:
    return Minimal(api_version, resource, kind, fields, in_cluster=in_cluster, without_name=True)


CORE = [
    inside("v1", "configmaps", "ConfigMap"),
    inside("v1", "endpoints", "Endpoints"),
    inside("v1", "limitranges", "LimitRange", spec={"limits": []}),
    inside(
        "v1",
        "persistentvolumeclaims",
        "PersistentVolumeClaim",
        spec={"accessModes": ["ReadWriteOnce"], "resources": {"requests": GIBIBYTE}},
    ),
    inside("v1", "pods", "Pod", spec=pod_spec()),
    inside("v1", "podtemplates", "PodTemplate", template=template()),
    inside(
        "v1",
        "replicationcontrollers",
        "ReplicationController",
        spec={"selector": {"app": "a"}, "template": template()},
    ),
    inside("v1", "resourcequotas", "ResourceQuota"),
    inside("v1", "secrets", "Secret"),
    inside("v1", "serviceaccounts", "ServiceAccount"),
    inside("v1", "services", "Service", spec={"ports": [{"port": 80}]}),
    outside("v1", "namespaces", "Namespace"),
    outside("v1", "nodes", "Node"),
    outside(
        "v1",
        "persistentvolumes",
        "PersistentVolume",
        spec={"accessModes": ["ReadWriteOnce"], "capacity": GIBIBYTE, "hostPath": {"path": "/data"}},
    ),
]
WORKLOADS = [
    inside("apps/v1", "controllerrevisions", "ControllerRevision", revision=1, data={"a": 1}),
    inside("apps/v1", "daemonsets", "DaemonSet", spec={"selector": SELECTOR, "template": template()}),
    inside("apps/v1", "deployments", "Deployment", spec={"selector": SELECTOR, "template": template()}),
    inside("apps/v1", "replicasets", "ReplicaSet", spec={"selector": SELECTOR, "template": template()}),
    inside("apps/v1", "statefulsets", "StatefulSet", spec={"selector": SELECTOR, "template": template()}),
    inside("batch/v1", "jobs", "Job", spec=ONCE),
    inside("batch/v1", "cronjobs", "CronJob", spec={"schedule": "* * * * *", "jobTemplate": {"spec": ONCE}}),
    inside(
        "autoscaling/v1",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
        spec={"scaleTargetRef": TARGET, "maxReplicas": 3},
    ),
    inside(
        "autoscaling/v2",
        "horizontalpodautoscalers",
        "HorizontalPodAutoscaler",
        spec={"scaleTargetRef": TARGET, "maxReplicas": 3},
    ),
    inside("policy/v1", "poddisruptionbudgets", "PodDisruptionBudget"),
    outside("scheduling.k8s.io/v1", "priorityclasses", "PriorityClass", value=1),
    outside("node.k8s.io/v1", "runtimeclasses", "RuntimeClass", handler="a"),
]
COORDINATION = [
    inside("coordination.k8s.io/v1", "leases", "Lease"),
    *(
        inside(
            f"coordination.k8s.io/{version}",
            "leasecandidates",
            "LeaseCandidate",
            spec={
                "leaseName": "a",
                "strategy": "OldestEmulationVersion",
                "binaryVersion": "1.36.0",
                "emulationVersion": "1.36.0",
            },
        )
        for version in ("v1alpha2", "v1beta1")
    ),
]
NETWORK = [
    inside("discovery.k8s.io/v1", "endpointslices", "EndpointSlice", addressType="IPv4", endpoints=[]),
    inside(
        "networking.k8s.io/v1",
        "ingresses",
        "Ingress",
        spec={"defaultBackend": {"service": {"name": "a", "port": {"number": 80}}}},
    ),
    inside("networking.k8s.io/v1", "networkpolicies", "NetworkPolicy", spec={"podSelector": {}}),
    outside("networking.k8s.io/v1", "ingressclasses", "IngressClass", spec={"controller": "example.com/a"}),
    *(
        made
        for version in ("networking.k8s.io/v1", "networking.k8s.io/v1beta1")
        for made in (
            outside(
                version,
                "ipaddresses",
                "IPAddress",
                dry=True,
                name="192.0.2.7",
                spec={"parentRef": {"resource": "services", "name": "a", "namespace": "default"}},
            ),
            outside(version, "servicecidrs", "ServiceCIDR", dry=True, spec={"cidrs": ["192.0.2.0/24"]}),
        )
    ),
]
ACCESS = [
    inside("rbac.authorization.k8s.io/v1", "roles", "Role"),
    inside("rbac.authorization.k8s.io/v1", "rolebindings", "RoleBinding", roleRef={**ROLE, "kind": "Role"}),
    outside("rbac.authorization.k8s.io/v1", "clusterroles", "ClusterRole"),
    outside(
        "rbac.authorization.k8s.io/v1",
        "clusterrolebindings",
        "ClusterRoleBinding",
        roleRef={**ROLE, "kind": "ClusterRole"},
    ),
    outside(
        "certificates.k8s.io/v1",
        "certificatesigningrequests",
        "CertificateSigningRequest",
        spec={"request": CERTIFICATE_REQUEST, "signerName": "example.com/a", "usages": ["client auth"]},
    ),
    question("authentication.k8s.io/v1", "selfsubjectreviews", "SelfSubjectReview"),
    question("authentication.k8s.io/v1", "tokenreviews", "TokenReview", spec={"token": "nonsense"}),
    question(
        "authorization.k8s.io/v1",
        "selfsubjectaccessreviews",
        "SelfSubjectAccessReview",
        spec={"resourceAttributes": {"verb": "get", "resource": "pods"}},
    ),
    question(
        "authorization.k8s.io/v1",
        "subjectaccessreviews",
        "SubjectAccessReview",
        spec={"user": "nobody", "resourceAttributes": {"verb": "get", "resource": "pods"}},
    ),
]
STORAGE = [
    outside("storage.k8s.io/v1", "csidrivers", "CSIDriver", spec={}),
    outside("storage.k8s.io/v1", "csinodes", "CSINode", spec={"drivers": []}),
    inside("storage.k8s.io/v1", "csistoragecapacities", "CSIStorageCapacity", storageClassName="a"),
    outside("storage.k8s.io/v1", "storageclasses", "StorageClass", provisioner="example.com/a"),
    outside(
        "storage.k8s.io/v1",
        "volumeattachments",
        "VolumeAttachment",
        spec={"attacher": "example.com", "nodeName": "node", "source": {"persistentVolumeName": "a"}},
    ),
    *(
        outside(
            version,
            "volumeattributesclasses",
            "VolumeAttributesClass",
            driverName="example.com",
            parameters={"a": "b"},
        )
        for version in ("storage.k8s.io/v1", "storage.k8s.io/v1beta1")
    ),
]
ADMISSION = [
    outside("admissionregistration.k8s.io/v1", "mutatingwebhookconfigurations", "MutatingWebhookConfiguration"),
    outside("admissionregistration.k8s.io/v1", "validatingwebhookconfigurations", "ValidatingWebhookConfiguration"),
    outside(
        "admissionregistration.k8s.io/v1",
        "validatingadmissionpolicies",
        "ValidatingAdmissionPolicy",
        dry=True,
        spec={"matchConstraints": POLICY_MATCH, "validations": [{"expression": "true"}]},
    ),
    outside(
        "admissionregistration.k8s.io/v1",
        "validatingadmissionpolicybindings",
        "ValidatingAdmissionPolicyBinding",
        dry=True,
        spec={"policyName": "a", "validationActions": ["Warn"]},
    ),
    *(
        made
        for version in ("v1", "v1beta1", "v1alpha1")
        for made in (
            outside(
                f"admissionregistration.k8s.io/{version}",
                "mutatingadmissionpolicies",
                "MutatingAdmissionPolicy",
                dry=True,
                spec=MUTATING_POLICY,
            ),
            outside(
                f"admissionregistration.k8s.io/{version}",
                "mutatingadmissionpolicybindings",
                "MutatingAdmissionPolicyBinding",
                dry=True,
                spec={"policyName": "a"},
            ),
        )
    ),
]
DEVICES = [
    *(
        made
        for version, request in (("v1", REQUEST), ("v1beta2", REQUEST), ("v1beta1", REQUEST_V1BETA1))
        for made in (
            outside(f"resource.k8s.io/{version}", "deviceclasses", "DeviceClass", spec={}),
            inside(f"resource.k8s.io/{version}", "resourceclaims", "ResourceClaim", spec=claim(request)),
            inside(
                f"resource.k8s.io/{version}",
                "resourceclaimtemplates",
                "ResourceClaimTemplate",
                spec={"spec": claim(request)},
            ),
            outside(f"resource.k8s.io/{version}", "resourceslices", "ResourceSlice", spec=SLICE),
        )
    ),
    outside("resource.k8s.io/v1alpha3", "devicetaintrules", "DeviceTaintRule", spec=DEVICE_TAINT),
    outside("resource.k8s.io/v1beta2", "devicetaintrules", "DeviceTaintRule", spec=DEVICE_TAINT),
    outside(
        "resource.k8s.io/v1alpha3",
        "resourcepoolstatusrequests",
        "ResourcePoolStatusRequest",
        spec={"driver": "driver.example.com"},
    ),
]
SERVER = [
    outside(
        "apiregistration.k8s.io/v1",
        "apiservices",
        "APIService",
        dry=True,
        name="v1.group.example.com",
        spec={
            "group": "group.example.com",
            "version": "v1",
            "groupPriorityMinimum": 10,
            "versionPriority": 10,
            "insecureSkipTLSVerify": True,
            "service": {"name": "a", "namespace": "default"},
        },
    ),
    outside(
        "flowcontrol.apiserver.k8s.io/v1",
        "flowschemas",
        "FlowSchema",
        dry=True,
        spec={"priorityLevelConfiguration": {"name": "exempt"}},
    ),
    outside(
        "flowcontrol.apiserver.k8s.io/v1",
        "prioritylevelconfigurations",
        "PriorityLevelConfiguration",
        dry=True,
        spec={"type": "Limited", "limited": {"limitResponse": {"type": "Reject"}}},
    ),
    outside("internal.apiserver.k8s.io/v1alpha1", "storageversions", "StorageVersion", name="*.things", spec={}),
]

EVERYTHING = [*CORE, *WORKLOADS, *COORDINATION, *NETWORK, *ACCESS, *STORAGE, *ADMISSION, *DEVICES, *SERVER]


def _case_for(minimal: Minimal) -> None:
    @case(f"{minimal.kind} of {minimal.api_version}")
    def _(api: Api) -> None:
        version, name = minimal.api_version, minimal.name.replace("*", api.namespace)
        body = {"apiVersion": version, "kind": minimal.kind, **minimal.fields}
        query: dict[str, Query] = {"dryRun": "All"} if minimal.dry else {}
        path = path_to(api, minimal)
        if minimal.without_name:
            api.request("POST", path, body)
            return
        api.request("POST", path, {**body, "metadata": {"name": name}}, query=query)
        if not minimal.dry:
            api.request("GET", f"{path}/{name}")
            api.request("DELETE", f"{path}/{name}")


def path_to(api: Api, minimal: Minimal) -> str:
    """The path of its collection."""
    root = "/apis/" if "/" in minimal.api_version else "/api/"
    within = "" if minimal.in_cluster else f"/namespaces/{api.namespace}"
    return f"{root}{minimal.api_version}{within}/{minimal.resource}"


for _minimal in EVERYTHING:
    _case_for(_minimal)


@case("LocalSubjectAccessReview of authorization.k8s.io/v1")
def _(api: Api) -> None:
    attributes = {"verb": "get", "resource": "pods", "namespace": api.namespace}
    spec = {"user": "nobody", "resourceAttributes": attributes}
    path = f"/apis/authorization.k8s.io/v1/namespaces/{api.namespace}/localsubjectaccessreviews"
    body = {"apiVersion": "authorization.k8s.io/v1", "kind": "LocalSubjectAccessReview", "spec": spec}
    api.request("POST", path, {**body, "metadata": {"namespace": api.namespace}})


@case("Event of v1")
def _(api: Api) -> None:
    involved = {"kind": "Pod", "name": "a", "namespace": api.namespace}
    body = {"apiVersion": "v1", "kind": "Event", "metadata": {"name": "a"}, "involvedObject": involved}
    api.create("events", body)
    api.delete("events", "a")


@case("Event of events.k8s.io/v1")
def _(api: Api) -> None:
    body = {
        "apiVersion": "events.k8s.io/v1",
        "kind": "Event",
        "metadata": {"name": "a"},
        "eventTime": "2001-02-03T04:05:06.000007Z",
        "reportingController": "example.com/a",
        "reportingInstance": "a",
        "action": "Testing",
        "reason": "Tested",
        "type": "Normal",
        "regarding": {"kind": "Pod", "name": "a", "namespace": api.namespace},
    }
    api.create("events.k8s.io/v1/events", body)
    api.delete("events.k8s.io/v1/events", "a")
