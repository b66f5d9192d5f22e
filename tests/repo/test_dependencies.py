"""What is installed is imported, and what is imported is installed."""

from __future__ import annotations

import ast
import functools
import importlib.metadata
import json
import re
import sys
import tomllib
from pathlib import Path

import pytest
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.repo.audit import EXTRAS, installed, verdict

import masthead

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
SERVER = tomllib.loads((ROOT / "server" / "pyproject.toml").read_text("utf-8"))["project"]
OURS = {"masthead-k8s", "masthead-k8s-server"}
TOOLS = {"build", "coverage", "import-linter", "jedi", "mypy", "pip-audit", "pyright", "ruff", "types-pyyaml"}
"""Programs, and what programs read; jedi has no types, and is imported by its name."""
PLUGINS = {"anyio", "pytest-asyncio", "pytest-random-order", "pytest-timeout", "pytest-xdist"}
SERVERS = {"gevent", "gunicorn"}
"""Run by the tests of examples/, as processes."""
CLIENTS = {"kopf", "kr8s", "kubernetes", "kubernetes-asyncio", "lightkube", "pykube-ng"}
"""Imported by the programs of docs/works-with-your-client.md."""
MODULES = {
    "hypothesis": "hypothesis",
    "kubernetes-asyncio": "kubernetes_asyncio",
    "lightkube-models": "lightkube",
    "prometheus-client": "prometheus_client",
    "pydantic-core": "pydantic_core",
    "pytest-asyncio": "pytest_asyncio",
    "pyyaml": "yaml",
}
"""The module of a distribution, where that has another name."""


def names(requirements: list[str]) -> set[str]:
    return {canonicalize_name(Requirement(requirement).name) for requirement in requirements}


@functools.cache
def imported_in(*folders: str) -> frozenset[str]:
    """The packages that modules name in an import, wherever it stands."""
    found: set[str] = set()
    for path in (path for folder in folders for path in (ROOT / folder).rglob("*.py")):
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Import):
                found |= {alias.name.partition(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.module:
                found.add(node.module.partition(".")[0])
    # Type checkers have it; nothing imports it at run time.
    return frozenset(found - {"_typeshed"})


def unused(requirements: set[str], *folders: str) -> set[str]:
    return {name for name in requirements if MODULES.get(name, name) not in imported_in(*folders)}


def test_every_dependency_is_imported_by_its_package() -> None:
    assert unused(names(PROJECT["dependencies"]), "src") == set()
    assert unused(names(SERVER["dependencies"]) - OURS, "server/src") == set()
    assert unused(names(SERVER["optional-dependencies"]["tls"]), "server/src") == set()


def test_the_library_needs_four_distributions() -> None:
    assert names(PROJECT["dependencies"]) == {"httptools", "msgspec", "pyyaml", "websockets"}


def test_library_and_server_are_released_in_lockstep() -> None:
    version = PROJECT["version"]
    extras = PROJECT["optional-dependencies"]

    assert SERVER["version"] == version == masthead.__version__
    assert f"masthead-k8s=={version}" in SERVER["dependencies"]
    assert extras["server"] == [f"masthead-k8s-server=={version}"]
    assert extras["tls"] == [f"masthead-k8s-server[tls]=={version}"]
    assert SERVER["requires-python"] == PROJECT["requires-python"]


def test_the_security_policy_names_every_dependency_and_nothing_private() -> None:
    text = (ROOT / "SECURITY.md").read_text("utf-8")
    extras = PROJECT["optional-dependencies"]
    requirements = [*PROJECT["dependencies"], *(name for extra in EXTRAS for name in extras[extra])]
    declared = names([*requirements, *SERVER["dependencies"], *SERVER["optional-dependencies"]["tls"]]) - OURS
    quoted = {canonicalize_name(name) for name in re.findall(r"`([\w-]+)`", text)}
    assert declared - quoted == set()
    assert re.findall(r"masthead\._\w+", text) == []


@pytest.mark.parametrize("extra", EXTRAS)
def test_every_extra_is_imported_by_the_package(extra: str) -> None:
    assert unused(names(PROJECT["optional-dependencies"][extra]) - OURS, "src") == set()


def test_there_are_no_other_extras_for_users() -> None:
    assert set(PROJECT["optional-dependencies"]) == {*EXTRAS, "dev", "docs", "peers"}


def test_every_peer_is_measured() -> None:
    text = "".join(path.read_text("utf-8") for path in (ROOT / "benchmarks").rglob("*.py"))
    peers = names(PROJECT["optional-dependencies"]["peers"])
    assert {name for name in peers if MODULES.get(name, name) not in text} == set()


def test_everything_for_development_is_a_tool_or_imported() -> None:
    asked = names(PROJECT["optional-dependencies"]["dev"]) - TOOLS - PLUGINS - CLIENTS - SERVERS
    assert unused(asked, "src", "server/src", "tests", "benchmarks", "examples") == set()


def test_everything_that_the_library_imports_is_asked_for() -> None:
    extras = [each for extra in EXTRAS for each in PROJECT["optional-dependencies"][extra]]
    callers = ["pytest", "pytest-asyncio", "pydantic-core"]  # they load what is written for them
    asked = names([*PROJECT["dependencies"], *extras, *callers])
    known = {MODULES.get(name, name) for name in asked} | {"masthead", "masthead_server"} | sys.stdlib_module_names
    assert imported_in("src") - known == set()


def test_everything_that_the_server_imports_is_asked_for() -> None:
    needs = [*PROJECT["dependencies"], *SERVER["dependencies"], *SERVER["optional-dependencies"]["tls"]]
    # Optional ones: rich draws the demo, uvloop drives a server process where it is installed.
    extras = [*PROJECT["optional-dependencies"]["cli"], *PROJECT["optional-dependencies"]["speed"]]
    known = {MODULES.get(name, name) for name in names([*needs, *extras])} | {"masthead", "masthead_server"}
    assert imported_in("server/src") - known - sys.stdlib_module_names == set()


def test_what_judges_the_code_is_pinned() -> None:
    pinned = {
        canonicalize_name(need.name)
        for need in map(Requirement, PROJECT["optional-dependencies"]["dev"])
        if any(each.operator == "==" for each in need.specifier)
    }
    assert pinned == TOOLS - {"types-pyyaml"}


def test_all_that_users_get_is_audited() -> None:
    found = installed()
    assert names(PROJECT["dependencies"]) <= found.keys()
    assert "cryptography" in found  # a requirement of trustme, which the server needs for TLS
    assert "ruff" not in found
    assert found["msgspec"] == importlib.metadata.version("msgspec")


def listed(**vulns: object) -> str:
    return json.dumps({"dependencies": [{"name": "aiohttp", "version": "3.1", **vulns}], "fixes": []})


@pytest.mark.parametrize(
    ("output", "code", "said"),
    [
        ("", 0, "could not be reached"),
        ("Traceback ...", 0, "could not be reached"),
        ("[]", 0, "could not be reached"),
        (listed(skip_reason="not found"), 0, "nothing was audited"),
        (listed(vulns=[]), 0, "1 of 1 distributions audited, no known vulnerability"),
        (listed(vulns=[{"id": "X-1", "fix_versions": ["3.2"]}]), 1, "aiohttp 3.1: X-1, fixed in 3.2"),
    ],
)
def test_an_audit_fails_for_a_vulnerability_and_nothing_else(output: str, code: int, said: str) -> None:
    found, sentence = verdict(output)
    assert found == code
    assert said in sentence
