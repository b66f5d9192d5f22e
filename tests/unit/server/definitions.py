"""Definitions of custom resources, as the unit tests of serving them use them."""

from __future__ import annotations

from typing import Any

from masthead_server.resources.custom.definition import Definition

Plain = dict[str, Any]

ANY_FIELDS: Plain = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}


def version_of(name: str, schema: Plain | None = None, *, storage: bool = False, **more: Any) -> Plain:
    """Return a version of a definition."""
    return {
        "name": name,
        "served": True,
        "storage": storage,
        "schema": {"openAPIV3Schema": schema or ANY_FIELDS},
        "subresources": {"status": {}},
        **more,
    }


def definition_of(
    group: str, kind: str, *versions: str | Plain, plural: str = "", is_namespaced: bool = True
) -> Definition:
    """Return an established definition; the first version is the stored one if none says that it is."""
    listed = [version_of(version) if isinstance(version, str) else version for version in versions]
    if not any(each["storage"] for each in listed):
        listed[0]["storage"] = True
    plural = plural or f"{kind.lower()}s"
    names = {"plural": plural, "singular": kind.lower(), "kind": kind, "listKind": f"{kind}List"}
    spec = {
        "group": group,
        "scope": "Namespaced" if is_namespaced else "Cluster",
        "names": names,
        "versions": listed,
    }
    conditions = [{"type": "NamesAccepted", "status": "True"}, {"type": "Established", "status": "True"}]
    return Definition(
        {
            "metadata": {"name": f"{plural}.{group}", "uid": f"uid-of-{plural}"},
            "spec": spec,
            "status": {"acceptedNames": names, "conditions": conditions},
        }
    )
