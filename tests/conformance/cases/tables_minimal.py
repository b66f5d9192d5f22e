"""The cells of one object of every kind, with as little in it as the server takes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.conformance.case import area
from tests.conformance.cases.minimal import EVERYTHING, Minimal
from tests.conformance.cases.minimal import path_to as path_to_minimal
from tests.conformance.rows import AS_TABLE

if TYPE_CHECKING:
    from tests.conformance.api import Api, Query

case = area("Cells of minimal objects")


def _case_for(minimal: Minimal) -> None:
    @case(f"a minimal {minimal.kind} of {minimal.api_version}")
    def _(api: Api) -> None:
        name = minimal.name.replace("*", api.namespace)
        body = {"apiVersion": minimal.api_version, "kind": minimal.kind, **minimal.fields}
        query: dict[str, Query] = {"includeObject": "None"}
        if minimal.dry:
            query["dryRun"] = "All"
        path = path_to_minimal(api, minimal)
        api.request("POST", path, {**body, "metadata": {"name": name}}, query=query, headers=AS_TABLE)
        api.remove_at_the_end(f"{path}/{name}")


for _minimal in EVERYTHING:
    if not _minimal.without_name:
        _case_for(_minimal)
