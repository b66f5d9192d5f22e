"""A software bill of materials of a release's dependencies, as CycloneDX 1.6 in JSON.

The same inventory gives the same bytes: the serial number is derived from the content, and there is no timestamp.
"""

from __future__ import annotations

import json
import uuid
from typing import TYPE_CHECKING, Any, Final

from packaging.utils import canonicalize_name

from tools.release.licences import closure, needed

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    from tools.release.licences import Distribution

_SCHEMA: Final = "http://cyclonedx.org/schema/bom-1.6.schema.json"


def bom(
    root: str, extras: Iterable[str], installed: Mapping[str, Distribution], hashes: Mapping[str, str]
) -> dict[str, Any]:
    """The bill of materials of a distribution.

    Args:
        root: Its name.
        extras: Its extras, whose dependencies are optional.
        installed: The installed distributions, by name.
        hashes: The SHA-256 of each archive of the release, by file name.
    """
    wanted = sorted(extras)
    required, all_of_it = closure(root, (), installed), closure(root, wanted, installed)
    components = [
        _component(inner, "required" if name in required else "optional") for name, inner in all_of_it.items()
    ]
    content: dict[str, Any] = {
        "$schema": _SCHEMA,
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "version": 1,
        "metadata": {
            "component": {
                **_component(installed[root], ""),
                "properties": [{"name": f"sha256:{name}", "value": digest} for name, digest in sorted(hashes.items())],
            }
        },
        "components": components,
        "dependencies": [
            _edges(installed[root], wanted, all_of_it),
            *(_edges(inner, (), all_of_it) for inner in all_of_it.values()),
        ],
    }
    serial = uuid.uuid5(uuid.NAMESPACE_URL, json.dumps(content, sort_keys=True))
    return {**content, "serialNumber": f"urn:uuid:{serial}"}


def to_text(content: Mapping[str, Any]) -> str:
    """Format a bill of materials for its file."""
    return json.dumps(content, indent=2, sort_keys=True, ensure_ascii=False) + "\n"


def _component(found: Distribution, scope: str) -> dict[str, Any]:
    purl = f"pkg:pypi/{found.name}@{found.version}"
    component: dict[str, Any] = {
        "type": "library",
        "bom-ref": purl,
        "name": found.name,
        "version": found.version,
        "purl": purl,
        "description": found.summary,
        "licenses": _licences(found.licence),
    }
    return {**component, "scope": scope} if scope else component


def _licences(expression: str) -> list[dict[str, Any]]:
    """Return licences in the format: an identifier for one licence, an expression for several."""
    if not expression:
        return []
    is_one = " " not in expression
    return [{"license": {"id": expression}}] if is_one else [{"expression": expression}]


def _edges(found: Distribution, extras: Iterable[str], components: Mapping[str, Distribution]) -> dict[str, Any]:
    """Return the direct dependencies of a distribution that are in the bill."""
    names = {canonicalize_name(need.name) for need in needed(found, extras)}
    targets = sorted(f"pkg:pypi/{name}@{components[name].version}" for name in names if name in components)
    return {"ref": f"pkg:pypi/{found.name}@{found.version}", "dependsOn": targets}
