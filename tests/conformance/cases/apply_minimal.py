"""Apply of one object of every kind, with as little in it as the server takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.cases.minimal import EVERYTHING, Minimal
from tests.conformance.cases.minimal import path_to as path_to_minimal

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Applied minimal objects")

AS_APPLY = {"Content-Type": "application/apply-patch+yaml"}


def _case_for(minimal: Minimal) -> None:
    @case(f"a minimal {minimal.kind} of {minimal.api_version}")
    def _(api: Api) -> None:
        name = minimal.name.replace("*", api.namespace)
        path = f"{path_to_minimal(api, minimal)}/{name}"
        head = {"apiVersion": minimal.api_version, "kind": minimal.kind}
        labelled: Plain = {**head, "metadata": {"name": name, "labels": {"l": "1"}}}

        def apply(manager: str, body: Plain) -> None:
            query = {"fieldManager": manager, **({"dryRun": "All"} if minimal.dry else {})}
            api.request("PATCH", path, body, query={**query}, headers=AS_APPLY, pick=_owned)

        apply("one", {**head, **minimal.fields, "metadata": {"name": name}})
        if not minimal.dry:
            apply("two", labelled)
            apply("one", {**head, **minimal.fields, "metadata": {"name": name, "labels": {"l": "2"}}})


def _owned(body: Plain) -> object:
    """What the managers own, or why there is nothing: other areas compare the objects themselves."""
    meta = body.get("metadata") or {}
    return {"metadata": {"managedFields": meta.get("managedFields")}} if meta.get("uid") else body


for _minimal in EVERYTHING:
    if not _minimal.without_name:
        _case_for(_minimal)
