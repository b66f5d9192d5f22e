"""``ctx.apply`` of whole manifests: one request per change, despite defaults and other effects of the server."""

from __future__ import annotations

import asyncio
import importlib
import json
from collections import Counter
from contextlib import suppress
from copy import deepcopy
from random import Random
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import parse_qs, urlsplit

import pytest
from tests.conformance.cases.minimal import EVERYTHING
from tests.sequences.player import Facts
from tests.sequences.recording import read
from tests.sequences.sequence import APPLY
from tests.unit.controller.manifests import REALISTIC, Plain, class_of, is_namespaced, title

import masthead
import masthead.aio
from masthead import Patch, Unstructured
from masthead._controller.applied_configurations import AppliedConfigurations, Configuration
from masthead._controller.ownership import prepare_configuration
from masthead._schema.builtin.server_defaults import BUILTIN_DEFAULTS
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.testing import Environment, in_virtual_time

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence


def applying(manifests: Sequence[Plain]) -> masthead.Manager:
    """An operator that applies manifests as plain data, and owns those with a namespace."""
    app = masthead.Manager("applying")
    classes = {class_of(manifest): is_namespaced(manifest) for manifest in manifests}

    @app.controller(
        ConfigMap,
        label_selector="trigger",
        owns=[cls for cls, has_namespace in classes.items() if has_namespace],
        reads=[cls for cls, has_namespace in classes.items() if not has_namespace],
    )
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], _: ConfigMap) -> None:
        for manifest in manifests:
            await ctx.apply(manifest, owned=is_namespaced(manifest))

    return app


async def trigger(env: Environment) -> None:
    """Reconcile once more."""
    trigger = ConfigMap.new("trigger", namespace="default", labels={"trigger": ""})
    maps = env.client.core_v1.config_maps("default")
    await maps.apply(trigger, field_manager="test")
    await maps.patch("trigger", Patch.merge({"data": {"requests": str(len(env.server.requests))}}))
    await env.wait_for_idle()


def patches(env: Environment) -> list[str]:
    """The objects that the operator has applied; `env.writes` leaves Leases and Events out."""
    return [
        f"{request.info.resource} {request.info.name}"
        for request in env.server.requests
        if request.info.verb == "patch" and "fieldManager=configmaps" in request.query
    ]


@pytest.mark.slow
@in_virtual_time
async def test_manifests_of_every_kind_are_sent_once() -> None:
    async with Environment(server_options={"controllers": False}) as env:
        replica = await env.start(applying(REALISTIC))
        await trigger(env)
        assert env.failures == []
        sent = patches(env)
        assert len(sent) == len(set(sent)) == len(REALISTIC)
        await trigger(env)
        assert patches(env) == sent
        await replica.stop()
        await env.start(applying(REALISTIC))
        await env.wait_for_idle()
        # Derived defaults, and an object without managed fields, do not prove what was applied.
        assert patches(env)[len(sent) :] == ["limitranges limits", "certificatesigningrequests kubelet"]


async def open_resource(env: Environment, manifest: Plain) -> masthead.aio.ResourceClient[Any]:
    found = await env.client.mapper.kind(Unstructured.from_dict(manifest).gvk)
    return env.client.dynamic(found.gvr, namespace="default" if found.namespaced else None)


def configuration_of(manifest: Plain, field_manager: str = "operator") -> tuple[Unstructured, Configuration]:
    """Return the configuration that ``ctx.apply`` sends for a manifest without an owner."""
    given = Unstructured.from_dict(manifest)
    plain = prepare_configuration(given, None, "default" if is_namespaced(manifest) else "")
    return Unstructured.from_dict(plain), Configuration(plain, given.gvk, "things", field_manager)


@in_virtual_time
async def test_the_response_to_an_apply_proves_minimal_objects_of_every_version() -> None:
    async with Environment(server_options={"controllers": False}) as env:
        for minimal in EVERYTHING:
            if minimal.dry or minimal.without_name:
                continue
            name = minimal.name.replace("*", "the")
            manifest = {
                "apiVersion": minimal.api_version, "kind": minimal.kind, "metadata": {"name": name}, **minimal.fields,
            }  # fmt: skip
            resource = await open_resource(env, manifest)
            wanted, config = configuration_of(manifest)
            applied = await resource.apply(wanted, field_manager="operator")
            memory = AppliedConfigurations()
            memory.remember(config, applied, is_creation=True)
            assert memory.covers(config, applied), minimal
            again = await resource.apply(wanted, field_manager="operator")
            assert effect_of(again) == effect_of(applied), minimal
            await resource.delete(name)


