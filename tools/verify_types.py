"""``python -m tools.verify_types``: how much of the public API is fully typed, as pyright counts it.

Fails below the floor, and names the untyped symbols. The package must be installed, as by ``make install``.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Final, TypedDict, cast

__all__ = ["FLOOR", "main", "report"]

FLOOR: Final = 0.999
"""The minimum share of exported symbols with a known type."""

_SHOWN: Final = 40


class _Diagnostic(TypedDict):
    message: str


class _Symbol(TypedDict):
    name: str
    isExported: bool
    isTypeKnown: bool
    diagnostics: list[_Diagnostic]


class _Completeness(TypedDict):
    completenessScore: float
    symbols: list[_Symbol]


class _Output(TypedDict):
    generalDiagnostics: list[_Diagnostic]
    typeCompleteness: _Completeness


def report(output: _Output) -> tuple[bool, str]:
    """Judge what pyright found: whether it is enough, and the message to print."""
    found = output["typeCompleteness"]
    problems = [diagnostic["message"] for diagnostic in output["generalDiagnostics"]]
    if problems:
        return False, "\n".join(problems)
    score = found["completenessScore"]
    head = f"{score:.1%} of the public API is typed; the floor is {FLOOR:.1%}"
    if score >= FLOOR:
        return True, head
    # The causes only: most symbols are incomplete because of others.
    causes = [
        f"{symbol['name']}: {' '.join(symbol['diagnostics'][0]['message'].split())}"
        for symbol in found["symbols"]
        if not symbol["isTypeKnown"] and symbol["diagnostics"]
    ]
    return False, "\n".join([head, *causes[:_SHOWN]])


def main() -> int:
    """Run the command; returns its exit status."""
    # pyright asks the first `python` that it finds for the installed packages.
    scripts = Path(sys.executable).parent
    environment = os.environ | {"PATH": f"{scripts}{os.pathsep}{os.environ.get('PATH', '')}"}
    command = ["pyright", "--verifytypes", "masthead", "--ignoreexternal", "--outputjson"]
    done = subprocess.run(
        [str(scripts / command[0]), *command[1:]],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
    )
    try:
        output = cast("_Output", json.loads(done.stdout))
    except ValueError:
        sys.stderr.write(f"pyright failed: {done.stderr or done.stdout}\n")
        return 2
    is_enough, text = report(output)
    (sys.stdout if is_enough else sys.stderr).write(f"{text}\n")
    return 0 if is_enough else 1


if __name__ == "__main__":
    sys.exit(main())
