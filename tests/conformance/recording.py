"""The responses of the real server, as they are committed: one file for each area.

An unchanged recording is left alone, so that its date is that of the last change.
"""

from __future__ import annotations

import functools
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.conformance.api import Plain
    from tests.conformance.case import Case

FOLDER = Path(__file__).parent / "recorded"
_WIDTH = 110
_ON_ONE_LINE = {"fieldsV1"}
"""Keys of values that are deep and say little: indented, they would be most of a recording."""


@dataclass(frozen=True)
class Recording:
    """An area's responses.

    Attributes:
        area: Its name.
        server: The version of the server that gave them.
        recorded: The day.
        cases: The steps of each case, by its name.
    """

    area: str
    server: str
    recorded: str
    cases: dict[str, list[Plain]]


def path_of(area: str) -> Path:
    """The path of an area's recording."""
    return FOLDER / f"{re.sub(r'[^a-z0-9]+', '_', area.lower())}.json"


@functools.cache
def read(area: str) -> Recording:
    """Return an area's recording; one without cases if it has none yet."""
    path = path_of(area)
    if not path.is_file():
        return Recording(area, "", "", {})
    return Recording(**json.loads(path.read_text("utf-8")))


def recorded(case: Case) -> list[Plain] | None:
    """Return the responses of the real server, if they were recorded."""
    return read(case.area).cases.get(case.name)


def write(new: Recording) -> bool:
    """Put a recording in its place; return whether it differs from the old one."""
    old = read(new.area)
    if (old.server, old.cases) == (new.server, new.cases):
        return False
    FOLDER.mkdir(exist_ok=True)
    path_of(new.area).write_text(f"{pretty(vars(new))}\n", "utf-8")
    read.cache_clear()
    return True


def pretty(value: object, indent: int = 0) -> str:
    """Write JSON for people: a value stands on one line where it fits."""
    short = _short(value)
    if len(short) + indent <= _WIDTH or not value or not isinstance(value, dict | list):
        return short
    inner = " " * (indent + 2)
    if isinstance(value, dict):
        parts = [
            f"{json.dumps(key, ensure_ascii=False)}: {_short(item) if key in _ON_ONE_LINE else pretty(item, indent + 2)}"  # noqa: E501
            for key, item in value.items()
        ]
        opened, closed = "{", "}"
    else:
        parts = [pretty(item, indent + 2) for item in value]
        opened, closed = "[", "]"
    return f"{opened}\n{inner}" + f",\n{inner}".join(parts) + f"\n{' ' * indent}{closed}"


def _short(value: object) -> str:
    return json.dumps(value, ensure_ascii=False)
