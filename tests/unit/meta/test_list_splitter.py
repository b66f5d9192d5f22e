"""Cutting lists into items."""

from __future__ import annotations

import json
from typing import Any

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st
from tests.unit.meta.data import data_for, json_values

from masthead._meta.list_splitter import split_list
from masthead.api.apps.v1 import StatefulSetList
from masthead.api.core.v1 import PodList


def as_a_server_writes(items: list[Any]) -> bytes:
    return msgspec.json.encode({"kind": "PodList", "metadata": {"resourceVersion": "1"}, "items": items})


@pytest.mark.parametrize("tail", [b"", b"\n"])
def test_a_list_is_split_where_its_items_begin(tail: bytes) -> None:
    items = [{"metadata": {"name": "a"}, "spec": {}}, {"metadata": {"name": "b"}}, {"metadata": {}}]

    pieces = split_list(as_a_server_writes(items) + tail)

    assert pieces is not None
    assert pieces[0] == b'{"kind":"PodList","metadata":{"resourceVersion":"1"},"items":[]}'
    assert [json.loads(piece) for piece in pieces[1]] == items


@pytest.mark.parametrize(
    "data",
    [b"", b"{}", b'{"items":[]}', b'{"items":null}', b'{"items":[1]}', b'{"items":[{}],"kind":"x"}', b'{"items": [{}]}', b"}]}"],  # noqa: E501
)  # fmt: skip
def test_text_without_the_form_of_a_servers_list_is_not_split(data: bytes) -> None:
    assert split_list(data) is None


def test_the_same_text_inside_of_an_item_does_not_break_the_split() -> None:
    claims = [{"metadata": {"name": "one"}}, {"metadata": {"name": "two"}}]
    items = [{"metadata": {"name": name}, "spec": {"volumeClaimTemplates": claims}} for name in "ab"]
    data = msgspec.json.encode({"items": items})

    sets = StatefulSetList.from_wire(data)

    assert [each.metadata.name for each in sets] == ["a", "b"]
    assert [claim.metadata.name for claim in sets[1].spec.volume_claim_templates] == ["one", "two"]


@pytest.mark.slow
@settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(st.dictionaries(st.sampled_from(["metadata", "spec", "x"]), json_values, max_size=3), max_size=4))
@example([{"metadata": {}}, {"metadata": {"annotations": {"x": '},{"metadata":'}}}])
@example([{"x": [{"x": 1}, {"x": 2}]}, {"x": 3}])
def test_pieces_that_are_all_json_are_the_items(items: list[dict[str, Any]]) -> None:
    pieces = split_list(msgspec.json.encode({"items": items}))
    if pieces is None:
        return
    try:
        found = [msgspec.json.decode(piece) for piece in pieces[1]]
    except msgspec.DecodeError:
        return

    assert found == items


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(data_for(PodList.ITEM, depth=2), max_size=3), st.sampled_from([(",", ":"), (", ", ": ")]))
def test_lists_read_the_same_however_they_are_laid_out(items: list[Any], separators: tuple[str, str]) -> None:
    data = json.dumps({"items": items, "kind": "PodList"}, separators=separators).encode()
    turned = json.dumps({"kind": "PodList", "items": items}, separators=separators).encode()

    assert PodList.from_wire(data) == PodList.from_wire(turned)
    assert json.loads(PodList.from_wire(turned).to_json())["items"] == items
