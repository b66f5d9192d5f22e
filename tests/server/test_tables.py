"""Tables, over HTTP."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from tests.server.calls import MAPS, Caller, config_map

from masthead._meta import yaml

if TYPE_CHECKING:
    from masthead.server import Server

TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def table(caller: Caller, path: str, accept: str = TABLE) -> dict[str, Any]:
    found: dict[str, Any] = caller.call("GET", path, headers={"Accept": accept}).json
    return found


def test_ages_follow_the_clock_of_the_server(server: Server, caller: Caller) -> None:
    caller.call("POST", MAPS, config_map("a"))
    assert table(caller, f"{MAPS}/a")["rows"][0]["cells"] == ["a", 0, "0s"]
    server.advance(185)
    assert table(caller, f"{MAPS}/a")["rows"][0]["cells"] == ["a", 0, "3m5s"]


def test_a_table_is_written_as_yaml(caller: Caller) -> None:
    caller.call("POST", MAPS, config_map("a"))
    response = caller.call("GET", MAPS, headers={"Accept": TABLE.replace("json", "yaml")})
    assert response.content_type == "application/yaml"
    found = cast("dict[str, Any]", yaml.load_one(response.body))
    assert found["kind"] == "Table"
    assert found["rows"][0]["cells"] == ["a", 0, "0s"]


def test_a_long_table_has_a_row_for_every_object(caller: Caller) -> None:
    for number in range(300):
        caller.call("POST", MAPS, config_map(f"map-{number:03}"))
    found = table(caller, f"{MAPS}?includeObject=None")
    assert [row["cells"][0] for row in found["rows"]] == [f"map-{number:03}" for number in range(300)]
    bad = caller.call("GET", f"{MAPS}?includeObject=All", headers={"Accept": TABLE})
    assert bad.failure[:2] == (400, "BadRequest")


def test_a_table_of_an_autoscaler_is_the_same_in_both_versions(caller: Caller) -> None:
    spec = {
        "scaleTargetRef": {"kind": "Deployment", "name": "web", "apiVersion": "apps/v1"},
        "maxReplicas": 3,
        "targetCPUUtilizationPercentage": 40,
    }
    path = "/apis/autoscaling/{}/namespaces/default/horizontalpodautoscalers"
    caller.call("POST", path.format("v1"), {"metadata": {"name": "a"}, "spec": spec})
    old, new = (table(caller, path.format(version))["rows"][0]["cells"] for version in ("v1", "v2"))
    assert old == new == ["a", "Deployment/web", "cpu: <unknown>/40%", "1", 3, 0, "0s"]
