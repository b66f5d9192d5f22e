"""Definitions of custom resources: their versions, warnings, and place in the catalog."""

from __future__ import annotations

from typing import Any

import pytest
from tests.unit.server.definitions import definition_of, version_of

from masthead._meta.gvk import GroupVersionResource
from masthead_server.clock import VirtualClock
from masthead_server.cluster import ClusterState
from masthead_server.resources.catalog import Catalog
from masthead_server.resources.custom.installer import DEFINITIONS, DefinitionInstaller
from masthead_server.resources.custom.selectable_fields import selectable_fields
from masthead_server.resources.custom.slow_validation import is_large
from masthead_server.storage import Storage

Plain = dict[str, Any]


def widget_definition(*versions: Plain, **conditions: str) -> Plain:
    names = {"plural": "widgets", "singular": "widget", "kind": "Widget", "listKind": "WidgetList"}
    return {
        "metadata": {"name": "widgets.example.com", "uid": "1"},
        "spec": {"group": "example.com", "scope": "Namespaced", "names": names, "versions": list(versions)},
        "status": {
            "acceptedNames": names,
            "conditions": [{"type": key, "status": value} for key, value in conditions.items()],
        },
    }


def widgets_in(version: str) -> GroupVersionResource:
    return GroupVersionResource("example.com", version, "widgets")


class Definitions:
    """A cluster state whose definitions a test writes."""

    def __init__(self) -> None:
        self.catalog = Catalog.builtin()
        self.cluster = ClusterState(Storage(), VirtualClock(), self.catalog)
        self.installer = DefinitionInstaller(self.cluster)
        found = self.catalog.stored_in(DEFINITIONS)
        assert found is not None
        self._served = found

    def write(self, found: Plain) -> None:
        self.cluster.write(self._served, found["metadata"]["name"], found)

    def remove(self, found: Plain) -> None:
        self.cluster.remove(self._served, found["metadata"]["name"], found)


def test_the_catalog_follows_each_write_of_a_definition() -> None:
    made = Definitions()
    first, second = version_of("v1", storage=True), version_of("v2")

    made.write(widget_definition(first))
    assert made.catalog.find(widgets_in("v1")) is None, "its names are not accepted yet"
    made.write(widget_definition(first, NamesAccepted="True"))
    assert made.catalog.find(widgets_in("v1")) is not None
    made.write(widget_definition(first, second, NamesAccepted="True"))
    assert made.catalog.versions("example.com") == ("v2", "v1")
    made.write(widget_definition({**first, "served": False}, second, NamesAccepted="True"))
    assert made.catalog.versions("example.com") == ("v2",)
    assert made.catalog.stored_in("example.com/widgets") is not None
    made.remove(widget_definition(first, second))
    assert made.catalog.groups() == Catalog.builtin().groups()
    assert made.catalog.stored_in("example.com/widgets") is None


def test_a_write_that_changes_nothing_about_serving_keeps_the_resource() -> None:
    made = Definitions()
    made.write(widget_definition(version_of("v1", storage=True), NamesAccepted="True", Established="True"))
    before = made.catalog.find(widgets_in("v1"))
    labelled = widget_definition(version_of("v1", storage=True), NamesAccepted="True", Established="True")
    labelled["metadata"]["labels"] = {"a": "b"}

    made.write(labelled)

    assert made.catalog.find(widgets_in("v1")) is before


def test_a_definition_that_repeats_a_built_in_resource_does_not_replace_it() -> None:
    made = Definitions()
    names = {
        "plural": "deployments",
        "singular": "deployment",
        "kind": "Deployment",
        "listKind": "DeploymentList",
    }
    copy = widget_definition(version_of("v1", storage=True), NamesAccepted="True")
    copy["metadata"]["name"] = "deployments.apps"
    copy["spec"] |= {"group": "apps", "names": names}
    copy["status"]["acceptedNames"] = names

    made.write(copy)
    made.remove(copy)

    found = made.catalog.find(GroupVersionResource("apps", "v1", "deployments"))
    assert found is not None
    assert not found.is_custom


