"""Every example in a docstring works."""

from __future__ import annotations

import asyncio
import doctest
import importlib
import inspect
import os
import shutil
import subprocess
import sys
import types
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tests.repo.examples import (
    SOURCE,
    EnoughError,
    Example,
    awaited,
    blocking,
    blocks,
    fill,
    is_code,
    names_for,
    typed_module,
)

import masthead.server

if TYPE_CHECKING:
    from collections.abc import Iterator

BLOCKS = list(blocks())

INCIDENT = Path(__file__).parents[2] / "examples" / "incident" / "incident.mhr"

SKETCHES = {
    "masthead._sansio.leases:module",
    "masthead._sansio.listwatch:module",
    "masthead._sansio.shard_machine:ShardMachine",
}
"""How a machine without I/O is driven: the caller's part is left out."""
FOR_REAL_CLUSTERS = {
    "masthead._client.copy_verbs:copy_from",
    "masthead._client.copy_verbs:copy_to",
    "masthead._client.log_verbs:merged_logs",
    "masthead._client.proxy_verbs:proxy",
    "masthead._client.proxy_verbs:stream",
    "masthead._sync.copy_verbs:copy_from",
    "masthead._sync.copy_verbs:copy_to",
    "masthead._sync.log_verbs:merged_logs",
    "masthead._sync.proxy_verbs:proxy",
    "masthead._sync.proxy_verbs:stream",
}
"""What needs more than an empty cluster has, such as pods that listen; type checkers still look at it."""
ENDLESS = {
    "masthead._client.log_verbs:logs",
    "masthead._controller.shard_member:ShardMember",
    "masthead._leaderelection.leader_elector:LeaderElector",
    "masthead._sync.leader_elector:LeaderElector",
    "masthead._sync.log_verbs:logs",
}
"""What runs until the process is stopped; type checkers still look at it."""
UNTYPED = {"masthead.testing.plugin:module"}
"""Tests have no annotations here, as most of those that people write."""

SETTINGS = "{apiVersion: v1, kind: ConfigMap, metadata: {name: settings}, data: {color: red}}"

EXAMPLES = [each for each in BLOCKS if is_code(each)]
RUN = [each for each in EXAMPLES if each.name not in SKETCHES | FOR_REAL_CLUSTERS | ENDLESS]
CHECKED = [each for each in EXAMPLES if each.name not in SKETCHES | UNTYPED]


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Iterator[masthead.server.Server]:
    with masthead.server.run() as server:
        fill(server)
        monkeypatch.setenv("KUBECONFIG", str(server.write_kubeconfig(tmp_path / "config")))
        monkeypatch.chdir(tmp_path)
        (tmp_path / "deploy").mkdir()
        (tmp_path / "deploy" / "settings.yaml").write_text(SETTINGS, "utf-8")
        shutil.copy(INCIDENT, tmp_path)
        yield server


def test_examples_are_found() -> None:
    names = {example.name for example in EXAMPLES}

    assert {
        "masthead:module",
        "masthead._cache.informer.informer:SharedInformer",
        "masthead._sync.read_verbs:watch",
    } <= names
    assert names >= SKETCHES | FOR_REAL_CLUSTERS | UNTYPED


@pytest.mark.parametrize("block", [each for each in BLOCKS if not is_code(each)], ids=lambda each: each.name)
def test_what_is_no_python_does_not_look_like_it(block: Example) -> None:
    """Or an example with a mistake in its syntax would pass for a diagram."""
    is_drawn = any(sign in block.code for sign in "─│└├┌")
    words = ("import ", "await ", "client.", "print(", "assert ", "with ")

    assert is_drawn or not any(line.lstrip().startswith(words) for line in block.code.splitlines())


@pytest.mark.parametrize("example", RUN, ids=lambda each: each.name)
def test_an_example_runs(example: Example, server: masthead.server.Server) -> None:
    printed: list[str] = []
    names = names_for(example, server, printed)
    try:
        if example.is_awaited:
            asyncio.run(_run_awaited(example, server, names))
        else:
            with blocking(server) as known:
                _run_tests(exec_in(example, names | known))
    except EnoughError:
        pass

    assert printed or "print(" not in example.code or "lambda" in example.code  # a handler's own thread prints


def exec_in(example: Example, names: dict[str, Any]) -> dict[str, Any]:
    exec(example.compiled(), names)
    return names


async def _run_awaited(example: Example, server: masthead.server.Server, names: dict[str, Any]) -> None:
    async with asyncio.timeout(60), awaited(server) as known:
        names = names | known
        code = example.compiled()
        result = eval(code, names)
        if code.co_flags & inspect.CO_COROUTINE:
            await result


def _run_tests(names: dict[str, Any]) -> None:
    """Call the test functions that an example has defined, as pytest would."""
    for name, test in list(names.items()):
        if name.startswith("test_"):
            test(**{parameter: names[parameter] for parameter in inspect.signature(test).parameters})


def test_examples_pass_the_type_checker(tmp_path: Path) -> None:
    for number, example in enumerate(CHECKED):
        text = f"# {example.name}\n{typed_module(example)}"
        (tmp_path / f"example_{number}.py").write_text(text, encoding="utf-8")

    done = subprocess.run(
        [sys.executable, "-m", "mypy", "--strict", f"--cache-dir={tmp_path / 'cache'}", tmp_path],
        env={**os.environ, "MYPYPATH": f"{SOURCE}:{SOURCE.parent}"},
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr


@pytest.mark.parametrize(
    "module",
    sorted(
        {
            ".".join(path.relative_to(SOURCE).with_suffix("").parts)
            for path in (SOURCE / "masthead").rglob("*.py")
            if ">>> " in path.read_text(encoding="utf-8")
        }
    ),
)
def test_a_session_in_a_docstring_says_what_python_says(module: str) -> None:
    namespace = vars(importlib.import_module(module))
    runner = doctest.DocTestRunner()
    for name, value in [("", importlib.import_module(module)), *namespace.items()]:
        # Not by what they say of their module, which is where they are exported.
        if name == "" or (getattr(value, "__doc__", None) and isinstance(value, type | types.FunctionType)):
            is_module = name == ""
            for each in doctest.DocTestFinder(recurse=not is_module).find(
                value, name or module, module=False, globs=dict(namespace)
            ):
                runner.run(each)

    assert runner.tries
    assert not runner.failures
