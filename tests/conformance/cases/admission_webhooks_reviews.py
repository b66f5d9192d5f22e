"""AdmissionReviews: what the server sends to admission webhooks."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.cases.evictions import eviction
from tests.conformance.definitions import definition, group_of, install, resource_of, version_of
from tests.conformance.objects import config_map, deployment, named, namespace, pod, service
from tests.conformance.webhooks import (
    MUTATING,
    VALIDATING,
    allow,
    configure,
    deny,
    hook_of,
    mutate,
    rule,
    scripted_webhook,
    validate,
)

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain, Query

case = area("Admission webhooks: reviews")
EVERYTHING = rule("*/*")


@case("reviews of a validating webhook")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, allow())
        api.create("configmaps", config_map("a", data={"k": "v"}))
        api.update("configmaps", "a", config_map("a", data={"k": "w"}))
        api.patch("configmaps", "a", {"data": {"k": "x"}})
        api.apply("configmaps", "a", config_map("a", data={"l": "y"}))
        api.apply("configmaps", "b", config_map("b", data={"l": "y"}))
        api.delete("configmaps", "a")
        server.show(api)


@case("reviews of a mutating webhook")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(api, server, allow())
        api.create("configmaps", config_map("a", data={"k": "v"}))
        api.update("configmaps", "a", config_map("a", data={"k": "w"}))
        api.patch("configmaps", "a", {"data": {"k": "x"}})
        api.apply("configmaps", "a", config_map("a", data={"l": "y"}))
        api.apply("configmaps", "b", config_map("b", data={"l": "y"}))
        api.delete("configmaps", "a")
        server.show(api)


@case("options of a request")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, allow())
        api.create(
            "configmaps", config_map("a"), dryRun="All", fieldManager="me", fieldValidation="Strict", pretty=True
        )
        api.create("configmaps", config_map("a"), fieldManager="me")
        api.update("configmaps", "a", config_map("a"), fieldManager="me", fieldValidation="Ignore")
        api.patch("configmaps", "a", {"data": {"k": "x"}}, dryRun="All", fieldManager="you")
        api.apply("configmaps", "a", config_map("a", data={"k": "x"}), force=True)
        api.delete("configmaps", "a", dryRun="All", gracePeriodSeconds=3, propagationPolicy="Foreground")
        api.delete("configmaps", "a", {"propagationPolicy": "Background", "preconditions": {"uid": "x"}})
        server.show(api)


@case("an object with a generated name")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(api, server, allow())
        validate(api, server, allow())
        api.create("configmaps", config_map(generateName="a-"))
        server.show(api)


@case("an update that changes nothing")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        api.create("configmaps", config_map("a"))
        mutate(api, server, allow())
        validate(api, server, allow())
        api.patch("configmaps", "a", {})
        api.update("configmaps", "a", config_map("a"))
        api.apply("configmaps", "a", config_map("a"))
        api.apply("configmaps", "a", config_map("a"))
        server.show_calls(api, in_order=True)


@case("a pod is reviewed with its defaults")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(api, server, allow(), rules=[rule("pods")])
        validate(api, server, allow(), rules=[rule("pods")])
        api.create("pods", pod("a"))
        server.show(api)


@case("a deployment of an older shape")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, allow(), rules=[rule("*", groups="autoscaling")])
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
        scaler = named("autoscaling/v1", "HorizontalPodAutoscaler", "a")
        spec = {"maxReplicas": 3, "scaleTargetRef": target, "targetCPUUtilizationPercentage": 50}
        api.create("autoscaling/v1/horizontalpodautoscalers", {**scaler, "spec": spec})
        server.show(api)


@case("the status of an object")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(api, server, allow(), rules=[rule("deployments/status")])
        validate(api, server, allow(), rules=[rule("deployments/*,deployments")])
        api.create("deployments", deployment("a"))
        api.patch("deployments", "a/status", {"status": {"replicas": 3}})
        server.show(api)


@case("the scale of an object")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(api, server, allow(), rules=[rule("deployments/scale")])
        validate(api, server, allow(), rules=[rule("deployments/*")])
        api.create("deployments", deployment("a"))
        scale = api.get("deployments", "a/scale")
        api.update("deployments", "a/scale", {**scale.body, "spec": {"replicas": 5}})
        api.patch("deployments", "a/scale", {"spec": {"replicas": 6}})
        server.show(api)


@case("an eviction")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(api, server, allow(), rules=[EVERYTHING])
        validate(api, server, allow(), rules=[EVERYTHING])
        api.create("pods", pod("a", spec={"nodeName": "node"}))
        server.reviews.clear()
        api.create("pods", eviction("a", gracePeriodSeconds=0), sub="a/eviction")
        api.create("pods", eviction("missing"), sub="missing/eviction")
        server.show(api)


@case("an eviction that is denied")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, deny(status={"message": "stay"}), rules=[rule("pods/eviction")])
        api.create("pods", pod("a"))
        api.create("pods", eviction("a"), sub="a/eviction")
        api.get("pods", "a")


@case("a binding")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(api, server, allow(), rules=[EVERYTHING])
        validate(api, server, allow(), rules=[EVERYTHING])
        api.create("pods", pod("a"))
        server.reviews.clear()
        binding = named("v1", "Binding", "a", target={"kind": "Node", "name": "node"})
        api.create("pods", binding, sub="a/binding")
        server.show(api)


@case("a token request")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        api.create("serviceaccounts", named("v1", "ServiceAccount", "a"))
        validate(api, server, allow(), rules=[rule("serviceaccounts/*")])
        request = named("authentication.k8s.io/v1", "TokenRequest", "", spec={"expirationSeconds": 3600})
        api.request("POST", api.path("serviceaccounts", "a/token"), request, pick=lambda body: body["kind"])
        server.show_calls(api)


@case("connections to a pod")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, deny(status={"message": "no"}), rules=[rule("pods/*,services/proxy", "CONNECT")])
        api.create("pods", pod("a"))
        api.create("services", service("s"))
        query: dict[str, Query] = {"command": ["ls", "-l"], "container": "main", "stdin": True, "tty": True}
        api.request("POST", api.path("pods", "a/exec"), query=query)
        api.request("POST", api.path("pods", "a/attach"), query={"stdout": True})
        api.request("POST", api.path("pods", "a/portforward"), query={"ports": "80"})
        api.request("GET", api.path("pods", "a/proxy/x/y"))
        api.request("GET", api.path("services", "s/proxy/x"))
        api.request("GET", api.path("pods", "a/log"))
        server.show(api)


@case("the deletion of a collection")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        for name in "ab":
            api.create("configmaps", config_map(name))
        mutate(api, server, allow(), rules=[rule(operations="DELETE")])
        validate(api, server, allow(), rules=[rule(operations="DELETE")])
        api.delete_all("configmaps", dryRun="All")
        api.delete_all("configmaps", labelSelector="a=b")
        server.show(api)


@case("the deletion of what has finalizers, and of what is gone")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        api.create("configmaps", config_map("a", finalizers=["example.com/one"]))
        validate(api, server, allow())
        api.delete("configmaps", "a")
        api.delete("configmaps", "a")
        api.delete("configmaps", "missing")
        api.patch("configmaps", "a", {"metadata": {"finalizers": None}})
        server.show_calls(api, in_order=True)


@case("the deletion of a pod with a grace period")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        api.create("pods", pod("a", spec={"nodeName": "node"}))
        api.create("pods", pod("b"))
        api.create("pods", pod("c", finalizers=["example.com/one"]))
        configure(api, server, MUTATING, hook_of(api, "m", server.at("m"), rule("pods")))
        configure(api, server, VALIDATING, hook_of(api, "v", server.at("v"), rule("pods")))
        for seconds in (30, 30, 0):
            api.delete("pods", "a", gracePeriodSeconds=seconds)
            server.show_calls(api, once=True)
        for name in "bc":
            api.delete("pods", name)
            server.show_calls(api, once=True)


@case("a Namespace")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        name = f"{api.namespace}-x"
        selector = {"matchLabels": {"case": api.namespace}}
        hook = hook_of(api, "a", server.at("a"), rule("namespaces,namespaces/*"), namespaceSelector=selector)
        configure(api, server, VALIDATING, hook)
        api.create("namespaces", namespace(name, labels={"case": api.namespace}))
        api.patch("namespaces", name, {"metadata": {"annotations": {"a": "b"}}})
        api.create("namespaces", namespace(f"{name}-y", labels={"case": "other"}))
        server.show(api)


@case("an object without a namespace")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        selector = {"matchLabels": {"case": api.namespace}}
        hook = hook_of(api, "a", server.at("a"), rule("priorityclasses"), objectSelector=selector)
        configure(api, server, VALIDATING, hook)
        labels = {"labels": {"case": api.namespace}, "name": api.namespace}
        body: Plain = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": labels, "value": 1}
        api.create("priorityclasses", body)
        server.show(api)


@case("another user")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, allow())
        headers = {
            "Impersonate-User": "jane",
            "Impersonate-Group": "system:masters",
            "Impersonate-Uid": "007",
            "Impersonate-Extra-Scopes": "view",
        }
        api.request("POST", api.path("configmaps"), config_map("a"), headers=headers)
        server.show(api)


@case("a custom resource")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        install(api, definition(api, version={"subresources": {"status": {}}}))
        mutate(api, server, allow(), rules=[rule("widgets,widgets/*", groups=group_of(api))])
        validate(api, server, allow(), rules=[rule("widgets,widgets/*", groups=group_of(api))])
        body = named(f"{group_of(api)}/v1", "Widget", "a", spec={"size": 1})
        api.create(resource_of(api), body)
        api.patch(resource_of(api), "a", {"spec": {"size": 2}})
        api.patch(resource_of(api), "a/status", {"status": {"ready": True}})
        api.delete(resource_of(api), "a")
        server.show(api)


@case("another version of a custom resource")
def _(api: Api) -> None:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    with scripted_webhook(api) as server:
        install(api, definition(api, versions=[version_of(anything), version_of(anything, "v2")]))
        equivalent = hook_of(api, "e", server.at("e"), rule("widgets", versions="v1"), matchPolicy="Equivalent")
        exact = hook_of(api, "x", server.at("x"), rule("widgets", versions="v1"), matchPolicy="Exact")
        configure(api, server, MUTATING, equivalent, exact)
        body = named(f"{group_of(api)}/v2", "Widget", "a", spec={"size": 1})
        api.create(resource_of(api, version="v2"), body)
        api.delete(resource_of(api, version="v2"), "a")
        server.show(api)


@case("another version of a built-in kind")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        fields = rule("horizontalpodautoscalers", versions="v1")
        equivalent = hook_of(api, "e", server.at("e"), fields, matchPolicy="Equivalent")
        exact = hook_of(api, "x", server.at("x"), fields, matchPolicy="Exact")
        configure(api, server, VALIDATING, equivalent, exact)
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
        spec = {"maxReplicas": 3, "scaleTargetRef": target}
        api.create(
            "autoscaling/v2/horizontalpodautoscalers",
            {**named("autoscaling/v2", "HorizontalPodAutoscaler", "a"), "spec": spec},
        )
        api.patch("autoscaling/v2/horizontalpodautoscalers", "a", {"spec": {"maxReplicas": 4}})
        server.show(api)


@case("the scale of a custom resource in another version")
def _(api: Api) -> None:
    schema = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    scale = {"scale": {"specReplicasPath": ".spec.replicas", "statusReplicasPath": ".status.replicas"}}
    versions = [version_of(schema, subresources=scale), version_of(schema, "v2", subresources=scale)]
    with scripted_webhook(api) as server:
        install(api, definition(api, versions=versions))
        hook = hook_of(api, "e", server.at("e"), rule("widgets/scale", versions="v1"))
        configure(api, server, VALIDATING, hook)
        api.create(resource_of(api), named(f"{group_of(api)}/v1", "Widget", "a", spec={"replicas": 1}))
        api.patch(resource_of(api, version="v2"), "a/scale", {"spec": {"replicas": 2}})
        server.show(api)


@case("an event in either group")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        hook = hook_of(api, "e", server.at("e"), rule("events", groups="events.k8s.io"))
        configure(api, server, VALIDATING, hook)
        about = {"kind": "Pod", "name": "a", "namespace": api.namespace}
        body = {**named("v1", "Event", "a"), "involvedObject": about, "reason": "R", "message": "m", "type": "Normal"}
        api.create("events", body)
        server.show(api)


@case("the configuration of admission is never reviewed")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        selector = {"matchLabels": {"reviewed": api.namespace}}
        hook = hook_of(api, "a", server.at("a", deny()), rule("*", groups="admissionregistration.k8s.io"))
        configure(api, server, VALIDATING, {**hook, "objectSelector": selector})
        meta = {"name": f"{api.namespace}-x", "labels": {"reviewed": api.namespace}}
        for kind in ("ValidatingWebhookConfiguration", "MutatingWebhookConfiguration"):
            body: Plain = {
                "apiVersion": "admissionregistration.k8s.io/v1",
                "kind": kind,
                "metadata": meta,
                "webhooks": [],
            }
            api.request("POST", f"/apis/admissionregistration.k8s.io/v1/{kind.lower()}s", body)
        server.show_calls(api)


@case("other reviews are not reviewed")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        attributes = {"namespace": api.namespace, "verb": "get", "resource": "pods"}
        validate(api, server, deny(status={"message": "no"}), rules=[rule("localsubjectaccessreviews")])
        review = {
            **named("authorization.k8s.io/v1", "LocalSubjectAccessReview"),
            "metadata": {"namespace": api.namespace},
            "spec": {"user": "jane", "resourceAttributes": attributes},
        }
        api.create("authorization.k8s.io/v1/localsubjectaccessreviews", review)
        server.show_calls(api)