@pytest.mark.parametrize(
    ("version", "warning"),
    [
        ("v1", ""),
        ("v1beta1", "example.com/v1beta1 Widget is deprecated; use example.com/v1 Widget"),
        ("v1alpha1", "go on to v1"),
        ("v2", "example.com/v2 Widget is deprecated"),
    ],
)
def test_a_deprecated_version_says_what_to_use_instead(version: str, warning: str) -> None:
    definition = definition_of(
        "example.com",
        "Widget",
        version_of("v1", storage=True),
        version_of("v1beta1", deprecated=True),
        version_of("v1alpha1", deprecated=True, deprecationWarning="go on to v1"),
        version_of("v2", deprecated=True),
    )

    assert definition.versions[version].deprecation_warning == warning


def test_selectable_fields_are_read_as_text() -> None:
    paths = [{"jsonPath": path} for path in (".spec.color", ".spec.size", ".spec.on", ".spec.deep.er")]
    definition = definition_of("example.com", "Widget", version_of("v1", selectableFields=paths))
    fields = selectable_fields(definition.versions["v1"])
    spec = {"color": "red", "size": 5, "on": True}

    found = fields.values({"metadata": {"name": "a", "namespace": "b"}, "spec": spec})

    assert found == {
        "metadata.name": "a",
        "metadata.namespace": "b",
        "spec.color": "red",
        "spec.size": "5",
        "spec.on": "true",
        "spec.deep.er": "",
    }


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        ({"spec": {"a": 1}}, False),
        ({"spec": {"items": list(range(50))}}, False),
        ({"spec": {"items": list(range(51))}}, True),
        ({"spec": {"map": {str(number): 1 for number in range(51)}}}, True),
        ({"spec": [{"text": "x" * 10_001}]}, True),
        ({"spec": ["x" * 1_000] * 10}, False),
        ({"spec": ["x" * 1_001] * 10}, True),
    ],
)
def test_objects_with_many_items_or_much_text_are_large(value: Plain, expected: bool) -> None:
    assert is_large(value) is expected


def test_objects_are_written_as_they_are_until_the_schema_changes() -> None:
    made = Definitions()
    first = version_of("v1", {"type": "object", "properties": {"a": {"type": "string"}}}, storage=True)
    accepted = {"NamesAccepted": "True", "Established": "True"}
    made.write(widget_definition(first, **accepted))
    widgets = made.catalog.find(widgets_in("v1"))
    assert widgets is not None
    record = made.cluster.write(widgets, "default/a", {"metadata": {"name": "a"}, "a": "b"})

    def is_copied() -> bool:
        now = made.catalog.find(widgets_in("v1"))
        assert now is not None
        return now.codec.write(record.value) == b"{" + record.value

    assert is_copied()
    named = widget_definition(first, **accepted)
    named["status"]["acceptedNames"]["shortNames"] = ["wd"]
    made.write(named)
    assert is_copied(), "a name has nothing to do with the objects"
    narrower = version_of("v1", {"type": "object"}, storage=True)
    made.write(widget_definition(narrower, **accepted))
    assert not is_copied()


@pytest.mark.parametrize(("number", "expected"), [(50, False), (51, True)])
def test_alternatives_of_a_schema_count_at_any_depth(number: int, expected: bool) -> None:
    some = [{"required": [str(each)]} for each in range(number - 4)]
    spec = {"type": "object", "anyOf": some[2:], "allOf": [{"oneOf": some[:2]}], "not": {"allOf": [{}, {}]}}
    schema = {"type": "object", "properties": {"spec": spec}}
    definition = definition_of("example.com", "Widget", version_of("v1", schema))

    assert definition.versions["v1"].has_many_alternatives is expected
