"""Which requests admission webhooks get: rules, scopes, selectors and match conditions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.objects import config_map, deployment, named, namespace, pod
from tests.conformance.webhooks import (
    MUTATING,
    VALIDATING,
    allow,
    configure,
    hook_of,
    mutate,
    patch,
    rule,
    scripted_webhook,
    validate,
)

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain
    from tests.conformance.webhooks import ScriptedWebhook

case = area("Admission webhooks: matching")
IN_RULES = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations"


def configure_rules(api: Api, server: ScriptedWebhook, **rules: Plain) -> None:
    """Configure one validating webhook for each rule, named as the argument."""
    hooks = [hook_of(api, name, server.at(name), found) for name, found in rules.items()]
    configure(api, server, VALIDATING, *hooks)


def conditions_of(*expressions: str) -> dict[str, list[Plain]]:
    """Match conditions, as a webhook has them."""
    found = [{"name": f"c{index}", "expression": expression} for index, expression in enumerate(expressions)]
    return {"matchConditions": found}


def try_conditions(api: Api, *expressions: str, **fields: Any) -> None:
    """Configure a validating webhook with conditions, and create, update and delete a ConfigMap."""
    with scripted_webhook(api) as server:
        hook = hook_of(api, "a", server.at("a"), **conditions_of(*expressions), **fields)
        configure(api, server, VALIDATING, hook)
        api.create("configmaps", config_map("a", data={"k": "v"}))
        api.patch("configmaps", "a", {"data": {"k": "w"}})
        api.delete("configmaps", "a")
        server.show_calls(api, in_order=True)


@case("operations of a rule")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        configure_rules(
            api,
            server,
            create=rule(operations="CREATE"),
            update=rule(operations="UPDATE"),
            delete=rule(operations="DELETE"),
            connect=rule(operations="CONNECT"),
            some=rule(operations="CREATE,DELETE"),
            every=rule(operations="*"),
        )
        api.create("configmaps", config_map("a"))
        api.update("configmaps", "a", config_map("a", data={"k": "v"}))
        api.delete("configmaps", "a")
        server.show_calls(api)


@case("groups and versions of a rule")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        configure_rules(
            api,
            server,
            core=rule("*", groups=""),
            apps=rule("*", groups="apps"),
            old=rule("*", groups="apps", versions="v1beta1"),
            new=rule("*", groups="apps,batch", versions="v1"),
            every=rule("*"),
        )
        api.create("configmaps", config_map("a"))
        api.create("deployments", deployment("a"))
        server.show_calls(api)


@case("resources and subresources of a rule")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        configure_rules(
            api,
            server,
            plain=rule("deployments"),
            status=rule("deployments/status"),
            below=rule("deployments/*"),
            anystatus=rule("*/status"),
            star=rule("*"),
            every=rule("*/*"),
            several=rule("pods,deployments/scale"),
        )
        api.create("deployments", deployment("a"))
        api.patch("deployments", "a/status", {"status": {"replicas": 3}})
        api.patch("deployments", "a/scale", {"spec": {"replicas": 3}})
        server.show_calls(api)


@case("the scope of a rule")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        name = f"{api.namespace}-x"
        labels = {"case": api.namespace}
        hooks = [
            hook_of(
                api,
                scope.lower().replace("*", "any"),
                server.at(scope.lower().replace("*", "any")),
                {**rule("configmaps,priorityclasses,namespaces"), "scope": scope},
                objectSelector={"matchLabels": labels},
                namespaceSelector={},
            )
            for scope in ("Namespaced", "Cluster", "*")
        ]
        configure(api, server, VALIDATING, *hooks)
        api.create("configmaps", config_map("a", labels=labels))
        api.create("namespaces", namespace(name, labels=labels))
        meta = {"name": name, "labels": labels}
        body: Plain = {"apiVersion": "scheduling.k8s.io/v1", "kind": "PriorityClass", "metadata": meta, "value": 1}
        api.create("priorityclasses", body)
        server.show_calls(api)


@case("several rules match once")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, allow(), rules=[rule(), rule("*"), rule("*/*")])
        api.create("configmaps", config_map("a"))
        server.show_calls(api)


@case("a webhook without rules")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        hook = hook_of(api, "a", server.at("a"))
        configure(api, server, VALIDATING, {**hook, "rules": []})
        api.create("configmaps", config_map("a"))
        server.show_calls(api)


@case("an object selector sees the old and the new object")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        selector = {"matchLabels": {"watch": "me"}}
        validate(api, server, allow(), objectSelector=selector)
        api.create("configmaps", config_map("a"))
        api.patch("configmaps", "a", {"metadata": {"labels": {"watch": "me"}}})
        server.show_calls(api)
        api.patch("configmaps", "a", {"data": {"k": "v"}})
        api.patch("configmaps", "a", {"metadata": {"labels": {"watch": "other"}}})
        server.show_calls(api)
        api.patch("configmaps", "a", {"data": {"k": "w"}})
        api.delete("configmaps", "a")
        server.show_calls(api)
        api.create("configmaps", config_map("b", labels={"watch": "me"}))
        api.delete("configmaps", "b")
        server.show_calls(api)


@case("expressions of an object selector")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        selectors: dict[str, Plain] = {
            "isin": {"key": "a", "operator": "In", "values": ["1", "2"]},
            "notin": {"key": "a", "operator": "NotIn", "values": ["1"]},
            "exists": {"key": "a", "operator": "Exists"},
            "absent": {"key": "a", "operator": "DoesNotExist"},
        }
        hooks = [
            hook_of(api, name, server.at(name), objectSelector={"matchExpressions": [expression]})
            for name, expression in selectors.items()
        ]
        configure(api, server, VALIDATING, *hooks)
        for value in ("1", "2", "3"):
            api.create("configmaps", config_map(f"a{value}", labels={"a": value}))
        api.create("configmaps", config_map("none"))
        server.show_calls(api)


@case("an object selector and what has no metadata")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        absent = {"matchExpressions": [{"key": "a", "operator": "DoesNotExist"}]}
        validate(api, server, allow(), rules=[rule("pods/*", "CONNECT")], objectSelector=absent)
        api.create("pods", pod("a"))
        api.request("GET", api.path("pods", "a/proxy"))
        server.show_calls(api)


@case("a namespace selector")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        own = {"matchLabels": {"kubernetes.io/metadata.name": api.namespace}}
        labelled = {"matchLabels": {"kubernetes.io/metadata.name": api.namespace, "on": "yes"}}
        hooks = [
            hook_of(api, name, server.at(name), namespaceSelector=selector)
            for name, selector in (("own", own), ("labelled", labelled))
        ]
        configure(api, server, VALIDATING, *hooks)
        api.create("configmaps", config_map("a"))
        server.show_calls(api)
        api.patch("namespaces", api.namespace, {"metadata": {"labels": {"on": "yes"}}})
        # The real server's cache of namespaces follows in its own time.
        path = api.path("configmaps")
        api.await_response(
            f"{path}?dryRun=All", lambda *_: len(server.reviews) > 2, method="POST", body=config_map("probe")
        )
        server.reviews.clear()
        api.create("configmaps", config_map("b"))
        server.show_calls(api)


@case("a namespace selector and Namespaces themselves")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        name = f"{api.namespace}-x"
        selector = {"matchLabels": {"case": api.namespace}}
        hook = hook_of(api, "a", server.at("a"), rule("namespaces"), namespaceSelector=selector)
        configure(api, server, VALIDATING, hook)
        api.create("namespaces", namespace(name))
        server.show_calls(api)
        api.patch("namespaces", name, {"metadata": {"labels": {"case": api.namespace}}})
        server.show_calls(api)
        api.patch("namespaces", name, {"metadata": {"labels": {"case": None}}})
        server.show_calls(api)


@case("conditions on the request")
def _(api: Api) -> None:
    try_conditions(api, "request.operation == 'UPDATE'", "request.namespace != ''", "request.name == 'a'")


@case("conditions on the objects")
def _(api: Api) -> None:
    try_conditions(api, "oldObject == null || oldObject.data.k == 'v'", "object == null || object.data.k == 'v'")


@case("conditions on the user and the authorizer")
def _(api: Api) -> None:
    try_conditions(
        api,
        "request.userInfo.username == 'kubernetes-admin' && 'system:masters' in request.userInfo.groups",
        "authorizer.group('').resource('configmaps').namespace(request.namespace).check('get').allowed()",
        "authorizer.requestResource.check('update').allowed()",
    )


@case("a condition that is false skips the webhook")
def _(api: Api) -> None:
    try_conditions(api, "true", "false")


@case("a condition that fails refuses the request")
def _(api: Api) -> None:
    try_conditions(api, "object.foo == 'bar'")


@case("a condition that fails skips the webhook, if the policy says so")
def _(api: Api) -> None:
    try_conditions(api, "object.foo == 'bar'", failurePolicy="Ignore")


@case("several conditions that fail")
def _(api: Api) -> None:
    try_conditions(api, "object.foo == 'bar'", "object.baz == 'bar'", "true")


@case("a condition that fails, and one that is false")
def _(api: Api) -> None:
    try_conditions(api, "object.foo == 'bar'", "false")


@case("a condition that costs too much")
def _(api: Api) -> None:
    data = {f"k{index}": "v" for index in range(100)}
    with scripted_webhook(api) as server:
        nested = "object.data.all(a, object.data.all(b, object.data.all(c, a == a)))"
        configure(api, server, VALIDATING, hook_of(api, "a", server.at("a"), **conditions_of(nested)))
        api.create("configmaps", config_map("a", data=data))
        server.show_calls(api)


@case("conditions see the version of the rule")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        fields = conditions_of("request.kind.version == 'v1'", "request.requestKind.version == 'v2'")
        hook = hook_of(api, "a", server.at("a"), rule("horizontalpodautoscalers", versions="v1"), **fields)
        configure(api, server, VALIDATING, hook)
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
        spec = {"maxReplicas": 3, "scaleTargetRef": target}
        api.create("horizontalpodautoscalers", named("autoscaling/v2", "HorizontalPodAutoscaler", "a", spec=spec))
        server.show_calls(api)


@case("conditions of a mutating webhook see earlier changes")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        first = hook_of(api, "a", server.at("a", patch({"op": "add", "path": "/data", "value": {"k": "v"}})))
        second = hook_of(api, "b", server.at("b"), **conditions_of("has(object.data) && object.data.k == 'v'"))
        third = hook_of(api, "c", server.at("c"), **conditions_of("!has(object.data)"))
        configure(api, server, MUTATING, first, second, third)
        api.create("configmaps", config_map("a"))
        server.show_calls(api, in_order=True)


@case("selectors of a mutating webhook see earlier changes")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        label = {"op": "add", "path": "/metadata/labels", "value": {"on": "yes"}}
        first = hook_of(api, "a", server.at("a", patch(label)))
        second = hook_of(api, "b", server.at("b"), objectSelector={"matchLabels": {"on": "yes"}})
        configure(api, server, MUTATING, first, second)
        api.create("configmaps", config_map("a"))
        server.show_calls(api, in_order=True)


@case("conditions that do not compile")
def _(api: Api) -> None:
    for expression in (
        "foo",
        "1",
        "'a'",
        "object.",
        "params.x",
        "variables.x",
        "namespaceObject.metadata.name == 'a'",
        "request.foo",
        "request.object",
        "true && 1",
        "has(object)",
        "[1].exists(x, y)",
    ):
        with_condition = {"matchConditions": [{"name": "a", "expression": expression}]}
        client = {"url": "https://127.0.0.1/x"}
        hook = hook_of(api, "a", client, **with_condition)
        meta = {"name": api.namespace}
        body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingWebhookConfiguration"}
        api.request("POST", IN_RULES, {**body, "metadata": meta, "webhooks": [hook]}, query={"dryRun": "All"})


@case("dry runs and side effects")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(api, server, allow(), sideEffects="NoneOnDryRun")
        validate(api, server, allow(), sideEffects="NoneOnDryRun")
        api.create("configmaps", config_map("a"), dryRun="All")
        api.create("configmaps", config_map("a"))
        api.delete("configmaps", "a", dryRun="All")
        server.show_calls(api)


@case("a configuration that changes")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, allow())
        api.create("configmaps", config_map("a"))
        server.show_calls(api)
        configure(api, server, VALIDATING, hook_of(api, "z", server.at("z")))
        api.create("configmaps", config_map("b"))
        server.show_calls(api)
        configure(api, server, VALIDATING)
        api.create("configmaps", config_map("c"))
        server.show_calls(api)