def effect_of(obj: Unstructured) -> Plain:
    """Return an object with the fields of its operator, without the managed fields of others."""
    plain = without_managers(obj.to_dict())
    del plain["metadata"]["resourceVersion"]
    own = [entry.fields_v1 for entry in obj.metadata.managed_fields if entry.manager == "operator"]
    return {**plain, "owned": own}


@pytest.mark.parametrize("index", range(len(REALISTIC)), ids=map(title, REALISTIC))
@in_virtual_time
async def test_what_is_not_sent_would_change_nothing(index: int) -> None:
    manifest, random = REALISTIC[index], Random(index)
    name, skipped = manifest["metadata"]["name"], 0
    async with Environment(server_options={"controllers": False}) as env:
        resource = await open_resource(env, manifest)
        for _ in range(5):
            memory = AppliedConfigurations()
            wanted, config = configuration_of(manifest)
            applied = await resource.apply(wanted, field_manager="operator")
            memory.remember(config, applied, is_creation=True)
            for _ in range(5):
                await change_by_another(resource, name, random)
                skipped += await apply_changed(resource, changed_copy(manifest, random), memory)
            await resource.patch(name, Patch.merge({"metadata": {"finalizers": None}}))
            await resource.delete(name, grace_period_seconds=0, propagation_policy="Background")
    assert skipped


async def change_by_another(resource: masthead.aio.ResourceClient[Any], name: str, random: Random) -> None:
    """Let another manager change something, or nothing."""
    if random.random() < 0.5:
        change = Patch.merge(foreign_change(await resource.get(name), random))
        with suppress(masthead.StatusError):
            await resource.patch(name, change, field_manager="other")


async def apply_changed(
    resource: masthead.aio.ResourceClient[Any], manifest: Plain, memory: AppliedConfigurations
) -> bool:
    """Apply a manifest; return whether the memory had proven that it changes nothing."""
    try:
        wanted, config = configuration_of(manifest)
    except masthead.MastheadError:
        return False
    live = await resource.get(wanted.metadata.name)
    is_covered = memory.covers(config, live)
    if is_covered:
        applied = await resource.apply(wanted, field_manager="operator", force=True)
        assert effect_of(applied) == effect_of(live), manifest
        return True
    with suppress(masthead.StatusError):
        applied = await resource.apply(wanted, field_manager="operator", force=True)
        memory.remember(config, applied, is_creation=False)
    return False


def changed_copy(manifest: Plain, random: Random) -> Plain:
    """A manifest with up to two changes; often with none."""
    copy: Plain = deepcopy(manifest)
    copy["metadata"].setdefault("labels", {"a": "b"})
    fields = {name: copy[name] for name in copy.keys() - _IDENTITY} | {"labels": copy["metadata"]["labels"]}
    for _ in range(random.choice((0, 0, 1, 1, 2))):
        place, key = random.choice([*places(fields)] or [({"a": "b"}, "a")])
        place[key] = random.choice(_changes(place[key]))
        if place[key] is _REMOVED:
            del place[key]
    return copy


def foreign_change(live: Unstructured, random: Random) -> Plain:
    """A merge patch that changes one value of an object, or none."""
    plain = live.to_dict()
    fields = {name: plain[name] for name in plain.keys() - _IDENTITY}
    fields["metadata"] = {"labels": plain["metadata"].get("labels", {"other": "1"})}
    found = [(place, key) for place, key in places(fields) if isinstance(place, dict)]
    place, key = random.choice(found)
    place[key] = random.choice([place[key], *_changes(place[key])])
    if place[key] is _REMOVED:
        place[key] = None
    return fields


def places(value: Any) -> Iterator[tuple[Any, Any]]:
    """All places of a value, at every depth."""
    entries: Any = value.items() if isinstance(value, dict) else enumerate(value)
    for key, entry in list(entries):
        yield value, key
        if isinstance(entry, dict | list):
            yield from places(entry)


