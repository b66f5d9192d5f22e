"""Pruning, defaulting and validating a typical custom resource of about fifty values, and compiling its schema.

Times are CPU time, the minimum of several rounds.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from benchmarks.harness import measure
from benchmarks.harness.report import Column, Report, Row, Table, Target, show, unjudged
from masthead._regexp.pattern import compile_pattern
from masthead._schema.defaulting import apply_defaults
from masthead._schema.list_types import list_errors
from masthead._schema.prune import drop_nulls, prune
from masthead._schema.schema import Schema
from masthead._schema.validation import compile_validator

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.harness.measure import Figures

Plain = dict[str, Any]

WRITE_TARGET: Final = 100.0
"""Microseconds for all that a write of one object needs."""
COUNT: Final = 300

TEXT: Final[Plain] = {"type": "string"}
NUMBER: Final[Plain] = {"type": "integer"}
QUANTITY: Final[Plain] = {
    "x-kubernetes-int-or-string": True,
    "anyOf": [{"type": "integer"}, {"type": "string"}],
    "pattern": r"^(\+|-)?(([0-9]+(\.[0-9]*)?)|(\.[0-9]+))(([KMGTPE]i)|[numkMGTPE])?$",
}


def _object(required: Sequence[str] = (), **properties: Plain) -> Plain:
    return {"type": "object", "properties": properties, **({"required": list(required)} if required else {})}


def _list(items: Plain, **more: object) -> Plain:
    return {"type": "array", "items": items, **more}


PORT: Final = _object(
    ["name", "port"],
    name={**TEXT, "maxLength": 15},
    port={**NUMBER, "minimum": 1, "maximum": 65535},
    protocol={**TEXT, "default": "TCP", "enum": ["TCP", "UDP"]},
)
CONDITION: Final = _object(
    ["type", "status"],
    type=TEXT,
    status={**TEXT, "enum": ["True", "False", "Unknown"]},
    lastTransitionTime={**TEXT, "format": "date-time"},
    message={**TEXT, "maxLength": 32768},
)
SCHEMA: Final = _object(
    ["spec"],
    spec=_object(
        ["replicas", "template"],
        replicas={**NUMBER, "format": "int32", "minimum": 0},
        mode={**TEXT, "enum": ["Rolling", "Recreate"], "default": "Rolling"},
        paused={"type": "boolean", "default": False},
        image={**TEXT, "pattern": "^[a-z0-9./:-]+$", "maxLength": 200},
        ports=_list(PORT, **{"x-kubernetes-list-type": "map", "x-kubernetes-list-map-keys": ["name"]}),
        labels={"type": "object", "additionalProperties": TEXT},
        resources={"type": "object", "additionalProperties": QUANTITY},
        template=_object(env=_list(_object(["name"], name=TEXT, value=TEXT)), args=_list(TEXT)),
    ),
    status=_object(readyReplicas=NUMBER, conditions=_list(CONDITION)),
)


def new_object() -> Plain:
    """Return a custom resource as a client sends it."""
    condition = {
        "type": "Ready",
        "status": "True",
        "lastTransitionTime": "2026-01-01T00:00:00Z",
        "message": "ok",
    }
    return {
        "apiVersion": "example.com/v1",
        "kind": "Widget",
        "metadata": {"name": "a"},
        "spec": {
            "replicas": 3,
            "image": "registry.example.com/team/app:1.2.3",
            "ports": [{"name": f"p{index}", "port": 8000 + index} for index in range(3)],
            "labels": {"app": "web", "tier": "front"},
            "resources": {"cpu": "100m", "memory": "128Mi"},
            "template": {
                "env": [{"name": f"E{index}", "value": "x"} for index in range(6)],
                "args": ["a", "b", "c"],
            },
        },
        "status": {"readyReplicas": 3, "conditions": [condition, {**condition, "type": "Available"}]},
    }


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    options = measure.parser(__doc__, repeat=20, quick=True).parse_args(arguments)
    repeat: int = 1 if options.quick else options.repeat
    best = measure.best_of(repeat, {name: _timed(run) for name, run in _cases().items()})
    rows = tuple(_row(name, figures["us"]) for name, figures in best.items())
    columns = (Column("us", "µs"),)
    table = Table("schemas", "CPU time for one object, or one schema", columns, rows)
    tables = unjudged([table]) if options.quick else (table,)  # one round is too little to judge by
    show(Report("schemas", {"repeat": repeat}, tables))


def _row(name: str, figure: float | None) -> Row:
    target = Target("write_us", figure or 0.0, WRITE_TARGET) if name == "write" else None
    return Row(name, name, (figure,), target)


def _cases() -> dict[str, Callable[[Plain], object]]:
    schema = Schema.from_plain(SCHEMA)
    validator = compile_validator(schema)
    assert validator.errors(new_object()) == []
    pattern = compile_pattern(QUANTITY["pattern"])

    def write(found: Plain) -> None:
        prune(found, schema)
        drop_nulls(found, schema)
        apply_defaults(found, schema)
        validator.errors(found)
        list_errors(found, schema)

    def refuse(found: Plain) -> None:
        found["spec"]["replicas"] = -1
        assert validator.errors(found)

    return {
        "write": write,
        "prune": lambda found: prune(found, schema),
        "default": lambda found: apply_defaults(found, schema),
        "validate": validator.errors,
        "refuse": refuse,
        "pattern": lambda _found: pattern.search("1500.5Mi"),
        "compile": lambda _found: compile_validator(Schema.from_plain(SCHEMA)),
    }


def _timed(run: Callable[[Plain], object]) -> Callable[[], Figures]:
    def measured() -> Figures:
        objects = [new_object() for _ in range(COUNT)]
        begin = time.process_time()
        for each in objects:
            run(each)
        return {"us": (time.process_time() - begin) / COUNT * 1e6}

    return measured
