"""What holds of server-side apply on the embedded server, whatever several managers write."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import masthead
import masthead.server
from masthead import Unstructured
from masthead._meta.gvk import GroupVersionKind
from masthead._meta.patch import Patch
from masthead._meta.registry import registry
from masthead._schema.field_sets import FieldSet
from masthead._schema.structured_merge.class_types import merge_type_of_class
from masthead._schema.structured_merge.managers import SYSTEM_FIELDS
from masthead._schema.structured_merge.ownership import field_set_of
from masthead.managed_fields import extract

if TYPE_CHECKING:
    from collections.abc import Iterator

Plain = dict[str, Any]
Write = tuple[str, str, Plain]
SLOW = settings(
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
    deadline=None,
    max_examples=25,
)
NAMES = (f"it-{number}" for number in itertools.count())

_names = st.sampled_from("abc")
_values = st.sampled_from("xyz")
_maps = st.dictionaries(_names, _values, min_size=1, max_size=3)
_env = st.lists(
    st.fixed_dictionaries({"name": _names}, optional={"value": _values}),
    min_size=1,
    max_size=3,
    unique_by=lambda each: each["name"],
)
_ports = st.lists(
    st.fixed_dictionaries(
        {"containerPort": st.integers(80, 82)}, optional={"protocol": st.sampled_from(["TCP", "UDP"])}
    ),
    min_size=1,
    max_size=3,
    unique_by=lambda each: (each["containerPort"], each.get("protocol", "TCP")),
)
_container = {
    "workingDir": _values,
    "env": _env,
    "ports": _ports,
    "args": st.lists(_values, min_size=1, max_size=2),
}
_containers = st.fixed_dictionaries({"name": st.just("main")}, optional=_container).map(lambda each: [each])
_metadata = st.fixed_dictionaries({}, optional={"labels": _maps, "annotations": _maps})
# Nothing that has a default, which would come back when it is removed.
_deployment = st.fixed_dictionaries(
    {},
    optional={
        "paused": st.just(True),
        "minReadySeconds": st.integers(1, 2),
        "template": st.fixed_dictionaries(
            {},
            optional={"spec": st.fixed_dictionaries({}, optional={"containers": _containers, "nodeSelector": _maps})},
        ),
    },
)
KINDS: dict[tuple[str, str], tuple[Plain, st.SearchStrategy[Plain]]] = {
    ("v1", "ConfigMap"): (
        {"data": {"base": "b"}},
        st.fixed_dictionaries({}, optional={"metadata": _metadata, "data": _maps}),
    ),
    ("apps/v1", "Deployment"): (
        {
            "spec": {
                "selector": {"matchLabels": {"app": "it"}},
                "template": {
                    "metadata": {"labels": {"app": "it"}},
                    "spec": {"containers": [{"name": "main", "image": "image"}]},
                },
            }
        },
        st.fixed_dictionaries({}, optional={"metadata": _metadata, "spec": _deployment}),
    ),
}
"""What somebody else has applied before, so that the object is always valid and has a manager, and what is applied."""


def filled(value: Any) -> Any:
    """Plain data without what has nothing in it."""
    if isinstance(value, dict):
        found = {name: filled(each) for name, each in value.items()}
        return {name: each for name, each in found.items() if each != {}}
    return [filled(each) for each in value] if isinstance(value, list) else value


class Object:
    """An object on the server, and what was written to it."""

    def __init__(self, client: masthead.Client, kind: tuple[str, str]) -> None:
        self.resource = client.dynamic(*kind, namespace="default")
        self.kind = kind
        self.name = next(NAMES)
        self.type = merge_type_of_class(registry.object_class(GroupVersionKind.of(*kind)))
        self.apply("base", KINDS[kind][0])

    def apply(self, manager: str, config: Plain) -> Unstructured:
        return self.resource.apply(self.whole(config), field_manager=manager, force=True)

    def whole(self, config: Plain) -> Plain:
        metadata = {**config.get("metadata", {}), "name": self.name}
        return {**config, "apiVersion": self.kind[0], "kind": self.kind[1], "metadata": metadata}

    def write(self, writes: list[Write]) -> Unstructured:
        for operation, manager, change in writes:
            if operation == "apply":
                self.apply(manager, change)
            else:
                self.resource.patch(self.name, Patch.strategic(change), field_manager=manager)
        return self.resource.get(self.name)


def entries(obj: Unstructured) -> dict[tuple[str, str], FieldSet]:
    return {
        (managed_field.manager or "", managed_field.operation or ""): FieldSet.from_fields_v1(
            managed_field.fields_v1 or {}
        )
        for managed_field in obj.metadata.managed_fields
    }


@st.composite
def histories(draw: st.DrawFn) -> tuple[tuple[str, str], list[Write], Plain]:
    kind = draw(st.sampled_from(sorted(KINDS)))
    changes = KINDS[kind][1].map(filled)
    write = st.tuples(st.sampled_from(["apply", "apply", "patch"]), st.sampled_from(["us", "them"]), changes)
    return kind, draw(st.lists(write, max_size=3)), draw(changes)


@pytest.fixture(scope="module")
def client() -> Iterator[masthead.Client]:
    with (
        masthead.server.run(bootstrap=False) as server,
        masthead.Client(kubeconfig=server.kubeconfig()) as made,
    ):
        yield made


History = tuple[tuple[str, str], list[Write], Plain]


@SLOW
@given(histories())
def test_a_manager_owns_what_it_applied_last_and_a_repeated_apply_writes_nothing(
    client: masthead.Client, history: History
) -> None:
    kind, writes, config = history
    obj = Object(client, kind)
    obj.write(writes)

    applied = obj.apply("us", config)
    again = obj.resource.apply(obj.whole(config), field_manager="us")

    owned = field_set_of(obj.whole(config), obj.type) - SYSTEM_FIELDS
    assert entries(applied).get(("us", "Apply"), FieldSet()) == owned
    assert again == applied


@SLOW
@given(histories())
def test_applying_an_extracted_object_writes_nothing(client: masthead.Client, history: History) -> None:
    kind, writes, config = history
    obj = Object(client, kind)
    obj.apply("us", config)
    before = obj.write(writes)

    after = obj.resource.apply(extract(before, "us"), field_manager="us")

    assert entries(after) == entries(before)
    assert after == before


@SLOW
@given(histories())
def test_applying_nothing_removes_exactly_the_fields_without_other_owners(
    client: masthead.Client, history: History
) -> None:
    kind, writes, config = history
    obj = Object(client, kind)
    obj.apply("us", config)
    before = obj.write(writes)
    owned = entries(before)
    mine = owned.pop(("us", "Apply"), FieldSet())

    after = obj.apply("us", {})

    assert entries(after) == owned
    theirs = FieldSet()
    for fields in owned.values():
        theirs |= fields
    there, left = (field_set_of(each.to_dict(), obj.type) for each in (before, after))
    assert not (there & theirs) - left
    # An item of a list stays while somebody owns something in it.
    abandoned = (left & (mine - theirs)).paths()
    assert all(any(other[: len(path)] == path for other in theirs.paths()) for path in abandoned)
