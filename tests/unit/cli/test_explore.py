"""``masthead explore`` finds schedules under which an operator goes wrong."""

from __future__ import annotations

import json
import sys
from typing import TYPE_CHECKING

import pytest

from masthead._cli.main import main

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

pytestmark = pytest.mark.slow

OPERATOR = """
import masthead
from masthead.api.core.v1 import ConfigMap, Secret

app = masthead.Manager("accounts")

async def ensure(ctx, name):
    if await ctx.get(Secret, name) is None:
        await ctx.client.core_v1.secrets("default").create(Secret.new(name))

@app.controller(ConfigMap, name="accounts", reads=[Secret], label_selector="account=yes")
async def reconcile(ctx, account):
    BODY

def make_broken():
    raise ValueError("no licence")

async def workload(env):
    account = ConfigMap.new("shop", labels={"account": "yes"})
    await env.client.core_v1.config_maps("default").create(account)
    await env.wait_for_idle()

async def failing_workload(env):
    raise KeyError("shop")
"""
GENERATED = """
import masthead
from masthead.api.core.v1 import ConfigMap
from masthead.meta import Struct

class RegisterSpec(Struct):
    size: int = 1

class Register(masthead.CustomResource, group="example.com", version="v1"):
    spec: RegisterSpec

app = masthead.Manager("registers")

@app.controller(Register, owns=[ConfigMap])
async def reconcile(ctx, register):
    await ctx.apply(ConfigMap.new(register.metadata.name, data={"size": str(register.spec.size)}))
"""
BUGGY = """if await ctx.get(Secret, "one") is None:
        await ensure(ctx, "one")
        await ensure(ctx, "two")"""
FIXED = """await ensure(ctx, "one")
    await ensure(ctx, "two")"""


@pytest.fixture
def operators(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    (tmp_path / "buggy_accounts.py").write_text(OPERATOR.replace("BODY", BUGGY), "utf-8")
    (tmp_path / "registers.py").write_text(GENERATED, "utf-8")
    (tmp_path / "fixed_accounts.py").write_text(OPERATOR.replace("BODY", FIXED), "utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", [*sys.path])
    yield tmp_path
    for name in ("buggy_accounts", "fixed_accounts", "registers"):
        sys.modules.pop(name, None)


def explore(module: str, *arguments: str, operator: str = "app") -> int:
    given = [f"{module}:{operator}", "--workload", f"{module}:workload", "--processes", "1", *arguments]
    return main(["explore", *given])


def test_a_bug_is_found_and_replayed(operators: Path, capsys: pytest.CaptureFixture[str]) -> None:
    files = ["--html", "report.html", "--json", "report.json", "--regression-test", "test_accounts.py"]
    assert explore("buggy_accounts", "--budget", "8", *files) == 1

    output = capsys.readouterr().out
    assert output.startswith("1 finding in ")
    assert "secrets default/two does not exist at the end" in output
    [finding] = json.loads((operators / "report.json").read_text("utf-8"))["findings"]
    schedule = finding["schedule"]
    assert f"    masthead explore buggy_accounts:app --workload buggy_accounts:workload --replay {schedule}\n" in output
    assert "<!doctype html>" in (operators / "report.html").read_text("utf-8")
    test = (operators / "test_accounts.py").read_text("utf-8")
    assert "from buggy_accounts import workload\n" in test
    assert f'explore.replay(\n        "{schedule}",\n        "buggy_accounts:app",\n' in test

    assert explore("buggy_accounts", "--replay", schedule) == 1
    assert "secrets default/two does not exist at the end" in capsys.readouterr().out
    assert explore("fixed_accounts", "--replay", schedule) == 0


def test_no_finding_is_no_failure(operators: Path, capsys: pytest.CaptureFixture[str]) -> None:
    arguments = ["--budget", "8", "--regression-test", "test_accounts.py", "--resume", "progress"]
    assert explore("fixed_accounts", *arguments) == 0
    assert capsys.readouterr().out.startswith("no finding in ")
    assert not (operators / "test_accounts.py").exists()
    assert (operators / "progress").exists()


def test_a_file_is_explored_and_loaded_once(operators: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = operators / "fixed_accounts.py"
    assert main(["explore", f"{file}:app", "--workload", f"{file}:workload", "--budget", "2", "--processes", "0"]) == 0
    assert "masthead_run_fixed_accounts" not in sys.modules
    assert capsys.readouterr().err == ""


@pytest.mark.usefixtures("operators")
@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["nothing:app", "--workload", "buggy_accounts:workload"], "there is no module 'nothing'"),
        (["buggy_accounts:app", "--workload", "buggy_accounts:nothing"], "has no attribute 'nothing'"),
        (["buggy_accounts:app", "--workload", "buggy_accounts"], "names no workload"),
        (["buggy_accounts:app", "--workload", "buggy_accounts:app"], "is not a workload"),
        (["buggy_accounts:app", "--generate"], "there is no custom resource of buggy_accounts:app"),
        (["registers:app", "--generate", "Shop"], "no custom resource 'Shop' of registers:app; it has Register"),
        (["buggy_accounts:app"], "one of the arguments --workload --generate is required"),
        (["buggy_accounts:app", "--workload", "buggy_accounts:workload", "--budget", "soon"], "'soon'"),
        (["buggy_accounts:app", "--workload", "buggy_accounts:workload", "--no-oracle", "luck"], "'luck'"),
        (["buggy_accounts:app", "--workload", "buggy_accounts:workload", "--server-option", "x"], "NAME=VALUE"),
        (["buggy_accounts:app", "--workload", "buggy_accounts:workload", "--replay", "v2:x"], "is not a schedule"),
    ],
    ids=[
        "module",
        "name",
        "no name",
        "kind",
        "no resource",
        "other resource",
        "none",
        "budget",
        "oracle",
        "server option",
        "schedule",
    ],
)
def test_wrong_arguments(arguments: list[str], message: str, capsys: pytest.CaptureFixture[str]) -> None:
    try:
        code = main(["explore", *arguments])
    except SystemExit as error:
        code = int(str(error.code))
    assert code == 2
    assert message in capsys.readouterr().err


@pytest.mark.usefixtures("operators")
@pytest.mark.parametrize(
    ("operator", "workload", "message"),
    [("make_broken", "workload", "no licence"), ("app", "failing_workload", "shop")],
)
def test_what_cannot_be_explored_has_a_code(
    operator: str, workload: str, message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    arguments = [f"buggy_accounts:{operator}", "--workload", f"buggy_accounts:{workload}", "--budget", "2"]
    assert main(["explore", *arguments]) == 3
    assert message in "".join(capsys.readouterr())


def test_a_workload_is_generated(operators: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (operators / "example.yaml").write_text(
        "apiVersion: example.com/v1\nkind: Register\nmetadata: {name: front}\nspec: {size: 3}\n", "utf-8"
    )
    arguments = ["--generate", "--steps", "4", "--example", "example.yaml", "--budget", "3", "--processes", "1"]
    assert main(["explore", "registers.py", *arguments]) == 0
    assert capsys.readouterr().out.startswith("no finding in 3 schedules")
