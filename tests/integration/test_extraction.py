"""To apply what was extracted changes nothing: neither the object nor who owns what."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest
from tests.conformance.cases.minimal import EVERYTHING
from tests.conformance.objects import config_map, deployment, named, pod, service

from masthead._meta.gvk import GroupVersionKind
from masthead._meta.patch import Patch
from masthead._meta.registry import registry
from masthead.errors import NotFoundError, UnknownKindError
from masthead.managed_fields import extract

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conformance.cases.minimal import Minimal

Plain = dict[str, Any]
STORED = [each for each in EVERYTHING if not each.without_name and not each.dry]


def objects(unique: str) -> Iterator[tuple[Minimal, Plain]]:
    """An object of every kind, with metadata that several managers may share."""
    for minimal in STORED:
        metadata = {
            "name": minimal.name.replace("*", unique),
            "labels": {"app": "a"},
            "annotations": {},
            "finalizers": ["example.com/hold"],
        }
        yield (
            minimal,
            {"apiVersion": minimal.api_version, "kind": minimal.kind, **minimal.fields, "metadata": metadata},
        )


def content(obj: Any) -> Plain:
    """An object with its owners, but without their times: to apply what the server leaves out again is a change to
    it."""
    plain: Plain = obj.to_dict()
    del plain["metadata"]["resourceVersion"]
    for entry in plain["metadata"]["managedFields"]:
        del entry["time"]
    plain["metadata"]["managedFields"].sort(key=str)
    return plain


@pytest.mark.parametrize("typed", [True, False], ids=["typed", "dynamic"])
async def test_of_every_kind_exactly_what_was_applied_is_extracted(client: Any, namespace: str, *, typed: bool) -> None:
    changed: list[tuple[Plain, Plain]] = []
    for minimal, wanted in objects(namespace[-5:]):
        where = None if minimal.in_cluster else namespace
        dynamic = client.dynamic(minimal.api_version, minimal.resource, namespace=where)
        gvk = GroupVersionKind.of(minimal.api_version, minimal.kind)
        resource = client.resource(registry.object_class(gvk), where) if typed else dynamic
        name = wanted["metadata"]["name"]
        await dynamic.apply(wanted, field_manager="us", force=True)
        shared = {"name": name, "labels": {"app": "a", "more": "m"}}
        head = {"apiVersion": minimal.api_version, "kind": minimal.kind}
        await dynamic.apply({**head, "metadata": shared}, field_manager="them")
        before = await resource.get(name)

        after = await resource.apply(extract(before, "us"), field_manager="us")

        if content(after) != content(before):
            changed.append((before.to_dict(), after.to_dict()))
        await dynamic.patch(name, Patch.merge({"metadata": {"finalizers": None}}))
        if minimal.in_cluster:
            await dynamic.delete(name)
    assert changed == []
    assert len(STORED) > 50


CONTAINER = {
    "name": "main",
    "image": "image",
    "env": [
        {"name": "A", "value": ""},
        {"name": "B", "valueFrom": {"fieldRef": {"fieldPath": "metadata.name"}}},
    ],
    "ports": [
        {"containerPort": 80},
        {"containerPort": 80, "protocol": "UDP", "name": "udp"},
        {"containerPort": 81, "protocol": "TCP", "hostPort": 0},
    ],
    "resources": {"requests": {"cpu": "0.1"}, "limits": {}},
    "args": [],
    "securityContext": {"capabilities": {"add": ["NET_ADMIN"]}, "privileged": False},
    "stdin": False,
    "volumeMounts": [{"name": "scratch", "mountPath": "/tmp", "readOnly": False, "subPath": ""}],
}
POD_SPEC = {
    "containers": [CONTAINER, {"name": "side", "image": "image", "env": [], "ports": []}],
    "volumes": [{"name": "scratch", "emptyDir": {}}],
    "tolerations": [{"key": "k", "operator": "Exists"}],
    "nodeSelector": {},
    "hostNetwork": False,
    "hostAliases": [{"ip": "10.0.0.1", "hostnames": ["a"]}],
    "imagePullSecrets": [{"name": "pull"}],
    "topologySpreadConstraints": [
        {"maxSkew": 1, "topologyKey": "zone", "whenUnsatisfiable": "DoNotSchedule", "labelSelector": {}}
    ],
    "subdomain": "",
    "securityContext": {"sysctls": [], "fsGroup": 0},
}
RICH: dict[str, Plain] = {
    "pod": {**pod("it"), "spec": POD_SPEC},
    "deployment": {
        **deployment("it"),
        "spec": {
            "replicas": 0,
            "minReadySeconds": 0,
            "paused": False,
            "selector": {"matchLabels": {"app": "a"}},
            "strategy": {"rollingUpdate": {"maxSurge": 0, "maxUnavailable": "25%"}},
            "template": {"metadata": {"labels": {"app": "a"}, "annotations": {"a": ""}}, "spec": POD_SPEC},
        },
    },
    "service": service(
        "it",
        spec={
            "selector": {},
            "publishNotReadyAddresses": False,
            "externalIPs": [],
            "ports": [
                {"name": "web", "port": 80, "targetPort": "web"},
                {"name": "dns", "port": 53, "protocol": "UDP", "nodePort": 0},
                {"name": "tcp", "port": 53, "targetPort": 0},
            ],
        },
    ),
    "config map": {
        **config_map("it", data={"a": "", "b.c_d": "1"}, labels={}),
        "binaryData": {},
        "immutable": False,
    },
    "secret": named("v1", "Secret", "it", data={"a": "Yg=="}, type="Opaque", immutable=False),
}


@pytest.mark.parametrize("typed", [True, False], ids=["typed", "dynamic"])
@pytest.mark.parametrize("wanted", RICH.values(), ids=RICH)
async def test_empty_and_zero_values_defaults_and_keys_are_extracted_as_they_were_applied(
    client: Any, namespace: str, wanted: Plain, *, typed: bool
) -> None:
    dynamic = client.dynamic(wanted["apiVersion"], wanted["kind"], namespace=namespace)
    cls = registry.object_class(GroupVersionKind.of(wanted["apiVersion"], wanted["kind"]))
    await dynamic.apply(wanted, field_manager="us")
    await dynamic.patch("it", Patch.merge({"metadata": {"labels": {"theirs": "t"}}}), field_manager="them")
    resource = client.resource(cls, namespace) if typed else dynamic
    before = await resource.get("it")

    after = await resource.apply(extract(before, "us"), field_manager="us")

    assert content(after) == content(before)


WIDGETS = "widgets.extraction.example.com"
DEFINITION: Plain = {
    "apiVersion": "apiextensions.k8s.io/v1",
    "kind": "CustomResourceDefinition",
    "metadata": {"name": WIDGETS},
    "spec": {
        "group": "extraction.example.com",
        "scope": "Namespaced",
        "names": {"kind": "Widget", "plural": "widgets"},
        "versions": [
            {
                "name": "v1",
                "served": True,
                "storage": True,
                "schema": {
                    "openAPIV3Schema": {
                        "type": "object",
                        "properties": {
                            "spec": {
                                "type": "object",
                                "properties": {
                                    "size": {"type": "integer"},
                                    "tags": {
                                        "type": "array",
                                        "items": {"type": "string"},
                                        "x-kubernetes-list-type": "set",
                                    },
                                    "parts": {
                                        "type": "array",
                                        "x-kubernetes-list-type": "map",
                                        "x-kubernetes-list-map-keys": ["id", "side"],
                                        "items": {
                                            "type": "object",
                                            "required": ["id"],
                                            "properties": {
                                                "id": {"type": "integer"},
                                                "side": {"type": "string", "default": "left"},
                                                "value": {"type": "string"},
                                            },
                                        },
                                    },
                                    "whole": {
                                        "type": "object",
                                        "x-kubernetes-map-type": "atomic",
                                        "additionalProperties": {"type": "string"},
                                    },
                                    "free": {"type": "object", "x-kubernetes-preserve-unknown-fields": True},
                                },
                            }
                        },
                    }
                },
            }
        ],
    },
}


async def test_a_custom_resource_without_a_class_is_extracted_as_its_managed_fields_tell(
    client: Any, namespace: str
) -> None:
    gvk = GroupVersionKind("extraction.example.com", "v1", "Widget")
    with pytest.raises(UnknownKindError):
        registry.object_class(gvk)
    try:
        await client.dynamic("customresourcedefinitions").get(WIDGETS)
    except NotFoundError:
        await client.apply_manifests([DEFINITION], field_manager="us")
    await client.wait_for_kind(gvk)
    widgets = client.dynamic("extraction.example.com/v1", "widgets", namespace=namespace)
    mine = {
        "size": 0,
        "tags": ["b"],
        "parts": [{"id": 1, "value": "x"}, {"id": 1, "side": "right"}],
        "whole": {"a": "1"},
        "free": {"x": {"y": [1, {"z": 2}]}, "n": None},
    }
    theirs = {"tags": ["a", "b"], "parts": [{"id": 2}, {"id": 1, "side": "left"}], "free": {"x": {"w": 1}}}
    await widgets.apply(named(gvk.api_version, "Widget", "w", spec=mine), field_manager="us")
    await widgets.apply(named(gvk.api_version, "Widget", "w", spec=theirs), field_manager="them")
    for manager in ("us", "them"):
        before = await widgets.get("w")

        after = await widgets.apply(extract(before, manager), field_manager=manager)

        assert content(after) == content(before)
