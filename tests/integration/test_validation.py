"""Objects, validated by the client before they are sent."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.objects import config_map, deployment, named, pod

import masthead
import masthead.aio
from masthead._meta.gvk import GroupVersionKind
from masthead._sansio.backoff import Attempts
from masthead.api.core.v1 import Pod
from masthead.errors import ArgumentError, UnknownKindError, UnprocessableError

Plain = dict[str, Any]
SOON = Attempts(count=100, first=0.1, factor=1.0, jitter=0.0)

SCHEMA: Plain = {
    "type": "object",
    "required": ["spec"],
    "properties": {
        "spec": {
            "type": "object",
            "required": ["size"],
            "properties": {
                "size": {"type": "integer", "minimum": 1, "maximum": 9},
                "color": {"type": "string", "enum": ["red", "blue"], "default": "red"},
                "label": {"type": "string", "pattern": "^[a-z]+$", "maxLength": 4},
                "ports": {
                    "type": "array",
                    "x-kubernetes-list-type": "map",
                    "x-kubernetes-list-map-keys": ["port"],
                    "items": {
                        "type": "object",
                        "required": ["port"],
                        "properties": {"port": {"type": "integer"}, "name": {"type": "string"}},
                    },
                },
                "limit": {"x-kubernetes-int-or-string": True},
                "anything": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
            },
            "x-kubernetes-validations": [
                {"rule": "self.size < 5 || self.color == 'red'", "message": "large ones are red"},
                {"rule": "self.size >= oldSelf.size", "message": "it may not shrink", "fieldPath": ".size"},
            ],
        }
    },
}


def definition(group: str) -> Plain:
    version = {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": SCHEMA}}
    names = {"kind": "Cup", "plural": "cups"}
    spec = {"group": group, "scope": "Namespaced", "names": names, "versions": [version]}
    return named("apiextensions.k8s.io/v1", "CustomResourceDefinition", f"cups.{group}", spec=spec)


def cup(group: str, **spec: Any) -> Plain:
    return named(f"{group}/v1", "Cup", "a", spec=spec)


SPECS: list[Plain] = [
    {"size": 1},
    {"size": 3, "color": "blue", "label": "abc", "limit": "5%", "anything": {"a": [1]}},
    {"size": 0},
    {"size": "large"},
    {"size": 6, "color": "blue"},
    {"color": "green"},
    {"size": 1, "label": "ABCDE"},
    {"size": 1, "ports": [{"port": 1}, {"port": 1, "name": "x"}]},
    {"size": 1, "ports": [{"name": "x"}]},
    {"size": 1, "limit": True},
    {"size": 1, "ports": {}},
    {},
]


async def refusal(cups: Any, wanted: Plain) -> set[tuple[str | None, ...]]:
    """What the server says about an object that it is asked to create."""
    try:
        await cups.create(wanted, dry_run=True)
    except UnprocessableError as error:
        causes = error.details.causes if error.details else []
        found = {(caus.field, caus.reason, caus.message) for caus in causes}
        return {each for each in found if each[0] != "<nil>"}  # a note that rules were not evaluated
    return set()


async def test_a_definition_refuses_what_the_server_refuses_in_its_words(client: Any, namespace: str) -> None:
    group = f"{namespace}.example.com"
    made = definition(group)
    await client.apiextensions_v1.custom_resource_definitions().create(made)
    await client.wait_for_kind(GroupVersionKind(group, "v1", "Cup"))
    cups = client.dynamic(f"{group}/v1", "Cup", namespace=namespace)

    for spec in SPECS:
        found = masthead.crd.validate(cup(group, **spec), made)

        assert {(each.field, each.reason, each.message) for each in found} == await refusal(cups, cup(group, **spec)), (
            spec
        )


async def test_the_schema_of_the_cluster_says_the_same(client: Any, namespace: str) -> None:
    group = f"{namespace}.example.com"
    made = definition(group)
    await client.apiextensions_v1.custom_resource_definitions().create(made)
    await client.wait_for_kind(GroupVersionKind(group, "v1", "Cup"))

    # The document of a new kind appears later than the kind itself.
    async def read() -> None:
        client.discovery.invalidate()
        await client.validate(cup(group, size=1))

    await masthead.aio.retry_on(read, UnknownKindError, attempts=SOON)

    for spec in SPECS:
        assert await client.validate(cup(group, **spec)) == masthead.crd.validate(cup(group, **spec), made), spec


def test_unknown_fields_are_found() -> None:
    made = definition("example.com")

    found = masthead.crd.validate({**cup("example.com", size=1, colour="red"), "extra": 1}, made)

    assert [(each.field, each.message) for each in found] == [
        ("extra", 'unknown field "extra"'),
        ("spec.colour", 'unknown field "spec.colour"'),
    ]


def test_rules_about_changes_need_the_old_object() -> None:
    made = definition("example.com")
    new, old = cup("example.com", size=1), cup("example.com", size=2)

    assert masthead.crd.validate(new, made) == []
    [found] = masthead.crd.validate(new, made, old=old)
    assert (found.field, found.message) == ("spec.size", "Invalid value: it may not shrink")


def test_an_object_of_another_kind_or_version_is_no_object_of_the_definition() -> None:
    made = definition("example.com")
    with pytest.raises(ArgumentError, match="the definition is of the kind Cup in the group"):
        masthead.crd.validate(config_map("a"), made)
    with pytest.raises(ArgumentError, match="the definition has the versions v1, not v2"):
        masthead.crd.validate({**cup("example.com"), "apiVersion": "example.com/v2"}, made)
    with pytest.raises(ArgumentError, match="its apiVersion and kind"):
        masthead.crd.validate({"metadata": {"name": "a"}}, made)


async def test_kinds_of_kubernetes_are_validated_by_their_schemas(client: Any) -> None:
    valid = [deployment("a"), pod("a"), config_map("a", data={"a": "b"}), Pod.from_dict(pod("a"))]
    wrong = deployment("a")
    wrong["spec"]["replicas"] = "three"
    wrong["spec"]["template"]["spec"]["containers"][0]["imagePullPolcy"] = "Always"
    del wrong["spec"]["selector"]

    for each in valid:
        assert await client.validate(each) == []
    found = [(each.field, each.message) for each in await client.validate(wrong)]

    path = "spec.template.spec.containers[0].imagePullPolcy"
    assert found[0] == (path, f'unknown field "{path}"')
    assert ("spec.selector", "Required value") in found
    assert any(field == "spec.replicas" for field, _ in found)


async def test_a_kind_that_the_cluster_does_not_have_cannot_be_validated(client: Any) -> None:
    with pytest.raises(UnknownKindError):
        await client.validate(named("unknown.example.com/v1", "Thing", "a"))
    with pytest.raises(UnknownKindError, match="no schema of"):
        await client.validate(named("v1", "Thing", "a"))
