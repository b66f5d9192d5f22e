"""The recorded sequences: how the real server responds to them, one sequence in a line."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from tests.sequences.deltas import delta, patched
from tests.sequences.sequence import Observation, Sequence, Step

if TYPE_CHECKING:
    from collections.abc import Iterable

FILE = Path(__file__).parent.parent / "data" / "sequences" / "recorded.jsonl"


@dataclass(frozen=True)
class Recording:
    """What the file has.

    Attributes:
        server: The version of the real server.
        definitions: The definitions that must be there.
        sequences: The sequences.
    """

    server: str
    definitions: list[Any]
    sequences: list[Sequence]


def read() -> Recording:
    """Read the recorded sequences."""
    lines = FILE.read_text("utf-8").splitlines()
    head = json.loads(lines[0])
    return Recording(head["server"], head["definitions"], [_decoded(json.loads(line)) for line in lines[1:]])


def write(server: str, definitions: Iterable[Any], sequences: Iterable[Sequence]) -> None:
    """Write the recorded sequences."""
    lines = [
        {"server": server, "definitions": list(definitions)},
        *(_encoded(sequence) for sequence in sequences),
    ]
    FILE.parent.mkdir(exist_ok=True)
    FILE.write_text("".join(f"{json.dumps(line, separators=(',', ':'))}\n" for line in lines), "utf-8")


def _encoded(sequence: Sequence) -> list[Any]:
    """Steps and responses, each body as what it differs in from the one before it, or from the object as last seen."""
    rows: list[Any] = []
    sent: Any = None
    seen: Any = None
    for step, found in zip(sequence.steps, sequence.observations, strict=True):
        base = min((sent, seen), key=lambda each: len(json.dumps(delta(each, step.body))))
        is_from_response = base is seen
        request = [
            step.method,
            step.path,
            step.content_type,
            step.agent,
            is_from_response,
            delta(base, step.body),
        ]
        rows.append([request, [found.status, found.is_new, found.warnings, delta(seen, found.body)]])
        sent, seen = step.body, _object(found, seen)
    return rows


def _object(found: Observation, before: Any) -> Any:
    return found.body if found.status < 300 and found.body is not None else before


def _decoded(rows: list[Any]) -> Sequence:
    sequence = Sequence()
    sent: Any = None
    seen: Any = None
    for (method, path, content_type, agent, is_from_response, sent_change), response in rows:
        status, is_new, warnings, change = response
        sent = patched(seen if is_from_response else sent, sent_change)
        found = Observation(status, is_new, warnings, patched(seen, change))
        seen = _object(found, seen)
        sequence.steps.append(Step(method, path, sent, content_type, agent))
        sequence.observations.append(found)
    return sequence
