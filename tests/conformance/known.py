"""The differences that are known, each with its reason."""

from __future__ import annotations

import functools
import tomllib
from pathlib import Path

FILE = Path(__file__).with_name("known_differences.toml")


@functools.cache
def known_differences() -> dict[str, str]:
    """Return why each case that is listed does not agree, by its title."""
    listed: dict[str, dict[str, str]] = tomllib.loads(FILE.read_text("utf-8"))
    return {f"{area}: {name}": reason for area, cases in listed.items() for name, reason in cases.items()}
