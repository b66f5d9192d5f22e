"""Tables of any resource, made by the server or here."""

from __future__ import annotations

from typing import Any

import pytest
from tests.conformance.objects import config_map, pod

import masthead
from masthead import printers
from masthead.api.core.v1 import ConfigMap, Pod
from masthead.errors import UnknownKindError
from masthead.meta import PartialObjectMetadata

OURS = "here=yes"


@pytest.fixture
async def maps(client: Any, namespace: str) -> Any:
    """Five objects."""
    found = client.core_v1.config_maps(namespace)
    for name in "abcde":
        await found.create(config_map(name, labels={"here": "yes"}, data={"k": "v"} if name > "c" else None))
    return found


def shown(table: printers.PrintedTable) -> list[tuple[object, ...]]:
    """The cells without the ages."""
    return [row.cells[:-1] for row in table]


ALL = [("a", 0), ("b", 0), ("c", 0), ("d", 1), ("e", 1)]


async def test_a_table_has_the_columns_and_cells_of_the_server(maps: Any, namespace: str) -> None:
    table = await maps.table(label_selector=OURS)

    assert [(column.name, column.type) for column in table.columns] == [
        ("Name", "string"),
        ("Data", "string"),
        ("Age", "string"),
    ]
    assert shown(table) == ALL
    assert table.resource_version
    assert {row.namespace for row in table} == {namespace}
    assert [row.name for row in table] == list("abcde")
    assert isinstance(table.rows[0].object, PartialObjectMetadata)
    assert str(table).splitlines()[0].split() == ["NAME", "DATA", "AGE"]


async def test_a_table_is_complete_however_small_its_pages(maps: Any) -> None:
    table = await maps.table(label_selector=OURS, page_size=2)

    assert shown(table) == ALL
    assert not table.continue_


async def test_a_limit_requests_one_page_and_its_token_the_next(maps: Any) -> None:
    first = await maps.table(label_selector=OURS, limit=3)
    second = await maps.table(label_selector=OURS, limit=3, continue_=first.continue_)

    assert shown(first) + shown(second) == ALL
    assert not second.continue_


async def test_rows_may_have_whole_objects(maps: Any, client: Any, namespace: str) -> None:
    typed = await maps.table(field_selector="metadata.name=d", objects=True)
    untyped = await client.dynamic("cm", namespace=namespace).table(field_selector="metadata.name=d", objects=True)

    (row,) = typed
    assert isinstance(row.object, ConfigMap)
    assert row.object.data == {"k": "v"}
    (row,) = untyped
    assert isinstance(row.object, masthead.Unstructured)
    assert row.object["data"] == {"k": "v"}


async def test_every_client_of_a_resource_has_tables(maps: Any, client: Any, namespace: str) -> None:
    for resource in (
        maps,
        client.resource(ConfigMap, namespace),
        client.dynamic("v1", "configmaps", namespace=namespace),
        client.metadata("configmaps", namespace=namespace),
    ):
        assert shown(await resource.table(label_selector=OURS)) == ALL


async def test_the_text_of_a_table_of_all_namespaces_has_them(maps: Any, client: Any, namespace: str) -> None:
    table = await client.core_v1.config_maps().table(field_selector=f"metadata.namespace={namespace}")

    lines = str(table).splitlines()
    assert lines[0].split() == ["NAMESPACE", "NAME", "DATA", "AGE"]
    assert lines[-1].startswith(f"{namespace} ")
    assert str(await maps.table()).startswith("NAME ")
    assert (await client.core_v1.namespaces().table()).text.startswith("NAME ")


async def test_a_table_made_here_is_the_one_of_the_server(client: Any, namespace: str) -> None:
    pods = client.core_v1.pods(namespace)
    await pods.create(pod("a"))
    await pods.create(pod("b", spec={"nodeName": "node-1"}))

    made, served = printers.table(await pods.list(), wide=True), await pods.table(wide=True)

    assert [column.name for column in made.columns] == [column.name for column in served.columns]
    assert made.text.splitlines()[0] == served.text.splitlines()[0]
    ages = [column.name for column in made.columns].index("Age")
    for one, other in zip(made, served, strict=True):
        assert [*one.cells[:ages], *one.cells[ages + 1 :]] == [*other.cells[:ages], *other.cells[ages + 1 :]]
    assert isinstance(made.rows[0].object, Pod)


async def test_an_empty_table_has_columns_and_no_text(client: Any, namespace: str) -> None:
    table = await client.core_v1.pods(namespace).table()

    assert len(table) == 0
    assert table.columns
    assert str(table) == ""


@pytest.mark.usefixtures("maps")
async def test_several_resources_are_several_tables(client: Any, namespace: str) -> None:
    listed, empty, spaces = await client.tables("cm, deploy,namespaces", namespace=namespace)

    assert {"a", "b", "c", "d", "e"} <= {row.name for row in listed}
    assert [column.name for column in empty.columns][:2] == ["Name", "Ready"]
    assert namespace in {row.name for row in spaces}
    assert str(spaces).startswith("NAME ")
    assert all(row.namespace == namespace for row in listed)
    (everywhere,) = await client.tables(["configmaps"], label_selector=OURS, wide=True)
    assert str(everywhere).startswith("NAMESPACE ")


async def test_a_table_of_what_is_not_served_is_an_error(client: Any) -> None:
    with pytest.raises(UnknownKindError):
        await client.tables("pods,nonsense")
