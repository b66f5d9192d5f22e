"""CustomResourceDefinitions for cases: how they are made, and how cases wait for the server to act on them.

Controllers of the server act on definitions when they get to it, so that a case has to wait. It does so with requests
that are not recorded.
"""

from __future__ import annotations

import copy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.conformance.api import Api, CallResponse, Plain

DEFINITIONS = "customresourcedefinitions"
TEXT: Plain = {"type": "string"}
NUMBER: Plain = {"type": "integer"}

_MOST_TRIES = 1_000


def group_of(api: Api) -> str:
    """The group of a case's definitions, which no other case has."""
    return f"{api.namespace}.example.com"


def object_of(**properties: Plain) -> Plain:
    """The schema of an object with these fields."""
    return {"type": "object", "properties": properties}


def version_of(schema: Plain | None = None, name: str = "v1", **fields: Any) -> Plain:
    """A version that is served, and stored if it is ``v1``."""
    version: Plain = {"name": name, "served": True, "storage": name == "v1"}
    if schema is not None:
        version["schema"] = {"openAPIV3Schema": schema}
    return version | fields


def definition(
    api: Api,
    schema: Plain | None = None,
    *,
    plural: str = "widgets",
    kind: str = "Widget",
    names: Plain | None = None,
    metadata: Plain | None = None,
    version: Plain | None = None,
    **spec: Any,
) -> Plain:
    """A definition; without a schema, of objects with any fields.

    Args:
        api: The API of the case.
        schema: The schema of its version ``v1``.
        plural: Its plural.
        kind: Its kind.
        names: More of its names.
        metadata: More of its metadata.
        version: More fields of its version ``v1``.
        spec: More fields of its spec, or others.
    """
    anything = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    group = group_of(api)
    return {
        "apiVersion": "apiextensions.k8s.io/v1",
        "kind": "CustomResourceDefinition",
        "metadata": {"name": f"{plural}.{group}"} | (metadata or {}),
        "spec": {
            "group": group,
            "scope": "Namespaced",
            "names": {"plural": plural, "kind": kind} | (names or {}),
            "versions": [version_of(anything if schema is None else schema) | (version or {})],
        }
        | spec,
    }


def resource_of(api: Api, plural: str = "widgets", version: str = "v1") -> str:
    """The resource of a definition, as the verbs of the API take it."""
    return f"{group_of(api)}/{version}/{plural}"


def await_condition(
    api: Api, plural: str = "widgets", kind: str = "Established", status: str = "True", reason: str = ""
) -> None:
    """Wait until a condition of a definition has a status, and a reason if one is given."""

    def is_met(event: Plain) -> bool:
        conditions: list[Plain] = (event["object"].get("status") or {}).get("conditions") or []
        return any(
            condition["type"] == kind and condition["status"] == status and reason in ("", condition["reason"])
            for condition in conditions
        )

    api.await_event(api.path(DEFINITIONS), f"{plural}.{group_of(api)}", is_met)


def await_deletion(api: Api, plural: str = "widgets") -> None:
    """Wait until a definition is gone."""
    name = f"{plural}.{group_of(api)}"
    status, found = api.quietly("GET", api.path(DEFINITIONS, name))
    if status == 200:
        since = found["metadata"]["resourceVersion"]
        api.await_event(api.path(DEFINITIONS), name, lambda event: event["type"] == "DELETED", since=since)


def await_served(api: Api, plural: str = "widgets", version: str = "v1", *, is_served: bool = True) -> None:
    """Wait until the objects of a definition are served in a version, or no longer."""
    wanted = 200 if is_served else 404
    path = f"/apis/{group_of(api)}/{version}/{plural}"
    # There is no event to wait for. It takes a few milliseconds, and a case goes on without it: what it records then
    # shows what has not happened.
    for _ in range(_MOST_TRIES):
        if api.quietly("GET", path)[0] == wanted:
            return


def install(api: Api, found: Plain) -> None:
    """Create a definition without recording it, and wait until its objects are served."""
    status, document = api.quietly("POST", api.path(DEFINITIONS), found)
    if status != 201:
        raise RuntimeError(f"the definition was refused: {document}")
    api.remove_at_the_end(api.path(DEFINITIONS, found["metadata"]["name"]))
    plural = found["spec"]["names"]["plural"]
    await_condition(api, plural)
    for version in found["spec"]["versions"]:
        if version["served"]:
            await_served(api, plural, version["name"])


def update(api: Api, plural: str, change: Callable[[Plain], object], *, status: bool = False) -> CallResponse:
    """Change a definition as it is now, by a patch: conditions may be written at the same time."""
    name = f"{plural}.{group_of(api)}"
    _, old = api.quietly("GET", api.path(DEFINITIONS, name))
    new = copy.deepcopy(old)
    change(new)
    return api.patch(DEFINITIONS, f"{name}/status" if status else name, _merge_patch(old, new))


def _merge_patch(old: Plain, new: Plain) -> Plain:
    patch: Plain = {key: None for key in old if key not in new}
    for key, value in new.items():
        before = old.get(key)
        if isinstance(value, dict) and isinstance(before, dict):
            if value != before:
                patch[key] = _merge_patch(before, value)
        elif value != before:
            patch[key] = value
    return patch
