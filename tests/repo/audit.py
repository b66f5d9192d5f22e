"""``make audit``: whether a known vulnerability is in anything that is installed with the package.

What is looked up is what users get: the dependencies and extras, in the versions that are installed here. Tools of
development are not among them. Where the vulnerability service cannot be reached, as on a machine without a network,
that is said and is no failure: nobody could lint there otherwise.
"""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Final

from packaging.requirements import Requirement
from packaging.utils import canonicalize_name

EXTRAS: Final = ("cli", "compact", "metrics", "record", "server", "speed", "tls", "webhooks")
"""The extras for users; ``dev``, ``docs`` and ``peers`` are for development."""
_REQUEST_S: Final = "5"
_ALL_S: Final = 60


def installed(root: str = "masthead-k8s", extras: tuple[str, ...] = EXTRAS) -> dict[str, str]:
    """Return the versions of all distributions that come with ours, by name, without our own."""
    found: dict[str, str] = {}
    waiting = [(root, extras)]
    visited = {(root, extras)}
    while waiting:
        name, chosen = waiting.pop()
        for need in map(Requirement, importlib.metadata.requires(name) or ()):
            if need.marker is not None and not any(need.marker.evaluate({"extra": extra}) for extra in ("", *chosen)):
                continue
            key = canonicalize_name(need.name)
            if not key.startswith(root):
                found[key] = importlib.metadata.version(need.name)
            # The same distribution may be required again, with other extras.
            step = (key, tuple(sorted(need.extras)))
            if step not in visited:
                visited.add(step)
                waiting.append(step)
    return found


def verdict(output: str) -> tuple[int, str]:
    """What pip-audit's answer means: an exit code and a sentence."""
    try:
        listed = json.loads(output)["dependencies"]
    except (ValueError, LookupError, TypeError):
        return 0, "the vulnerability service could not be reached: nothing was audited"
    problems = [
        f"{each['name']} {each['version']}: {found['id']}, fixed in {', '.join(found['fix_versions']) or 'no release'}"
        for each in listed
        for found in each.get("vulns", ())
    ]
    if problems:
        return 1, "\n".join(problems)
    audited = sum("vulns" in each for each in listed)
    if not audited:
        return 0, "the vulnerability service knows none of what is installed: nothing was audited"
    return 0, f"{audited} of {len(listed)} distributions audited, no known vulnerability"


def main() -> int:
    """Audit, and say what came of it."""
    if importlib.util.find_spec("pip_audit") is None:
        print("audit: pip-audit is not installed; make install brings it", file=sys.stderr)
        return 1
    with tempfile.TemporaryDirectory() as folder:
        pinned = Path(folder, "requirements.txt")
        pinned.write_text("".join(f"{name}=={version}\n" for name, version in installed().items()))
        command = [
            sys.executable,
            "-m",
            "pip_audit",
            "--requirement",
            str(pinned),
            "--no-deps",
            "--disable-pip",
        ]
        options = ["--format", "json", "--timeout", _REQUEST_S, "--progress-spinner", "off"]
        try:
            done = subprocess.run([*command, *options], capture_output=True, text=True, timeout=_ALL_S, check=False)
            output = done.stdout
        except subprocess.TimeoutExpired:
            output = ""
    code, said = verdict(output)
    print(f"audit: {said}", file=sys.stderr if code else sys.stdout)
    return code


if __name__ == "__main__":
    sys.exit(main())
