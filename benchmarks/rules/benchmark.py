"""Evaluating validation rules for an object, and compiling them.

Times are CPU time, the minimum of several rounds.
"""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any, Final

from benchmarks.harness import measure
from benchmarks.harness.report import Column, Report, Row, Table, Target, show, unjudged
from masthead._schema.rules import compile_rules
from masthead._schema.schema import Schema

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from benchmarks.harness.measure import Figures

Plain = dict[str, Any]

FOUR_TERMS_TARGET: Final = 20.0
"""Microseconds for a rule of four terms."""
COUNT: Final = 500

TEXT: Final[Plain] = {"type": "string", "maxLength": 60}
NUMBER: Final[Plain] = {"type": "integer"}
PORT: Final[Plain] = {"type": "object", "properties": {"name": TEXT, "port": NUMBER}}
SPEC: Final[Plain] = {
    "type": "object",
    "properties": {
        "replicas": NUMBER,
        "minReplicas": NUMBER,
        "maxReplicas": NUMBER,
        "mode": TEXT,
        "cidr": TEXT,
        "memory": TEXT,
        "ports": {"type": "array", "maxItems": 20, "items": PORT},
    },
}
OBJECT: Final[Plain] = {
    "spec": {
        "replicas": 2,
        "minReplicas": 1,
        "maxReplicas": 3,
        "mode": "Rolling",
        "cidr": "10.0.0.0/8",
        "memory": "1.5Gi",
        "ports": [{"name": f"p{index}", "port": 8000 + index} for index in range(10)],
    }
}
RULES: Final = {
    "four terms": (
        "self.minReplicas <= self.replicas && self.replicas <= self.maxReplicas && has(self.mode) "
        "&& self.mode in ['Rolling', 'Recreate']"
    ),
    "ten items": "self.ports.all(p, p.port > 0 && p.name.startsWith('p'))",
    "pattern": "self.mode.matches('^[A-Z][a-z]+$')",
    "network": "cidr(self.cidr).containsIP('10.1.2.3')",
    "quantity": "quantity(self.memory).isGreaterThan(quantity('1G'))",
    "transition": "self.replicas >= oldSelf.replicas",
}


def main(arguments: Sequence[str] | None = None) -> None:
    """Measure and print."""
    options = measure.parser(__doc__, repeat=20, quick=True).parse_args(arguments)
    repeat: int = 1 if options.quick else options.repeat
    best = measure.best_of(repeat, {name: _timed(run) for name, run in _cases().items()})
    rows = tuple(_row(name, figures["us"]) for name, figures in best.items())
    table = Table("rules", "CPU time for one object, or one schema", (Column("us", "µs"),), rows)
    tables = unjudged([table]) if options.quick else (table,)  # one round is too little to judge by
    show(Report("rules", {"repeat": repeat}, tables))


def _row(name: str, figure: float | None) -> Row:
    target = Target("four_terms_us", figure or 0.0, FOUR_TERMS_TARGET) if name == "four terms" else None
    return Row(name, name, (figure,), target)


def _schema(*rules: str) -> Schema:
    spec = {**SPEC, "x-kubernetes-validations": [{"rule": rule} for rule in rules]}
    return Schema.from_plain({"type": "object", "properties": {"spec": spec}})


def _cases() -> dict[str, Callable[[], object]]:
    cases = {name: _evaluation(rule) for name, rule in RULES.items()}
    cases["compile six rules"] = lambda: compile_rules(_schema(*RULES.values()))
    return cases


def _evaluation(rule: str) -> Callable[[], object]:
    rules = compile_rules(_schema(rule))
    assert rules.errors(OBJECT, OBJECT, ratchets=False) == []
    return lambda: rules.errors(OBJECT, OBJECT)


def _timed(run: Callable[[], object]) -> Callable[[], Figures]:
    def measured() -> Figures:
        begin = time.process_time()
        for _ in range(COUNT):
            run()
        return {"us": (time.process_time() - begin) / COUNT * 1e6}

    return measured
