"""Objects shown as rows of a Table, for cases about their cells."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

AS_TABLE = {"Accept": "application/json;as=Table;g=meta.k8s.io;v=v1"}
MERGE = {"Content-Type": "application/merge-patch+json"}
THEN = "2001-02-03T04:05:06Z"
LATER = "2001-02-03T05:45:06Z"


def show(api: Api, resource: str, name: str) -> None:
    """Get an object as a row without the object."""
    api.request("GET", api.path(resource, name), query={"includeObject": "None"}, headers=AS_TABLE)


def show_with_status(api: Api, resource: str, body: Plain, *statuses: Plain) -> None:
    """Create an object, and show it in each of the states."""
    name = api.create(resource, body).name
    show(api, resource, name)
    for status in statuses:
        api.patch(resource, f"{name}/status", {"status": status})
        show(api, resource, name)


def containers(*names: str, **more: object) -> list[Plain]:
    """Containers of a pod, as few fields of each as the server takes."""
    return [{"name": name, "image": "image", **more} for name in names]
