"""Workloads that are generated from the schema of a custom resource."""

from __future__ import annotations

import importlib.util
from collections import Counter
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any, cast

import pytest
import yaml
from hypothesis import given, settings
from hypothesis import strategies as st

import masthead
from masthead._regexp.pattern import compile_pattern
from masthead._schema.formats import string_format
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.errors import ArgumentError
from masthead.meta import Struct
from masthead.testing import Environment, generate_workload, in_virtual_time
from masthead.testing._explore.generation.known_values import (
    FORMAT_SAMPLES,
    is_port,
    is_scale,
    suggest_strings,
    suspect_strings,
)
from masthead.testing._explore.generation.object_states import read_definition
from masthead.testing._explore.generation.pattern_samples import sample_pattern
from masthead.testing._explore.generation.state_changes import StateChange, find_changes
from masthead.testing._explore.generation.value_generation import ValueGenerator

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead.aio import ReconcileContext
    from masthead.testing._explore.generation.generated_workload import GeneratedStep
    from masthead.testing._explore.workload import Workload

EXAMPLES = Path(__file__).parents[3] / "examples"
QUANTITY = r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE])?$"


def define(spec: Mapping[str, object], *, scope: str = "Namespaced", **version: object) -> dict[str, Any]:
    """Return the definition of a kind with a schema of its spec."""
    schema = {"type": "object", "required": ["spec"], "properties": {"spec": {"type": "object", **spec}}}
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com",
            "scope": scope,
            "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
            "versions": [
                {"name": "v1", "served": True, "storage": True, "schema": {"openAPIV3Schema": schema}, **version}
            ],
        },
    }


def properties(*required: str, **fields: object) -> dict[str, object]:
    return {"properties": fields, **({"required": list(required)} if required else {})}


STRING = {"type": "string"}
INTEGER = {"type": "integer"}
DEFINITIONS = {
    "enums and booleans": define(
        properties("mode", mode={"type": "string", "enum": ["fast", "slow", "off"]}, debug={"type": "boolean"})
    ),
    "bounds": define(
        properties(
            "replicas",
            replicas={"type": "integer", "minimum": 1, "maximum": 7},
            ratio={"type": "number", "minimum": 0, "exclusiveMinimum": True, "maximum": 1},
            step={"type": "integer", "multipleOf": 5, "minimum": 5},
            port={"type": "integer", "format": "int32", "minimum": 1, "maximum": 65535},
        )
    ),
    "patterns and formats": define(
        properties(
            "code",
            code={"type": "string", "pattern": "^[A-Z]{3}-[0-9]{2,4}$"},
            address={"type": "string", "format": "ipv4"},
            at={"type": "string", "format": "date-time"},
            memory={"type": "string", "pattern": QUANTITY},
            title={"type": "string", "minLength": 8, "maxLength": 12},
        )
    ),
    "one of": define(
        {
            **properties(
                inline=STRING,
                secret={"type": "object", **properties("name", name=STRING)},
                count={**INTEGER, "default": 1},
            ),
            "oneOf": [{"required": ["inline"]}, {"required": ["secret"]}],
        }
    ),
    "any of and all of": define(
        {
            **properties(a=INTEGER, b=INTEGER, c=INTEGER),
            "anyOf": [{"required": ["a"]}, {"required": ["b"]}],
            "allOf": [{"required": ["c"]}, {"properties": {"c": {"minimum": 4}}}],
        }
    ),
    "rules": define(
        {
            **properties(
                "low", "high", low=INTEGER, high={**INTEGER, "maximum": 50}, tier={"type": "string", "maxLength": 20}
            ),
            "x-kubernetes-validations": [
                {"rule": "self.low <= self.high"},
                {"rule": "self.high >= 3"},
                {"rule": "has(self.tier) == has(oldSelf.tier) && (!has(self.tier) || self.tier == oldSelf.tier)"},
            ],
        }
    ),
    "maps": define(
        properties(
            labels={"type": "object", "additionalProperties": STRING},
            limits={
                "type": "object",
                "minProperties": 1,
                "additionalProperties": {"x-kubernetes-int-or-string": True, "pattern": QUANTITY},
            },
        )
    ),
    "int or string": define(
        properties("surge", surge={"x-kubernetes-int-or-string": True}, cpu={"x-kubernetes-int-or-string": True})
    ),
    "nested lists": define(
        properties(
            "ports",
            ports={
                "type": "array",
                "minItems": 1,
                "maxItems": 4,
                "x-kubernetes-list-type": "map",
                "x-kubernetes-list-map-keys": ["name", "protocol"],
                "items": {
                    "type": "object",
                    **properties(
                        "name",
                        name={"type": "string", "maxLength": 15},
                        protocol={"type": "string", "enum": ["TCP", "UDP"], "default": "TCP"},
                        number={"type": "integer", "minimum": 1, "maximum": 65535},
                        hosts={"type": "array", "x-kubernetes-list-type": "set", "items": STRING},
                    ),
                },
            },
        )
    ),
    "defaults and nulls": define(
        properties(
            storage={
                "type": "object",
                "default": {},
                **properties(size={"type": "string", "default": "1Gi"}, className={"type": "string", "nullable": True}),
            },
            extra={"type": "object", "x-kubernetes-preserve-unknown-fields": True},
        )
    ),
    "cluster scope and scale": define(
        properties(members={"type": "integer", "minimum": 0, "default": 2}),
        scope="Cluster",
        subresources={"scale": {"specReplicasPath": ".spec.members", "statusReplicasPath": ".status.members"}},
    ),
    "embedded objects": define(
        properties(
            templates={
                "type": "array",
                "items": {
                    "type": "object",
                    "x-kubernetes-embedded-resource": True,
                    "x-kubernetes-preserve-unknown-fields": True,
                },
            }
        )
    ),
    "no fields": define({}),
    "widgets": yaml.safe_load((EXAMPLES / "widgets" / "crd.yaml").read_text("utf-8")),
}


