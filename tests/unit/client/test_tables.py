"""Responses to a request for a table."""

from __future__ import annotations

import json
from typing import Any

import pytest

from masthead._client.resource_target import typed_target, untyped_target
from masthead._client.tables import read_page
from masthead._meta.gvk import GroupVersionResource
from masthead.api.core.v1 import ConfigMap
from masthead.errors import DecodeError
from masthead.meta import PartialObjectMetadata

MAPS = typed_target(ConfigMap)
META = {"resourceVersion": "7", "continue": "next"}


def table(*rows: dict[str, Any], **fields: object) -> bytes:
    columns = [{"name": "Name", "type": "string", "format": "name", "priority": 0, "description": "d"}]
    return json.dumps(
        {"kind": "Table", "metadata": META, "columnDefinitions": columns, "rows": rows, **fields}
    ).encode()


def test_a_table_is_read() -> None:
    obj = {
        "kind": "PartialObjectMetadata",
        "apiVersion": "meta.k8s.io/v1",
        "metadata": {"name": "a", "namespace": "n"},
    }
    page = read_page(table({"cells": ["a", 1, None, True], "object": obj}), MAPS, has_objects=False)

    made = page.table(wide=True, namespaces=True)
    assert (made.resource_version, made.continue_, made.wide, made.namespaces) == ("7", "next", True, True)
    assert (made.columns[0].name, made.columns[0].format, made.columns[0].description) == (
        "Name",
        "name",
        "d",
    )
    (row,) = made
    assert row.cells == ("a", 1, None, True)
    assert (row.namespace, row.name) == ("n", "a")
    assert isinstance(row.object, PartialObjectMetadata)


def test_rows_may_have_no_objects_and_tables_no_rows() -> None:
    page = read_page(table({"cells": ["a"], "object": None}, {}), MAPS, has_objects=True)
    assert [(row.cells, row.object, row.name) for row in page.items] == [(("a",), None, ""), ((), None, "")]
    empty = read_page(table(rows=None, columnDefinitions=None), MAPS, has_objects=True)
    assert (empty.items, empty.columns) == ([], ())


@pytest.mark.parametrize(
    "target",
    [MAPS, untyped_target(GroupVersionResource("", "v1", "configmaps"), namespaced=True)],
    ids=["typed", "any"],
)
def test_a_list_of_a_server_that_makes_no_tables_becomes_one(target: Any) -> None:
    listed = {
        "kind": "ConfigMapList",
        "apiVersion": "v1",
        "metadata": META,
        "items": [{"metadata": {"name": "a"}, "data": {"k": "v"}}],
    }
    page = read_page(json.dumps(listed).encode(), target, has_objects=False)

    assert [column.name for column in page.columns] == ["Name", "Data", "Age"]
    assert [row.cells for row in page.items] == [("a", 1, "<unknown>")]
    assert page.metadata.continue_ == "next"


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"no JSON", b'{"kind": 7}', b'{"kind": "Table", "rows": 7}', b"\xff", b'{"kind":"PodList"}'],
)
def test_what_is_neither_is_an_error(body: bytes) -> None:
    with pytest.raises(DecodeError):
        read_page(body, MAPS, has_objects=False)
