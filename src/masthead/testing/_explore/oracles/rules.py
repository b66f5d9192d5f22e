"""The rules of an exploration: which oracles judge its runs, and what they ignore."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead.errors import ArgumentError
from masthead.testing._explore.findings import Finding

if TYPE_CHECKING:
    from masthead.testing._explore.comparison import Path

__all__ = ["ORACLES", "Ignored", "OracleRules"]

ORACLES: Final = (
    "not-converging",
    "hot-loop",
    "exceptions",
    "workload",
    "invariant",
    "end-state",
    "external-state",
    "orphans",
    "stuck-finalizer",
    "dead-owner",
    "loss",
    "update-summary",
    "repeated-effect",
    "not-idempotent",
    "lost-update",
    "fight",
    "lease",
    "recovers",
)
"""The names of all oracles."""

Ignored: TypeAlias = str | Callable[[Finding], bool]
"""A pattern such as ``configmaps/*``, ``*/default/web`` or ``websites.example.com/*/status.visits``, or a predicate."""


@dataclass(frozen=True, slots=True)
class OracleRules:
    """The rules of an exploration.

    Attributes:
        oracles: Switches, by the name of the oracle; oracles without one are on.
        ignore: Exceptions: patterns of objects and fields, or predicates on findings.
        recovers: Pairs of steps after which the states must be equal, such as ``(1, 3)`` if step 3 undoes step 2.
    """

    oracles: Mapping[str, bool] = field(default_factory=dict[str, bool])
    ignore: Sequence[Ignored] = ()
    recovers: Sequence[tuple[int, int]] = ()

    def __post_init__(self) -> None:
        unknown = sorted(self.oracles.keys() - set(ORACLES))
        if unknown:
            raise ArgumentError(
                f"there is no oracle {unknown[0]!r}; the oracles are {', '.join(ORACLES)}", value=self.oracles
            )

    def is_on(self, oracle: str) -> bool:
        """Whether an oracle judges."""
        return self.oracles.get(oracle, True)

    def ignores_field(self, resource: str, key: str, path: Path) -> bool:
        """Whether a field of an object does not count."""
        # Comparisons ask for every field, and most explorations ignore nothing.
        if not self.ignore:
            return False
        # List members lose their brackets, which are patterns to fnmatch.
        text = ".".join(name.strip("[]") for name in path)
        # A pattern for a parent covers all fields inside.
        parents = [text, *(text[:index] for index, character in enumerate(text) if character == ".")]
        return any(
            fnmatchcase(f"{resource}/{key}/{parent}", pattern) for parent in parents for pattern in self._patterns()
        )

    def ignores_object(self, resource: str, key: str) -> bool:
        """Whether an object does not count."""
        # Names are case-sensitive, and `fnmatch` depends on the operating system.
        return any(fnmatchcase(f"{resource}/{key}", pattern) for pattern in self._patterns())

    def ignores_finding(self, finding: Finding) -> bool:
        """Whether a predicate ignores a finding."""
        return any(callable(rule) and rule(finding) for rule in self.ignore)

    def _patterns(self) -> list[str]:
        return [rule for rule in self.ignore if isinstance(rule, str)]
