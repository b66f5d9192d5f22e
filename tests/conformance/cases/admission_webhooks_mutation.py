"""Changes by admission webhooks: their order, their patches, and what the server makes of the result."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.definitions import definition, group_of, install, object_of, resource_of, version_of
from tests.conformance.objects import config_map, deployment, named, pod
from tests.conformance.webhooks import (
    MUTATING,
    VALIDATING,
    allow,
    configure,
    hook_of,
    mutate,
    patch,
    patch_text,
    rule,
    scripted_webhook,
    validate,
)

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain
    from tests.conformance.webhooks import Answer

case = area("Admission webhooks: mutation")


def add(path: str, value: object) -> Plain:
    """An operation of a patch that adds a value."""
    return {"op": "add", "path": path, "value": value}


LABEL = add("/metadata/labels", {"from": "webhook"})


def append(letter: str) -> Answer:
    """Append a letter to ``data.order``."""

    def answer(review: Plain) -> object:
        data = (review["request"]["object"] or {}).get("data") or {}
        return patch(add("/data", {**data, "order": data.get("order", "") + letter}))(review)

    return answer  # type: ignore[return-value]


def try_patches(api: Api, *texts: str) -> None:
    """Have a webhook send each patch to one dry-run create."""
    with scripted_webhook(api) as server:
        remaining = iter(texts)
        mutate(api, server, lambda review: patch_text(next(remaining))(review))
        for _text in texts:
            api.create("configmaps", config_map("a", data={"k": "v"}), dryRun="All")


@case("a webhook changes a new object, an update and a patch")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(api, server, patch(LABEL))
        api.create("configmaps", config_map("a", data={"k": "v"}))
        api.patch("configmaps", "a", {"metadata": {"labels": None}})
        api.update("configmaps", "a", config_map("a"))
        api.apply("configmaps", "a", config_map("a", data={"k": "v"}))
        api.apply("configmaps", "b", config_map("b", data={"k": "v"}))
        api.list("configmaps")


@case("a validating webhook sees the change")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        configure(api, server, MUTATING, hook_of(api, "m", server.at("m", patch(LABEL))))
        configure(api, server, VALIDATING, hook_of(api, "v", server.at("v")))
        api.create("configmaps", config_map("a", data={"k": "v"}))
        server.show(api)


@case("a deletion cannot be changed")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        api.create("configmaps", config_map("a"))
        mutate(api, server, patch(LABEL), rules=[rule(operations="DELETE")])
        api.delete("configmaps", "a")
        server.answers["/a"] = patch()
        api.delete("configmaps", "a")
        server.show_calls(api)


@case("webhooks are called in the order of their configurations and of their lists")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        letters = {name: server.at(name, append(name)) for name in "abcd"}
        configure(api, server, MUTATING, *(hook_of(api, name, letters[name]) for name in "dc"), name="z")
        configure(api, server, MUTATING, *(hook_of(api, name, letters[name]) for name in "ba"), name="y")
        api.create("configmaps", config_map("a"))
        server.show_calls(api, in_order=True)


@case("a webhook is called again after later changes, if it wants")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        first = hook_of(api, "a", server.at("a", append("a")), reinvocationPolicy="IfNeeded")
        second = hook_of(api, "b", server.at("b", append("b")))
        configure(api, server, MUTATING, first, second)
        api.create("configmaps", config_map("a"))
        server.show_calls(api, in_order=True)


@case("a webhook is not called again without a later change")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        first = hook_of(api, "a", server.at("a", append("a")), reinvocationPolicy="IfNeeded")
        second = hook_of(api, "b", server.at("b"), reinvocationPolicy="IfNeeded")
        configure(api, server, MUTATING, first, second)
        api.create("configmaps", config_map("a"))
        server.show_calls(api, in_order=True)


@case("two webhooks that change an object in turn")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        hooks = [hook_of(api, name, server.at(name, append(name)), reinvocationPolicy="IfNeeded") for name in "abc"]
        configure(api, server, MUTATING, *hooks)
        api.create("configmaps", config_map("a"))
        server.show_calls(api, in_order=True)
        api.patch("configmaps", "a", {"data": {"k": "v"}})
        server.show_calls(api, in_order=True)


@case("a second call does not include webhooks that did not match before")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        selector = {"matchLabels": {"from": "webhook"}}
        first = hook_of(api, "a", server.at("a"), reinvocationPolicy="IfNeeded", objectSelector=selector)
        second = hook_of(api, "b", server.at("b"), reinvocationPolicy="IfNeeded")
        third = hook_of(api, "c", server.at("c", patch(LABEL)))
        configure(api, server, MUTATING, first, second, third)
        api.create("configmaps", config_map("a"))
        server.show_calls(api, in_order=True)


@case("a patch that changes nothing but the times of managers")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        first = hook_of(api, "a", server.at("a"), reinvocationPolicy="IfNeeded")
        second = hook_of(api, "b", server.at("b", patch(add("/data/k", "v"))))
        configure(api, server, MUTATING, first, second)
        api.create("configmaps", config_map("a", data={"k": "v"}))
        server.show_calls(api, in_order=True)


@case("operations of a patch")
def _(api: Api) -> None:
    try_patches(
        api,
        '[{"op":"add","path":"/data/l","value":"w"}]',
        '[{"op":"replace","path":"/data/k","value":"w"}]',
        '[{"op":"remove","path":"/data/k"}]',
        '[{"op":"move","from":"/data/k","path":"/data/l"}]',
        '[{"op":"copy","from":"/data/k","path":"/data/l"}]',
        '[{"op":"test","path":"/data/k","value":"v"},{"op":"remove","path":"/data"}]',
        '[{"op":"add","path":"/metadata/labels","value":{"a~b":"c"}}]',
        '[{"op":"add","path":"/metadata/annotations","value":{}},{"op":"add","path":"/metadata/annotations/a~1b","value":"c"}]',
    )


@case("patches that are none")
def _(api: Api) -> None:
    try_patches(api, "rubbish", "{}", "null", "[]", "[1]", '"x"', "1", "[{}]", '[{"op":1}]', "[null]", "[[]]")


@case("operations that do not apply")
def _(api: Api) -> None:
    try_patches(
        api,
        '[{"op":"add"}]',
        '[{"op":"add","path":1}]',
        '[{"op":"foo","path":"/a"}]',
        '[{"op":"add","path":"/foo/bar","value":1}]',
        '[{"op":"add","path":"x","value":1}]',
        '[{"op":"remove"}]',
        '[{"op":"remove","path":"/foo"}]',
        '[{"op":"remove","path":"/foo/bar"}]',
        '[{"op":"replace"}]',
        '[{"op":"replace","path":"/foo/bar","value":1}]',
        '[{"op":"test","path":"/kind","value":"Pod"}]',
        '[{"op":"test","path":"/foo/bar","value":"Pod"}]',
        '[{"op":"test","value":"Pod"}]',
        '[{"op":"move","path":"/a"}]',
        '[{"op":"move","from":"/foo/bar","path":"/a"}]',
        '[{"op":"move","from":"/foo","path":"/a"}]',
        '[{"op":"move","from":"/data/k","path":"/foo/bar"}]',
        '[{"op":"move","from":"/data/k"}]',
        '[{"op":"copy","path":"/a"}]',
        '[{"op":"copy","from":"/foo/bar","path":"/a"}]',
        '[{"op":"copy","from":"/data/k","path":"/foo/bar"}]',
        '[{"op":"copy","from":"/data/k"}]',
    )


@case("operations on lists")
def _(api: Api) -> None:
    finalizers = '{"op":"add","path":"/metadata/finalizers","value":["e.com/a","e.com/b"]}'
    texts = (
        '{"op":"add","path":"/metadata/finalizers/-","value":"e.com/c"}',
        '{"op":"add","path":"/metadata/finalizers/0","value":"e.com/c"}',
        '{"op":"add","path":"/metadata/finalizers/3","value":"e.com/c"}',
        '{"op":"add","path":"/metadata/finalizers/x","value":"e.com/c"}',
        '{"op":"add","path":"/metadata/finalizers/-9","value":"e.com/c"}',
        '{"op":"remove","path":"/metadata/finalizers/0"}',
        '{"op":"remove","path":"/metadata/finalizers/2"}',
        '{"op":"remove","path":"/metadata/finalizers/x"}',
        '{"op":"replace","path":"/metadata/finalizers/1","value":"e.com/c"}',
        '{"op":"replace","path":"/metadata/finalizers/2","value":"e.com/c"}',
        '{"op":"test","path":"/metadata/finalizers/5","value":"e.com/c"}',
        '{"op":"copy","from":"/metadata/finalizers/5","path":"/metadata/finalizers/0"}',
        '{"op":"move","from":"/metadata/finalizers/5","path":"/metadata/finalizers/0"}',
    )
    try_patches(api, *(f"[{finalizers},{text}]" for text in texts))


@case("results of another type")
def _(api: Api) -> None:
    try_patches(
        api,
        '[{"op":"replace","path":"/data","value":1}]',
        '[{"op":"replace","path":"/data","value":{"a":1}}]',
        '[{"op":"replace","path":"/metadata/name","value":1}]',
        '[{"op":"add","path":"/immutable","value":"yes"}]',
        '[{"op":"add","path":"/binaryData","value":{"k":"%"}}]',
        '[{"op":"replace","path":"","value":[]}]',
        '[{"op":"replace","path":"","value":null}]',
        '[{"op":"replace","path":"","value":1}]',
        '[{"op":"replace","path":"","value":{}}]',
    )


@case("results of another kind")
def _(api: Api) -> None:
    try_patches(
        api,
        '[{"op":"replace","path":"/kind","value":"Secret"}]',
        '[{"op":"replace","path":"/kind","value":"Foo"}]',
        '[{"op":"replace","path":"/kind","value":1}]',
        '[{"op":"replace","path":"/apiVersion","value":"v2"}]',
        '[{"op":"replace","path":"/apiVersion","value":"a/b/c"}]',
        '[{"op":"replace","path":"/apiVersion","value":"apps/v1"}]',
        '[{"op":"remove","path":"/kind"}]',
        '[{"op":"remove","path":"/apiVersion"}]',
    )


@case("results with unknown fields")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(api, server, patch(add("/foo", 1), add("/metadata/bar", 1)))
        api.create("configmaps", config_map("a"), fieldValidation="Strict")
        api.create("configmaps", config_map("b"), fieldValidation="Warn")


@case("results that are invalid")
def _(api: Api) -> None:
    try_patches(
        api,
        '[{"op":"add","path":"/data","value":{"not a key":"v"}}]',
        '[{"op":"replace","path":"/metadata/name","value":"A B"}]',
        '[{"op":"replace","path":"/metadata/name","value":"b"}]',
        '[{"op":"remove","path":"/metadata/name"}]',
        '[{"op":"replace","path":"/metadata/namespace","value":"other"}]',
        '[{"op":"remove","path":"/metadata/namespace"}]',
        '[{"op":"remove","path":"/metadata"}]',
        '[{"op":"add","path":"/metadata/labels","value":{"not a key!":"v"}}]',
        '[{"op":"add","path":"/metadata/uid","value":"mine"}]',
        '[{"op":"add","path":"/metadata/resourceVersion","value":"7"}]',
        '[{"op":"add","path":"/metadata/creationTimestamp","value":"2001-02-03T04:05:06Z"}]',
        '[{"op":"add","path":"/metadata/deletionTimestamp","value":"2001-02-03T04:05:06Z"}]',
    )


@case("an update whose result is another object")
def _(api: Api) -> None:
    operations = (
        add("/metadata/name", "b"),
        add("/metadata/namespace", "other"),
        add("/metadata/uid", "mine"),
        add("/metadata/resourceVersion", "1"),
        add("/metadata/finalizers", ["e.com/a"]),
    )
    with scripted_webhook(api) as server:
        api.create("configmaps", config_map("a"))
        remaining = iter(operations)
        mutate(api, server, lambda review: patch(next(remaining))(review))
        for _operation in operations:
            api.patch("configmaps", "a", {"data": {"k": "v"}}, dryRun="All")


@case("results get defaults again")
def _(api: Api) -> None:
    container = {"name": "second", "image": "image:latest", "ports": [{"containerPort": 80}]}
    with scripted_webhook(api) as server:
        mutate(api, server, patch(add("/spec/containers/-", container)), rules=[rule("pods")])
        validate(api, server, allow(), rules=[rule("pods")])
        api.create("pods", pod("a"))
        server.show(api)


@case("a webhook changes status and scale")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        status = hook_of(api, "a", server.at("a", patch(add("/status/replicas", 7))), rule("deployments/status"))
        scale = hook_of(api, "b", server.at("b", patch(add("/spec/replicas", 8))), rule("deployments/scale"))
        configure(api, server, MUTATING, status, scale)
        api.create("deployments", deployment("a"))
        api.patch("deployments", "a/status", {"status": {"replicas": 3}})
        api.patch("deployments", "a/scale", {"spec": {"replicas": 3}})
        api.get("deployments", "a")


@case("a webhook for the object cannot change its status")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(api, server, patch(add("/status", {"replicas": 7})), rules=[rule("deployments")])
        api.create("deployments", deployment("a"))
        api.patch("deployments", "a", {"metadata": {"labels": {"a": "b"}}})


@case("managed fields after a change")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(api, server, patch(add("/data/added", "x")))
        api.create("configmaps", config_map("a", data={"k": "v"}))
        api.apply("configmaps", "a", config_map("a", data={"added": "mine"}))
        api.patch("configmaps", "a", {"data": {"other": "y"}})


@case("a webhook that changes managed fields")
def _(api: Api) -> None:
    operations: list[Plain] = [
        {"op": "remove", "path": "/metadata/managedFields"},
        add("/metadata/managedFields", []),
        add("/metadata/managedFields", [{"manager": "x", "operation": "Foo"}]),
        add("/metadata/managedFields", [{"manager": "x", "operation": "Update", "fieldsType": "Foo"}]),
        add("/metadata/managedFields/0/manager", "renamed"),
    ]
    with scripted_webhook(api) as server:
        remaining = iter(operations)
        mutate(api, server, lambda review: patch(next(remaining))(review))
        for number, _operation in enumerate(operations):
            api.create("configmaps", config_map(f"a{number}", data={"k": "v"}))


@case("a webhook that repeats an owner")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        owner = api.create("configmaps", config_map("owner"))
        reference = {"apiVersion": "v1", "kind": "ConfigMap", "name": "owner", "uid": owner.uid}
        mutate(api, server, patch(add("/metadata/ownerReferences", [reference, reference])))
        api.create("configmaps", config_map("a"))


@case("a custom resource is pruned and gets defaults again")
def _(api: Api) -> None:
    spec = object_of(size={"type": "integer", "default": 1}, nested=object_of(a={"type": "string", "default": "x"}))
    with scripted_webhook(api) as server:
        install(api, definition(api, object_of(spec=spec)))
        rules = [rule("widgets", groups=group_of(api))]
        mutate(api, server, patch(add("/spec", {"nested": {}, "unknown": 1})), rules=rules)
        validate(api, server, allow(), rules=rules)
        api.create(resource_of(api), named(f"{group_of(api)}/v1", "Widget", "a"))
        server.show(api)
        api.get(resource_of(api), "a")


@case("a custom resource whose result is invalid")
def _(api: Api) -> None:
    operations: list[Plain] = [
        add("/spec", {"size": "large"}),
        add("/spec", 1),
        add("/kind", "Gadget"),
        add("/apiVersion", "other.example.com/v1"),
        {"op": "remove", "path": "/kind"},
        add("/metadata/labels", {"a": 1}),
        add("/metadata/name", "b"),
    ]
    with scripted_webhook(api) as server:
        install(api, definition(api, object_of(spec=object_of(size={"type": "integer"}))))
        remaining = iter(operations)
        mutate(
            api, server, lambda review: patch(next(remaining))(review), rules=[rule("widgets", groups=group_of(api))]
        )
        for _operation in operations:
            api.create(resource_of(api), named(f"{group_of(api)}/v1", "Widget", "a"), dryRun="All")


@case("a webhook changes another version of a custom resource")
def _(api: Api) -> None:
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    with scripted_webhook(api) as server:
        install(api, definition(api, versions=[version_of(anything), version_of(anything, "v2")]))
        hook = hook_of(api, "a", server.at("a", patch(LABEL)), rule("widgets", versions="v1"))
        configure(api, server, MUTATING, hook)
        api.create(resource_of(api, version="v2"), named(f"{group_of(api)}/v2", "Widget", "a", spec={"size": 1}))
        api.get(resource_of(api), "a")


@case("a webhook changes another version of a built-in kind")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        operation = add("/spec/targetCPUUtilizationPercentage", 42)
        hook = hook_of(api, "a", server.at("a", patch(operation)), rule("horizontalpodautoscalers", versions="v1"))
        configure(api, server, MUTATING, hook)
        target = {"apiVersion": "apps/v1", "kind": "Deployment", "name": "a"}
        spec = {"maxReplicas": 3, "scaleTargetRef": target}
        api.create("horizontalpodautoscalers", named("autoscaling/v2", "HorizontalPodAutoscaler", "a", spec=spec))


@case("a large patch")
def _(api: Api) -> None:
    data = {f"k{number}": "v" * 100 for number in range(500)}
    with scripted_webhook(api) as server:
        mutate(api, server, patch_text(json.dumps([add("/data", data)])))
        api.request("POST", api.path("configmaps"), config_map("a"), pick=lambda body: len(body["data"]))


@case("a webhook changes the options of a connection")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(api, server, patch(add("/container", "other")), rules=[rule("pods/exec", "CONNECT")])
        api.create("pods", pod("a"))
        api.request("POST", api.path("pods", "a/exec"), query={"command": "ls", "container": "missing"})
        server.show_calls(api)
