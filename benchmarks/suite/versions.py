"""The versions of what is measured, as JSON: ``python -m benchmarks.suite.versions``.

Run by the interpreter that has the peers, which has nothing of ours: so this imports the standard library only.
"""

from __future__ import annotations

import contextlib
import json
from importlib import metadata
from typing import Final

OURS: Final = ("masthead-k8s", "msgspec", "httptools", "uvloop", "zstandard")
PEERS: Final = ("kopf", "kr8s", "kubernetes", "kubernetes-asyncio", "lightkube")


def installed(names: tuple[str, ...]) -> dict[str, str]:
    """The versions of those distributions that this interpreter has."""
    found: dict[str, str] = {}
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found[name] = metadata.version(name)
    return found


if __name__ == "__main__":
    print(json.dumps(installed(PEERS)))