def load_website() -> Any:
    spec = importlib.util.spec_from_file_location("example_website", EXAMPLES / "website" / "website.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


WEBSITE = load_website()
DEFINITIONS["website"] = WEBSITE.Website.to_crd().to_dict()


def steps_of(workload: Workload) -> Sequence[GeneratedStep]:
    return cast("Sequence[GeneratedStep]", workload.steps)


def names_of(workload: Workload) -> list[str]:
    return [step.name for step in workload.steps]


@pytest.mark.slow
@pytest.mark.parametrize("name", DEFINITIONS)
@settings(max_examples=4)
@given(seed=st.integers(0, 1_000_000))
def test_the_server_accepts_what_is_valid_and_refuses_the_rest(name: str, seed: int) -> None:
    workload = generate_workload(DEFINITIONS[name], seed=seed, steps=30)
    assert len(workload.steps) == 30

    @in_virtual_time
    async def run() -> None:
        async with Environment(crds=[DEFINITIONS[name]], server_options={"controllers": False}) as env:
            for step in steps_of(workload):
                before = len(workload.notes)
                await step.act(env)
                refusals = [note for note in workload.notes[before:] if note.startswith("refused:")]
                assert bool(refusals) is (step.kind == "refused"), (step.name, refusals)

    run()


@pytest.mark.slow
@given(st.sampled_from(sorted(DEFINITIONS)), st.integers(0, 1_000_000), st.integers(1, 60))
def test_a_seed_determines_the_steps(name: str, seed: int, count: int) -> None:
    one, other = (generate_workload(DEFINITIONS[name], seed=seed, steps=count) for _ in range(2))
    assert names_of(one) == names_of(other)
    assert [step.state for step in steps_of(one)] == [step.state for step in steps_of(other)]
    assert len(one.steps) == count
    assert one.steps[0].name.startswith("create ")
    for before, after in one.recovers:
        # Back from what a cluster cannot satisfy to the state before.
        assert steps_of(one)[before - 1].state == steps_of(one)[after - 1].state
        assert [steps_of(one)[number].kind for number in (after - 2, after - 1)] == ["suspect", "return"]


def test_all_kinds_of_steps_come_within_twenty_steps() -> None:
    kinds = Counter(step.kind for step in steps_of(generate_workload(WEBSITE.Website, seed=3)))
    assert set(kinds) == {
        "create",
        "change",
        "scale",
        "suspect",
        "return",
        "refused",
        "delete",
        "recreate",
        "delete child",
        "edit child",
    }


@pytest.mark.parametrize("seed", range(5))
def test_every_invalid_state_is_compared_with_the_one_before(seed: int) -> None:
    workload = generate_workload(WEBSITE.Website, seed=seed)
    assert len(workload.recovers) == sum(step.kind == "suspect" for step in steps_of(workload)) > 0


def test_steps_have_short_readable_names() -> None:
    names = [name for seed in range(5) for name in names_of(generate_workload(WEBSITE.Website, seed=seed))]
    assert {
        "create default/website-a",
        'set spec.image to "does-not-exist:0"',
        "back: set spec.replicas to 1",
        "set spec.public to false",
        "delete default/website-a and create it again at once",
        "another client deletes child 1",
    } <= set(names)
    assert max(map(len, names)) < 100


def test_every_property_changes_in_a_long_workload() -> None:
    names = names_of(generate_workload(DEFINITIONS["bounds"], steps=60))
    for field in ("replicas", "ratio", "step", "port"):
        assert any(f"spec.{field}" in name for name in names)
    assert any(name.endswith("(refused)") for name in names)


def test_fields_that_are_not_set_get_invalid_states_as_well() -> None:
    names = names_of(generate_workload(define(properties(image=STRING)), steps=60))
    assert 'set spec.image to "does-not-exist:0"' in names
    assert "back: remove spec.image" in names or 'back: set spec.image to "nginx:1"' in names


def test_examples_are_the_first_state_and_a_source_of_values() -> None:
    shop = WEBSITE.Website.new("shop", namespace="shops", spec={"image": "shop:1", "replicas": 2})
    blog = WEBSITE.Website.new("blog", namespace="shops", spec={"image": "blog:7", "public": False})
    workload = generate_workload(WEBSITE.Website, examples=[shop, blog], steps=40)
    assert names_of(workload)[0] == "create shops/shop"
    first = steps_of(workload)[0].state
    assert first == {"spec": {"image": "shop:1", "replicas": 2, "public": True}}
    names = names_of(workload)
    assert "use the state of example blog" in names
    images = {step.state["spec"]["image"] for step in steps_of(workload) if step.state}
    assert images >= {"shop:1", "blog:7"}


def test_an_invalid_example_is_an_error_that_names_the_field() -> None:
    example = {"kind": "Website", "metadata": {"name": "shop"}, "spec": {"image": "", "replicas": 500}}
    with pytest.raises(ArgumentError, match=r"example 'shop' is invalid: .*spec.image"):
        generate_workload(WEBSITE.Website, examples=[example])
    with pytest.raises(ArgumentError, match="the example is a Pod, and not a Website"):
        generate_workload(WEBSITE.Website, examples=[{"kind": "Pod"}])


def test_a_schema_without_a_valid_object_asks_for_examples() -> None:
    schema = {**properties("a", a=INTEGER), "x-kubernetes-validations": [{"rule": "self.a == 123456"}]}
    with pytest.raises(ArgumentError, match=r"no valid Thing could be made from its schema .*: pass a valid object"):
        generate_workload(define(schema))
    workload = generate_workload(define(schema), examples=[{"kind": "Thing", "spec": {"a": 123456}}])
    assert {step.kind for step in steps_of(workload)} >= {"create", "recreate", "refused"}


@pytest.mark.parametrize(
    ("definition", "problem"),
    [({}, "no served version with a schema"), ({"spec": {"versions": [{"served": True}]}}, "no served version")],
    ids=["empty", "without a schema"],
)
def test_a_definition_without_a_schema_is_an_error(definition: dict[str, object], problem: str) -> None:
    with pytest.raises(ArgumentError, match=problem):
        generate_workload(definition)


@pytest.mark.parametrize("steps", [0, -1, 1_001])
def test_the_number_of_steps_is_limited(steps: int) -> None:
    with pytest.raises(ArgumentError, match="1 to 1000 steps"):
        generate_workload(WEBSITE.Website, steps=steps)


class PairSpec(Struct):
    """What a pair holds."""

    text: str = "a"


class Pair(masthead.CustomResource, group="example.com", version="v1"):
    """A resource with an owned and an unowned child."""

    spec: PairSpec


def make_pairs(*, owned: bool) -> masthead.Manager:
    app = masthead.Manager("pairs")

    @app.controller(Pair, owns=[ConfigMap], reads=[Secret], finalizer="example.com/pairs")
    async def reconcile(ctx: ReconcileContext[Pair], pair: Pair) -> None:
        if await ctx.finalize(lambda: None):
            return
        child = ConfigMap.new(pair.metadata.name, labels={"app": "pair"}, data={"text": pair.spec.text})
        await ctx.apply(child, owned=owned)
        await ctx.apply(Secret.new("shared"), owned=False)

    return app


@pytest.mark.parametrize("owned", [True, False], ids=["owned", "unowned"])
@in_virtual_time
async def test_other_clients_delete_and_edit_children(*, owned: bool) -> None:
    workload = generate_workload(Pair, steps=60)
    async with Environment(make_pairs(owned=owned)) as env:
        await workload.run(env)
        text = "\n".join(workload.notes)
        assert "another client deletes configmaps default/pair-a" in text
        assert "another client edits metadata.labels of configmaps default/pair-a" in text
        assert "another client edits data of configmaps default/pair-a" in text
        # Others are not touched if there are owned ones: nothing obliges an operator to watch them.
        assert ("secrets default/shared" in text) is not owned
        if owned:
            child = await env.client.core_v1.config_maps("default").get("pair-a")
            pair = await env.client.resource(Pair, "default").get("pair-a")
            assert child.data == {"text": pair.spec.text}
            assert child.metadata.labels == {"app": "pair"}


@in_virtual_time
async def test_an_object_is_created_again_as_soon_as_its_finalizer_is_gone() -> None:
    workload = generate_workload(Pair, steps=40)
    (step,) = [step for step in steps_of(workload) if step.kind == "recreate"][:1]
    async with Environment(make_pairs(owned=True)) as env:
        pairs = env.client.resource(Pair, "default")
        await workload.steps[0].act(env)
        await env.wait_for_idle()
        first = await pairs.get("pair-a")
        await step.act(env)
        second = await pairs.get("pair-a")
        assert second.metadata.uid != first.metadata.uid
        assert second.metadata.deletion_timestamp is None
        assert env.now < 2


@in_virtual_time
async def test_steps_can_be_left_out() -> None:
    workload = generate_workload(Pair, seed=1, steps=20)
    async with Environment(make_pairs(owned=True)) as env:
        await workload.run(env, skipped=frozenset(range(1, 20)))
        await workload.run(env, skipped=frozenset(range(2, 20, 2)))
        assert len(await env.client.resource(Pair, "default").list()) >= 1


@pytest.mark.parametrize(
    "pattern",
    [
        r"^[a-z0-9]([-a-z0-9]*[a-z0-9])?$",
        r"^v[0-9]+\.[0-9]+$",
        r"^(a|b)+c{2,4}$",
        r"^\S+@\S+\.\w{2,}$",
        QUANTITY,
        "middle",
        r"^[[:upper:]]{3}$",
        r"\bword\b",
        "^$",
        r"^[^a-z]+$",
        r"^\p{Greek}+$",
    ],
)
@given(seed=st.integers(0, 1_000))
def test_samples_match_their_pattern(pattern: str, seed: int) -> None:
    samples = sample_pattern(pattern, Random(seed))
    assert samples
    assert all(compile_pattern(pattern).search(sample) for sample in samples)
    assert samples == sample_pattern(pattern, Random(seed))


@given(st.text(max_size=30), st.integers(0, 100))
def test_any_text_as_a_pattern_gives_matching_samples_or_none(pattern: str, seed: int) -> None:
    for sample in sample_pattern(pattern, Random(seed), max_length=20):
        assert compile_pattern(pattern).search(sample)
        assert len(sample) <= 20


@pytest.mark.parametrize("name", FORMAT_SAMPLES)
def test_samples_of_formats_are_valid(name: str) -> None:
    assert all(map(string_format(name), FORMAT_SAMPLES[name]))


@pytest.mark.parametrize(
    ("names", "suggested", "suspect"),
    [
        (("spec", "image"), "nginx:1", "does-not-exist:0"),
        (("spec", "tlsSecretName"), "", "missing-secret"),
        (("spec", "configMapRef", "name"), "", "missing-object"),
        (("resources", "memory"), "64Mi", "1000Pi"),
        (("spec", "hosts"), "example.com", "does-not-exist.invalid"),
        (("spec", "message"), "", ""),
    ],
    ids=lambda value: ".".join(value) if isinstance(value, tuple) else "",
)
def test_names_of_fields_suggest_values(names: tuple[str, ...], suggested: str, suspect: str) -> None:
    assert next(iter(suggest_strings(names)), "") == suggested
    assert next(iter(suspect_strings(names)), "") == suspect


def test_names_of_fields_tell_scales_and_ports() -> None:
    assert is_scale(("spec", "replicas"))
    assert is_scale(("spec", "maxReplicas"))
    assert not is_scale(("spec", "replicasPolicy"))
    assert is_port(("spec", "targetPort"))
    assert not is_port(("spec", "support"))


def test_a_workload_never_asks_for_many_objects() -> None:
    definition = define(properties("replicas", replicas={"type": "integer", "minimum": 0, "maximum": 5_000}))
    sizes = [
        step.state["spec"]["replicas"] for step in steps_of(generate_workload(definition, steps=200)) if step.state
    ]
    assert max(sizes) == 10


def test_a_change_leaves_the_state_that_it_changes_alone() -> None:
    state: dict[str, Any] = {"spec": {"parts": [{"name": "a"}]}}
    changed = StateChange(("spec", "parts", 0, "name"), "b").apply(state)
    assert (state["spec"]["parts"][0]["name"], changed["spec"]["parts"][0]["name"]) == ("a", "b")


def test_changes_reach_the_items_of_nested_lists() -> None:
    states = read_definition(DEFINITIONS["nested lists"])
    generator = ValueGenerator(Random(0))
    state = {"spec": {"ports": [{"name": "a", "hosts": ["one"]}, {"name": "b"}]}}
    names = {change.name for change in find_changes(states.schema, state, generator, {})}
    assert {
        "set spec.ports to 3 items",
        "set spec.ports[0].hosts to 2 items",
        "remove spec.ports[0].hosts",
        'set spec.ports[1].protocol to "UDP"',
        "set spec.ports[0].number to 1",
    } <= names