def _changes(value: Any) -> list[Any]:
    if isinstance(value, list):
        return [value[::-1], value[1:], [*value, *value[:1]], [], None, _REMOVED]
    if isinstance(value, dict):
        return [{}, dict(reversed(value.items())), None, _REMOVED]
    if isinstance(value, bool):
        return [not value, None, _REMOVED]
    if isinstance(value, int):
        return [value + 1, 0, str(value), float(value), None, _REMOVED]
    return [f"{value}x", "", "1000m", "1", "2026-01-01T02:00:00.000000+02:00", None, _REMOVED]


_REMOVED: Final = object()
_IDENTITY: Final = {"apiVersion", "kind", "metadata"}


def test_skipped_applies_changed_nothing_on_a_real_server() -> None:
    outcomes: Counter[tuple[bool, bool]] = Counter()
    for sequence in read().sequences:
        live: Plain | None = None
        for number, (step, seen) in enumerate(zip(sequence.steps, sequence.observations, strict=True)):
            url = urlsplit(step.path)
            is_object = url.path.endswith("/{name}") and "dryRun" not in url.query
            is_apply = step.content_type == APPLY and isinstance(step.body, dict) and is_object
            if is_apply and seen.status == 200 and live is not None:
                facts = Facts("a", rv=str(number), uid="u", ip="10.0.0.1")
                before = Unstructured.from_dict(revealed(live, facts))
                manager = parse_qs(url.query)["fieldManager"][0]
                applied = Unstructured.from_dict(revealed(step.body, facts))
                config = Configuration(applied.to_dict(), applied.gvk, "things", manager)
                is_covered = AppliedConfigurations().covers(config, before)
                outcomes[is_covered, seen.is_new] += 1
                if is_covered and seen.is_new:
                    assert without_managers(live) == without_managers(seen.body)
            if seen.status < 300 and isinstance(seen.body, dict) and "metadata" in seen.body:
                live = seen.body
    assert outcomes[True, True] <= 1
    assert outcomes[True, False] > 100
    assert outcomes[False, False] < 40  # sent, and not needed


def revealed(body: Plain, facts: Facts) -> Plain:
    found: Plain = json.loads(facts.reveal(json.dumps(body)))
    return found


def without_managers(body: Plain) -> Plain:
    """Return an object without managed fields, which the server adapts to changed definitions."""
    metadata = {name: value for name, value in body["metadata"].items() if name != "managedFields"}
    return {**body, "metadata": metadata}


@in_virtual_time
async def test_an_object_changed_by_admission_is_applied_once_more() -> None:
    node = {
        "apiVersion": "v1",
        "kind": "Node",
        "metadata": {"name": "node"},
        "spec": {"taints": [{"key": "dedicated", "effect": "NoSchedule"}]},
    }
    async with Environment(applying([node]), server_options={"controllers": False}) as env:
        await trigger(env)
        await trigger(env)
        assert patches(env) == ["nodes node"] * 2
        found = await env.client.core_v1.nodes().get("node")
        assert [taint.key for taint in found.spec.taints] == ["dedicated"]  # and not that of a new node


@pytest.mark.slow
async def test_other_tasks_run_while_many_children_are_compared() -> None:
    turns: list[int] = []
    app = masthead.Manager("many")

    async def take_turns() -> None:
        while True:
            turns[-1] += 1
            await asyncio.sleep(0)

    @app.controller(ConfigMap, label_selector="trigger", owns=[Secret])
    async def reconcile(ctx: masthead.aio.ReconcileContext[ConfigMap], _: ConfigMap) -> None:
        turns.append(0)
        async with asyncio.TaskGroup() as group:
            task = group.create_task(take_turns())
            for number in range(500):
                await ctx.apply(Secret.new(f"child-{number}", string_data={"number": str(number)}))
            task.cancel()

    async with Environment(app, server_options={"controllers": False}) as env:
        await trigger(env)
        env.clear()
        await trigger(env)
        assert env.writes == []
    assert turns[-1] > 1


def test_server_defaults_belong_to_existing_fields() -> None:
    for full_name, defaults in BUILTIN_DEFAULTS.items():
        module, _, name = full_name.rpartition(".")
        cls = getattr(importlib.import_module(f"masthead.api.{module}"), name)
        assert defaults.keys() <= set(cls.__struct_encode_fields__), full_name
