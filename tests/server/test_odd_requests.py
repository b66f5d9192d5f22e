"""Requests that few clients send, and that need a correct response all the same."""

from __future__ import annotations

import gc
import tracemalloc
from typing import TYPE_CHECKING

import pytest
from tests.server.calls import MAPS, Caller, config_map

import masthead.server
from masthead._meta.gvk import GroupVersionResource
from masthead_server.resources.catalog import Catalog

if TYPE_CHECKING:
    from pathlib import Path

    from masthead.server import Server


def test_expect_100_continue_gets_100_continue(server: Server, caller: Caller) -> None:
    body = b'{"metadata":{"name":"a"}}'
    head = (
        f"POST {MAPS} HTTP/1.1\r\nHost: h\r\nAuthorization: Bearer {server.token}\r\nExpect: 100-continue\r\n"
        f"Content-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    )
    with caller.socket() as connection, connection.makefile("rb") as responses:
        connection.sendall(head.encode())
        assert responses.readline() == b"HTTP/1.1 100 Continue\r\n"
        assert responses.readline() == b"\r\n"
        connection.sendall(body)
        assert responses.readline() == b"HTTP/1.1 201 Created\r\n"


@pytest.mark.parametrize("version", ["\N{SUPERSCRIPT TWO}", "\N{ARABIC-INDIC DIGIT FIVE}"])
def test_digits_of_other_scripts_are_no_resource_version(caller: Caller, version: str) -> None:
    assert caller.call("POST", MAPS, config_map("a", resourceVersion=version)).code == 201
    refused = caller.call("PUT", f"{MAPS}/a", config_map("a", resourceVersion=version)).failure
    assert refused == (500, "", f'strconv.ParseUint: parsing "{version}": invalid syntax')


def test_a_yaml_alias_bomb_is_rejected_early(caller: Caller) -> None:
    levels = "bcdefgh"
    lines = ["a: &a [x, x, x, x, x, x, x, x, x]"]
    for below, name in zip("a" + levels, levels, strict=False):
        lines.append(f"{name}: &{name} [{', '.join([f'*{below}'] * 9)}]")

    code, reason, message = caller.call(
        "POST", MAPS, "\n".join(lines).encode(), content_type="application/yaml"
    ).failure

    assert (code, reason) == (400, "BadRequest")
    assert "yaml: document contains excessive aliasing" in message


@pytest.mark.slow
def test_requests_for_missing_objects_leave_nothing_behind(caller: Caller) -> None:
    caller.call("GET", "/api/v1/namespaces/default/nothing")
    catalog = Catalog.builtin()
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        for number in range(200):
            assert catalog.find(GroupVersionResource(f"group{number}" * 1000, "v1", "nothing")) is None
            assert catalog.find(GroupVersionResource("", "v1", f"nothing{number}" * 1000)) is None
            assert catalog.versions(f"group{number}" * 1000) == ()
        gc.collect()
        after, _ = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert after - before < 100_000


def test_with_a_seed_no_uid_repeats_even_when_the_file_is_opened_again(tmp_path: Path) -> None:
    uids: list[str] = []
    for round_number in range(3):
        with masthead.server.run(data=tmp_path / "data.db", seed=1, token=None) as server:
            caller = Caller(server.url)
            made = caller.call("POST", MAPS, config_map(f"a{round_number}"))
            uids.append(made.json["metadata"]["uid"])
            caller.close()
    assert len(set(uids)) == 3


def test_a_data_file_is_for_its_owner_alone(tmp_path: Path) -> None:
    with masthead.server.run(data=tmp_path / "data.db"):
        modes = {path.name: path.stat().st_mode & 0o777 for path in tmp_path.iterdir()}
    assert set(modes.values()) == {0o600}


def test_a_quantity_that_is_null_is_zero(caller: Caller) -> None:
    quotas = "/api/v1/namespaces/default/resourcequotas"
    body = {"metadata": {"name": "a"}, "spec": {"hard": {"pods": None}}}
    response = caller.call("POST", quotas, body)
    assert (response.code, response.json["spec"]["hard"]) == (201, {"pods": "0"})


@pytest.mark.parametrize(
    "path",
    [
        "/api",
        "/apis",
        "/api/v1",
        "/apis/apps",
        "/api/v1/namespaces",
        "/api/v1/namespaces/default",
        f"{MAPS}/no",
    ],
)
def test_compact_json_ends_with_one_line_feed(caller: Caller, path: str) -> None:
    body = caller.call("GET", path).body
    assert body.count(b"\n") == 1
    assert body.endswith(b"}\n")


@pytest.mark.parametrize(
    "path",
    ["/version", "/", "/api/v1/namespaces/default?pretty=true", "/api?pretty=true", "/apis/apps/v1?pretty=true"],
)
def test_indented_json_ends_with_a_brace(caller: Caller, path: str) -> None:
    body = caller.call("GET", path).body
    assert body.startswith(b'{\n  "')
    assert body.endswith(b"\n}")


def test_writes_and_their_errors_end_with_one_line_feed(caller: Caller) -> None:
    for call in (
        caller.call("POST", MAPS, config_map("a")),
        caller.call("POST", MAPS, config_map("a")),
        caller.call("DELETE", f"{MAPS}/a"),
    ):
        assert call.body.count(b"\n") == 1
        assert call.body.endswith(b"}\n")
