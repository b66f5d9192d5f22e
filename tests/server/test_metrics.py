"""``/metrics``: requests, watches and objects, under kube-apiserver's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pytest
from tests.server.calls import APPLY_PATCH, MAPS, config_map

import masthead

if TYPE_CHECKING:
    from tests.server.calls import Caller


def series(caller: Caller) -> dict[str, float]:
    lines = caller.call("GET", "/metrics").body.decode().splitlines()
    return {name: float(value) for name, _, value in (line.rpartition(" ") for line in lines if line[0] != "#")}


def requests(verb: str, resource: str, code: int, scope: str) -> str:
    return (
        f'apiserver_request_total{{code="{code}",group="",resource="{resource}",scope="{scope}",subresource="",'
        f'verb="{verb}",version="v1"}}'
    )


def test_requests_are_counted_by_verb_resource_and_code(caller: Caller) -> None:
    caller.call("POST", MAPS, config_map("a"))
    caller.call("POST", MAPS, config_map("a"))
    caller.call("GET", f"{MAPS}/a")
    found = series(caller)

    assert found[requests("POST", "configmaps", 201, "namespace")] == 1
    assert found[requests("POST", "configmaps", 409, "namespace")] == 1
    assert found[requests("GET", "configmaps", 200, "resource")] == 1


def test_objects_and_open_watches_are_counted(caller: Caller) -> None:
    caller.call("POST", MAPS, config_map("a"))
    watching = 'apiserver_longrunning_requests{group="",resource="configmaps",verb="WATCH",version="v1"}'
    stored = 'apiserver_resource_objects{group="",resource="configmaps"}'
    with caller.watching(f"{MAPS}?watch=1") as stream:
        stream.readline()
        found = series(caller)

    assert found[watching] == 1
    assert found[stored] == 1
    caller.call("DELETE", f"{MAPS}/a")
    assert series(caller)[stored] == 0


def test_it_is_in_prometheus_text_format(caller: Caller) -> None:
    response = caller.call("GET", "/metrics")

    assert response.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    assert "# TYPE apiserver_request_total counter\n" in response.body.decode()


def test_the_servers_own_version_is_there_and_in_the_compiler_of_the_build(caller: Caller) -> None:
    version = caller.call("GET", "/version").json

    assert series(caller)[f'masthead_build_info{{version="{masthead.__version__}"}}'] == 1
    assert version["gitVersion"] == "v1.36.4"
    assert version["compiler"] == f"masthead {masthead.__version__}"


@pytest.mark.slow
def test_unknown_paths_make_no_unlimited_number_of_series(caller: Caller) -> None:
    for number in range(5_100):
        caller.call("GET", f"/apis/example.com/v1/namespaces/default/kind{number}")
    found = [name for name in series(caller) if name.startswith("apiserver_request_total")]

    assert len(found) <= 5_002
    assert any('resource="other"' in name for name in found)


def test_a_path_with_quotes_is_escaped(caller: Caller) -> None:
    caller.call("GET", '/api/v1/a"b%5Cc')

    assert any('resource="a\\"b' in name for name in series(caller))


def test_an_apply_is_a_verb_of_its_own(caller: Caller) -> None:
    config = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "a"}}
    caller.call("PATCH", f"{MAPS}/a?fieldManager=one", config, content_type=APPLY_PATCH)

    assert series(caller)[requests("APPLY", "configmaps", 201, "resource")] == 1
