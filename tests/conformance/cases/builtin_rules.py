"""Rules of built-in kinds that are met rarely, and reviews that lack what they are about."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.cases.minimal import CERTIFICATE_REQUEST
from tests.conformance.objects import named, pod

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Rules of built-in kinds")


def scaler(reference: Plain, version: str = "autoscaling/v2", **spec: object) -> Plain:
    fields = {"maxReplicas": 2, "scaleTargetRef": {"name": "a", **reference}, **spec}
    return named(version, "HorizontalPodAutoscaler", "a", spec=fields)


def signing_request(api: Api, **spec: object) -> Plain:
    fields = {
        "request": CERTIFICATE_REQUEST,
        "signerName": "example.com/signer",
        "usages": ["client auth"],
        **spec,
    }
    return named("certificates.k8s.io/v1", "CertificateSigningRequest", f"{api.namespace}-a", spec=fields)


def api_service(name: str = "v1.example.com", **spec: object) -> Plain:
    fields = {
        "group": "example.com",
        "version": "v1",
        "groupPriorityMinimum": 100,
        "versionPriority": 10,
        **spec,
    }
    return named("apiregistration.k8s.io/v1", "APIService", name, spec=fields)


@case("a scaler of a replication controller needs no group")
def _(api: Api) -> None:
    resource = "horizontalpodautoscalers"
    api.create(resource, scaler({"apiVersion": "v1", "kind": "ReplicationController"}))
    api.create(resource, scaler({"kind": "ReplicationController"}), dryRun="All")
    api.create(resource, scaler({"apiVersion": "a/b/c", "kind": "ReplicationController"}))


@case("a scaler of anything else needs a group")
def _(api: Api) -> None:
    resource = "horizontalpodautoscalers"
    for reference in (
        {"apiVersion": "v1", "kind": "Deployment"},
        {"kind": "Deployment"},
        {"apiVersion": "a/b/c", "kind": "Deployment"},
        {"apiVersion": "apps/v1", "kind": "a/b"},
        {},
    ):
        api.create(resource, scaler(reference))
    api.create("autoscaling/v1/horizontalpodautoscalers", scaler({"kind": "Deployment"}, "autoscaling/v1"))


@case("a scaler whose target is not changed is not checked again")
def _(api: Api) -> None:
    resource = "horizontalpodautoscalers"
    api.create(resource, scaler({"apiVersion": "v1", "kind": "ReplicationController"}))
    api.patch(resource, "a", {"spec": {"maxReplicas": 3}})
    api.patch(resource, "a", {"spec": {"scaleTargetRef": {"kind": "Deployment"}}})
    api.patch(resource, "a", {"spec": {"scaleTargetRef": {"name": "b"}}})


@case("the object of a metric may lack a group")
def _(api: Api) -> None:
    resource = "horizontalpodautoscalers"
    target = {"apiVersion": "apps/v1", "kind": "Deployment"}
    for version in ("v1", "", "a/b/c"):
        described = {"apiVersion": version, "kind": "Service", "name": "a"}
        source = {
            "describedObject": described,
            "metric": {"name": "a"},
            "target": {"type": "Value", "value": "1"},
        }
        api.create(resource, scaler(target, metrics=[{"type": "Object", "object": source}]), dryRun="All")


@case("unknown usages of a signing request")
def _(api: Api) -> None:
    resource = "certificatesigningrequests"
    api.create(resource, signing_request(api, usages=["nonsense"]))
    api.create(resource, signing_request(api, usages=["client auth", "", "Client Auth"]))
    api.create(resource, signing_request(api, usages=[]))


@case("duplicate usages of a signing request")
def _(api: Api) -> None:
    resource = "certificatesigningrequests"
    api.create(resource, signing_request(api, usages=["client auth", "client auth"]))
    api.create(resource, signing_request(api, usages=["any", "x", "any", "x", "any"]))


@case("every usage of a signing request")
def _(api: Api) -> None:
    usages = (
        "signing,digital signature,content commitment,key encipherment,key agreement,data encipherment,cert sign,"
        "crl sign,"
        "encipher only,decipher only,any,server auth,client auth,code signing,email protection,s/mime,ipsec end system,"
        "ipsec tunnel,ipsec user,timestamping,ocsp signing,microsoft sgc,netscape sgc"
    )
    api.create("certificatesigningrequests", signing_request(api, usages=usages.split(",")), dryRun="All")


@case("signers that cannot be")
def _(api: Api) -> None:
    for signer in (
        "",
        "signer",
        "a/b/c",
        "example/signer",
        "Example.com/signer",
        "example..com/signer",
        "example.com/",
        "example.com/Signer",
        "/signer",
        f"{'a' * 64}.com/signer",
        f"{'a.' * 127}com/signer",
        "kubernetes.io/legacy-unknown",
    ):
        api.create("certificatesigningrequests", signing_request(api, signerName=signer))


@case("how long a certificate is valid")
def _(api: Api) -> None:
    for seconds in (599, 0, -1):
        api.create("certificatesigningrequests", signing_request(api, expirationSeconds=seconds))
    api.create("certificatesigningrequests", signing_request(api, expirationSeconds=600), dryRun="All")


@case("a signing request of something else")
def _(api: Api) -> None:
    for request in ("", "YQ==", None):
        api.create("certificatesigningrequests", signing_request(api, request=request))


@case("an API service of the server itself")
def _(api: Api) -> None:
    api.create("apiservices", api_service(), dryRun="All")
    api.create("apiservices", api_service(insecureSkipTLSVerify=True))
    api.create("apiservices", api_service(caBundle="YQ=="))
    api.create("apiservices", api_service(caBundle="YWJj", insecureSkipTLSVerify=True))


@case("the name of an API service")
def _(api: Api) -> None:
    api.create("apiservices", api_service("other"))
    api.create("apiservices", api_service("a/b"))
    api.create("apiservices", api_service(""))
    api.create("apiservices", api_service("v2.", group="", version="v2"))
    api.create("apiservices", api_service("V1.Example", group="Example", version="V1"))
    api.create("apiservices", api_service(".", group="", version=""))


@case("the priorities of an API service")
def _(api: Api) -> None:
    for minimum, priority in ((0, 0), (-1, -1), (20001, 1001), (20000, 1000)):
        body = api_service(groupPriorityMinimum=minimum, versionPriority=priority)
        api.create("apiservices", body, dryRun="All")


@case("the service of an API service")
def _(api: Api) -> None:
    api.create("apiservices", api_service(service={}))
    api.create("apiservices", api_service(service={"name": "a"}))
    api.create("apiservices", api_service(service={"namespace": "a"}))
    for port in (0, -1, 65536):
        api.create("apiservices", api_service(service={"name": "a", "namespace": "b", "port": port}))
    both = api_service(service={"name": "a", "namespace": "b"}, caBundle="YWJj", insecureSkipTLSVerify=True)
    api.create("apiservices", both)


@case("a change of an API service")
def _(api: Api) -> None:
    name = f"v1.{api.namespace}.example.com"
    api.create("apiservices", api_service(name, group=name.removeprefix("v1.")))
    api.patch("apiservices", name, {"spec": {"versionPriority": 0}})
    api.patch("apiservices", name, {"spec": {"version": "v2"}})
    api.patch("apiservices", name, {"spec": {"service": {"name": "a"}}})
    api.patch("apiservices", name, {"spec": {"versionPriority": 20}})


@case("the status of an API service")
def _(api: Api) -> None:
    name = f"v1.{api.namespace}.example.com"
    api.create("apiservices", api_service(name, group=name.removeprefix("v1.")))
    for status in ("True", "maybe", ""):
        condition = {"type": "Other", "status": status, "lastTransitionTime": "2001-01-01T00:00:00Z"}
        api.patch("apiservices", f"{name}/status", {"status": {"conditions": [condition]}}, dryRun="All")


@case("a limit range without a name")
def _(api: Api) -> None:
    api.create("limitranges", {"apiVersion": "v1", "kind": "LimitRange"})
    api.create("limitranges", {"metadata": {}, "spec": {"limits": []}})
    api.create("limitranges", {"metadata": {"generateName": "a-"}, "spec": {"limits": [{"type": "Pod"}]}})
    api.create("limitranges", {"metadata": {"name": "A_b"}, "spec": {"limits": []}})


@case("a resource quota without a name")
def _(api: Api) -> None:
    api.create("resourcequotas", {"apiVersion": "v1", "kind": "ResourceQuota"})
    api.create("resourcequotas", {"metadata": {"generateName": "a-"}})


@case("resource quotas whose amounts cannot be")
def _(api: Api) -> None:
    for hard in (
        {"pods": "-1"},
        {"pods": "1.5"},
        {"pods": None},
        {"nonsense": "1"},
        {"limits.cpu": None},
        {"example.com/a": "1"},
        {"requests.example.com/a": "500m"},
        {"count/deployments.apps": "1"},
    ):
        api.create("resourcequotas", named("v1", "ResourceQuota", "a", spec={"hard": hard}), dryRun="All")


@case("a token review without a token")
def _(api: Api) -> None:
    path = "/apis/authentication.k8s.io/v1/tokenreviews"
    for spec in ({}, {"token": ""}, None):
        api.request("POST", path, named("authentication.k8s.io/v1", "TokenReview", spec=spec))


@case("a review of rules without a namespace")
def _(api: Api) -> None:
    path = "/apis/authorization.k8s.io/v1/selfsubjectrulesreviews"
    for spec in ({}, {"namespace": ""}, None):
        api.request("POST", path, named("authorization.k8s.io/v1", "SelfSubjectRulesReview", spec=spec))


@case("a review of access to nothing")
def _(api: Api) -> None:
    version = "authorization.k8s.io/v1"
    path = f"/apis/{version}"
    specs: list[Plain | None] = [{}, {"resourceAttributes": {}, "nonResourceAttributes": {}}, None]
    for spec in specs:
        api.request("POST", f"{path}/selfsubjectaccessreviews", named(version, "SelfSubjectAccessReview", spec=spec))
        api.request("POST", f"{path}/subjectaccessreviews", named(version, "SubjectAccessReview", spec=spec))


@case("a review of access in another namespace than that of its path")
def _(api: Api) -> None:
    version = "authorization.k8s.io/v1"
    path = f"/apis/{version}/namespaces/{api.namespace}/localsubjectaccessreviews"
    for attributes in ({"namespace": "other"}, {}, {"namespace": "other", "name": "a"}):
        spec = {"user": "a", "resourceAttributes": attributes}
        api.request("POST", path, named(version, "LocalSubjectAccessReview", spec=spec))
    api.request("POST", path, named(version, "LocalSubjectAccessReview", spec={"user": "a"}))


@case("the token of a service account that is requested with nonsense")
def _(api: Api) -> None:
    api.create("serviceaccounts", named("v1", "ServiceAccount", "a"))
    version = "authentication.k8s.io/v1"
    for spec in ({"expirationSeconds": 1}, {"expirationSeconds": 2**33}, {"expirationSeconds": "x"}):
        api.create("serviceaccounts", named(version, "TokenRequest", spec=spec), "a/token")


@case("a pod with fields that another one excludes")
def _(api: Api) -> None:
    two = {"name": "v", "emptyDir": {}, "hostPath": {"path": "/a"}}
    none = {"name": "v"}
    for volume in (two, none):
        api.create("pods", pod("a", spec={"volumes": [volume]}))
