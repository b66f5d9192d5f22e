"""Definitions in the shape of well-known operators: they are installed, validate, prune, default and print objects.

Each file of ``tests/data/definitions`` has a definition, objects that are valid, invalid or to be pruned, patches of
them, and selectors.
"""

from __future__ import annotations

import copy
from pathlib import Path
from typing import TYPE_CHECKING

import yaml
from tests.conformance.case import area

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.api import Api, Plain

case = area("Operators")

FOLDER = Path(__file__).parents[2] / "data" / "definitions"
TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


def _operator(name: str) -> Callable[[Api], None]:
    def script(api: Api) -> None:
        # Without aliases, which would be one object in several places.
        found: Plain = copy.deepcopy(yaml.safe_load((FOLDER / f"{name}.yaml").read_text()))
        definition: Plain = found["definition"]
        spec = definition["spec"]
        definitions = api.path("customresourcedefinitions")
        api.create("customresourcedefinitions", definition)
        api.await_event(definitions, definition["metadata"]["name"], _is_established)
        versions = [version["name"] for version in spec["versions"]]
        stored = next(each["name"] for each in spec["versions"] if each["storage"])
        path = _path(api, spec, stored)
        _await_served(api, path)
        for body in found["objects"]:
            head = {"apiVersion": f"{spec['group']}/{stored}", "kind": spec["names"]["kind"]}
            api.request("POST", path, head | body)
            _sort_errors(api)
        for target, patch in found["patches"]:
            headers = {"Content-Type": "application/merge-patch+json"}
            api.request("PATCH", f"{path}/{target}", patch, headers=headers)
            _sort_errors(api)
        for version in versions:
            at = _path(api, spec, version)
            api.request("GET", at, headers={"Accept": TABLE}, query={"includeObject": "None"})
        for version in versions[:2]:
            api.request("GET", _path(api, spec, version))
        for selector in found["selectors"]:
            api.request("GET", path, query={"fieldSelector": selector})
        _, found = api.quietly("GET", f"{definitions}/{definition['metadata']['name']}")
        api.delete("customresourcedefinitions", definition["metadata"]["name"])
        api.await_event(
            definitions,
            definition["metadata"]["name"],
            lambda event: event["type"] == "DELETED",
            since=found["metadata"]["resourceVersion"],
        )

    return script


def _path(api: Api, spec: Plain, version: str) -> str:
    scope = f"namespaces/{api.namespace}/" if spec["scope"] == "Namespaced" else ""
    return f"/apis/{spec['group']}/{version}/{scope}{spec['names']['plural']}"


def _sort_errors(api: Api) -> None:
    """Put the errors of fields in an order: the real server reports those of different fields in any."""
    body = api.steps[-1].body
    causes = body.get("details", {}).get("causes") if isinstance(body, dict) else None
    if isinstance(body, dict) and causes:
        causes.sort(key=lambda cause: (cause["field"], cause["message"]))
        body["message"] = body["message"].partition(" is invalid: ")[0]


def _is_established(event: Plain) -> bool:
    conditions: list[Plain] = (event["object"].get("status") or {}).get("conditions") or []
    return any(condition["type"] == "Established" and condition["status"] == "True" for condition in conditions)


def _await_served(api: Api, path: str) -> None:
    api.await_response(path, lambda status, _: status == 200)


for _name in ("certificates", "compositions", "httproutes", "monitors", "virtualroutes", "workflows"):
    case(f"{_name} are installed, validated, pruned and printed")(_operator(_name))
