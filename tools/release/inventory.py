"""Lists the distributions of the environment that runs it, as JSON.

Run inside of clean environments, so it imports the standard library only.
"""

from __future__ import annotations

import json
from importlib import metadata


def distributions() -> list[dict[str, object]]:
    """The metadata of each distribution."""
    return [
        {
            "name": distribution.name,
            "version": distribution.version,
            "summary": _text(distribution.metadata, "Summary"),
            "license_expression": _text(distribution.metadata, "License-Expression"),
            "license": _text(distribution.metadata, "License"),
            "classifiers": distribution.metadata.get_all("Classifier") or [],
            "requires": distribution.requires or [],
        }
        for distribution in metadata.distributions()
    ]


def _text(found: metadata.PackageMetadata, field: str) -> str:
    return str(next(iter(found.get_all(field) or [""])))


if __name__ == "__main__":
    print(json.dumps(distributions()))
