"""The public API keeps the rules for names of decision 044, and documents use the names that it has settled."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]

API = (ROOT / "docs" / "api.txt").read_text(encoding="utf-8")

OLD_NAMES = re.compile(
    r"\b(?:TerminalError|InvalidError|InvalidValueError|QueueShutDownError|NotSettledError|ApiResource|ApiGroup)\b"
    r"|\bmasthead\.(?:aio\.)?(?:Context|Watch|EventType|Selection|Health|InternalError)\b"
    r"|\bimport [^\n]*\b(?:Context|EventType|Selection|Health)\b"
    r"|\.(?:wait_until(?:_\w+)?|wait_synced|wait_lost|wait_for_all|quiesce|settle|list_pages|iterate|as_table|shut_down)\("
    r"|\bfactory\.shutdown\(|\brest\.verb\(|\.watch\(since=|\bClient\([^()]*retries=|\bstop\(grace="
)
"""What documents and examples may not say any more; the changelog lists what took its place."""

HISTORY = {"CHANGELOG.md", "docs/decisions/044-names.md"}

DOCUMENTS = sorted(
    path.relative_to(ROOT).as_posix()
    for pattern in ("*.md", "docs/**/*.md", "examples/**/*.py", "examples/**/*.ipynb", "src/masthead/_scaffold/**/*")
    for path in ROOT.glob(pattern)
    if path.is_file() and path.suffix != ".pyc" and path.relative_to(ROOT).as_posix() not in HISTORY
)


def methods_by_class() -> dict[str, set[str]]:
    """The methods of each public class, without its properties."""
    found: defaultdict[str, set[str]] = defaultdict(set)
    owner = ""
    for line in API.splitlines():
        if declared := re.match(r"    (?:class (\w+))?", line):
            owner = declared[1] or (owner if line.startswith("        ") else "")
        if owner and (method := re.match(r"        (?:async |classmethod |staticmethod )*def (\w+)\(", line)):
            found[owner].add(method[1])
    return found


METHODS = methods_by_class()


def parameters() -> set[str]:
    """The names of all parameters of public functions and methods."""
    return set(re.findall(r"[(,] ?\*{0,2}(\w+): ", API))


@pytest.mark.parametrize("document", DOCUMENTS)
def test_documents_and_examples_use_no_old_name(document: str) -> None:
    text = (ROOT / document).read_text(encoding="utf-8")

    assert OLD_NAMES.findall(text) == [], "the section Renamed of CHANGELOG.md has the new names"


def test_the_api_lists_classes_with_their_methods() -> None:
    assert {"wait_for", "wait_for_version", "wait_for_cache_sync", "stop"} <= METHODS["SharedInformer"]
    assert {"timeout", "timeout_seconds", "attempts", "resource_version"} <= parameters()


def test_waiting_is_called_wait_for() -> None:
    waiting = {name for methods in METHODS.values() for name in methods if re.match(r"wait_|quiesce|settle", name)}

    assert {name for name in waiting if not name.startswith("wait_for")} == set()


def test_limits_are_called_timeout_and_attempts() -> None:
    assert parameters() & {"within", "grace", "retries", "max_retries", "wait_until", "deadline"} == set()


def test_runners_are_stopped_and_resources_closed() -> None:
    endings = {name for methods in METHODS.values() for name in methods}
    runners = {name for name, methods in METHODS.items() if methods & {"start", "run"} and "close" in methods}

    assert endings & {"shutdown", "shut_down", "leave", "quit", "terminate"} == set()
    assert runners == set()


def test_text_is_a_property() -> None:
    assert {name for name, methods in METHODS.items() if "text" in methods} == set()


def test_what_yields_is_called_iter_and_a_table_table() -> None:
    assert {name for methods in METHODS.values() for name in methods} & {"iterate", "list_pages", "as_table"} == set()
