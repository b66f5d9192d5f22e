"""Results of a suite, from JUnit's XML, and the reasons of its failures."""

from __future__ import annotations

from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import TYPE_CHECKING, Final
from xml.etree import ElementTree

import msgspec

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from pathlib import Path

__all__ = ["Outcome", "Results", "find_reason", "read_reasons", "read_results", "unexplained", "unused_reasons"]

_MAX_MESSAGE: Final = 160


@dataclass(frozen=True, slots=True)
class Outcome:
    """A test that failed or was skipped.

    Attributes:
        test: ``module::class::name``, without the folders of the module.
        message: The first line of the error, or the reason of the skip.
    """

    test: str
    message: str


@dataclass(frozen=True, slots=True)
class Results:
    """The results of a suite.

    Attributes:
        passed: The number of tests that passed, including failures that the suite itself expects.
        failed: The failed tests, including errors of fixtures.
        skipped: The skipped tests.
    """

    passed: int
    failed: Sequence[Outcome] = field(default=())
    skipped: Sequence[Outcome] = field(default=())

    @property
    def total(self) -> int:
        """The number of tests that ran."""
        return self.passed + len(self.failed)


def read_results(text: str) -> Results:
    """Read JUnit's XML, as pytest writes it.

    A test with a failure and an error of its fixtures counts once.
    """
    outcomes: dict[tuple[str, str], tuple[str, str]] = {}
    for case in ElementTree.fromstring(text).iter("testcase"):
        test, outcome = (case.get("classname", ""), case.get("name", "")), _outcome(case)
        if test not in outcomes or outcomes[test][0] != "failed":
            outcomes[test] = outcome
    by_status: dict[str, list[Outcome]] = {"failed": [], "passed": [], "skipped": []}
    for test, (status, message) in sorted(outcomes.items()):
        by_status[status].append(Outcome(_shorten(*test), message))
    return Results(len(by_status["passed"]), tuple(by_status["failed"]), tuple(by_status["skipped"]))


def _shorten(class_name: str, name: str) -> str:
    """Return ``test_client::TestClient::test_node_apis`` for ``kubernetes.e2e_test.test_client.TestClient``."""
    parts = class_name.split(".")
    module = next((index for index in reversed(range(len(parts))) if parts[index].startswith("test")), 0)
    return "::".join([*parts[module:], name])


def _outcome(case: ElementTree.Element) -> tuple[str, str]:
    for child in case:
        if child.tag in {"error", "failure"}:
            return "failed", _first_line(child)
        if child.tag == "skipped":
            is_expected_failure = child.get("type") == "pytest.xfail"
            return "passed" if is_expected_failure else "skipped", _first_line(child)
    return "passed", ""


def _first_line(element: ElementTree.Element) -> str:
    lines = (element.get("message") or element.text or "").strip().splitlines()
    return lines[0][:_MAX_MESSAGE] if lines else ""


def read_reasons(path: Path) -> Mapping[str, Mapping[str, str]]:
    """Read the known reasons of failures: for each suite, patterns of tests and their reasons.

    Raises:
        msgspec.ValidationError: If the file has another form.
    """
    return msgspec.toml.decode(path.read_bytes(), type=dict[str, dict[str, str]])


def find_reason(test: str, reasons: Mapping[str, str]) -> str:
    """Return the reason of the first pattern that matches a test; empty without a match."""
    return next((reason for pattern, reason in reasons.items() if _fits(test, pattern)), "")


def _fits(test: str, pattern: str) -> bool:
    # No fnmatch: brackets belong to the names of parametrized tests, and only `*` is a wildcard.
    return fnmatchcase(test, pattern.replace("[", "[[]"))


def unexplained(results: Results, reasons: Mapping[str, str]) -> Sequence[Outcome]:
    """Return the failures without a reason."""
    return tuple(outcome for outcome in results.failed if not find_reason(outcome.test, reasons))


def unused_reasons(results: Results, reasons: Mapping[str, str]) -> Sequence[str]:
    """Return the patterns without a matching failure."""
    return tuple(pattern for pattern in reasons if not any(_fits(outcome.test, pattern) for outcome in results.failed))
