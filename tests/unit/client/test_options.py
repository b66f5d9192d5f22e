"""Options become queries and bodies, or are refused before anything is sent."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead._client.options import DeleteParameters, PatchParameters, WriteParameters, list_query, write_query
from masthead._meta import fields, labels
from masthead._meta.v1 import LabelSelector, LabelSelectorRequirement
from masthead.errors import ArgumentError, SelectorError


def test_no_options_are_no_parameters() -> None:
    assert list_query() == []
    assert write_query(dry_run=False, field_manager="") == []
    assert DeleteParameters().to_plain() == {}
    assert DeleteParameters().to_body() is None


@pytest.mark.parametrize("parameters", [WriteParameters, PatchParameters, DeleteParameters])
def test_an_unknown_option_is_an_error(parameters: type[object]) -> None:
    with pytest.raises(TypeError, match="dryrun"):
        parameters(dryrun=True)  # type: ignore[call-arg]


def test_every_option_of_a_list_travels_under_its_wire_name() -> None:
    query = list_query(
        label_selector="app=web",
        field_selector="status.phase!=Running",
        resource_version="7",
        resource_version_match="NotOlderThan",
        limit=5,
        continue_="token",
        timeout_seconds=0,
        shard_selector="shard",
    )

    assert query == [
        ("labelSelector", "app=web"),
        ("fieldSelector", "status.phase!=Running"),
        ("resourceVersion", "7"),
        ("resourceVersionMatch", "NotOlderThan"),
        ("limit", "5"),
        ("continue", "token"),
        ("timeoutSeconds", "0"),
        ("shardSelector", "shard"),
    ]


@pytest.mark.parametrize(
    "selector",
    [
        {"app": "web"},
        labels.parse("app=web"),
        LabelSelector(match_labels={"app": "web"}),
        LabelSelector(match_expressions=[LabelSelectorRequirement(key="app", operator="In", values=["web"])]),
    ],
)
def test_a_label_selector_may_be_many_things(selector: object) -> None:
    ((name, text),) = list_query(label_selector=selector)  # type: ignore[arg-type]

    assert name == "labelSelector"
    assert labels.parse(text).matches({"app": "web"})
    assert not labels.parse(text).matches({"app": "db"})


@given(st.dictionaries(st.sampled_from(["metadata.name", "spec.nodeName"]), st.text(max_size=8), min_size=1))
def test_a_mapping_of_fields_becomes_an_exact_field_selector(wanted: dict[str, str]) -> None:
    ((_, text),) = list_query(field_selector=wanted)

    assert fields.parse(text).matches(wanted)


def test_invalid_selectors_are_rejected() -> None:
    with pytest.raises(SelectorError):
        list_query(label_selector="app in web")
    with pytest.raises(SelectorError):
        list_query(field_selector="status.phase")
    for nonsense in (["app=web"], {"app": 1}, 5):
        with pytest.raises(SelectorError, match="use a string, or"):
            list_query(label_selector=nonsense)  # type: ignore[arg-type]
        with pytest.raises(SelectorError, match="use a string, or"):
            list_query(field_selector=nonsense)  # type: ignore[arg-type]


@pytest.mark.parametrize("value", [-1, "5", 1.5, True])
def test_invalid_numbers_are_rejected(value: object) -> None:
    with pytest.raises(ArgumentError, match="integer, 0 or more"):
        list_query(limit=value)  # type: ignore[arg-type]


def test_write_options_become_parameters() -> None:
    assert write_query(dry_run=True, field_manager="me", field_validation="Strict", force=False) == [
        ("dryRun", "All"),
        ("fieldManager", "me"),
        ("fieldValidation", "Strict"),
        ("force", "false"),
    ]
    with pytest.raises(ArgumentError, match="one of Ignore, Warn, Strict"):
        write_query(dry_run=False, field_manager="", field_validation="Maybe")  # type: ignore[arg-type]


def test_options_of_a_delete_are_its_body() -> None:
    options = DeleteParameters(
        grace_period_seconds=0,
        propagation_policy="Foreground",
        uid="u",
        resource_version="7",
        dry_run=True,
        ignore_store_read_error=True,
    )

    body = options.to_body()
    assert body is not None
    assert json.loads(body) == {
        "apiVersion": "v1",
        "kind": "DeleteOptions",
        "gracePeriodSeconds": 0,
        "propagationPolicy": "Foreground",
        "preconditions": {"uid": "u", "resourceVersion": "7"},
        "dryRun": ["All"],
        "ignoreStoreReadErrorWithClusterBreakingPotential": True,
    }
