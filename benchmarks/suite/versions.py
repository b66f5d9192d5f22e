"""The versions of what is measured, as JSON: ``python -m benchmarks.suite.versions``.

Run by the interpreter that has the peers, which has nothing of ours: so this imports the standard library only.
"""

from __future__ import annotations

import contextlib
import json
from importlib import metadata
from typing import Final

MASTHEAD: Final = "masthead-k8s"
OURS: Final = (MASTHEAD, "msgspec", "httptools", "uvloop", "zstandard")
PEERS: Final = ("kopf", "kr8s", "kubernetes", "kubernetes-asyncio", "lightkube")


def installed(names: tuple[str, ...]) -> dict[str, str]:
    """The versions of those distributions that this interpreter has; ours by the name of its package."""
    found: dict[str, str] = {}
    for name in names:
        with contextlib.suppress(metadata.PackageNotFoundError):
            found["masthead" if name == MASTHEAD else name] = metadata.version(name)
    return found


if __name__ == "__main__":
    print(json.dumps(installed(PEERS)))
