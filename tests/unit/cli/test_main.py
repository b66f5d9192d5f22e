"""The command hands over to the one that is named."""

from __future__ import annotations

import subprocess
import sys
from importlib.metadata import entry_points, version
from pathlib import Path

import click
import pytest

from masthead._cli.app import app
from masthead._cli.catalog import CATALOG, usage
from masthead._cli.failures import ExitCode
from masthead._cli.main import main


@pytest.mark.parametrize("arguments", [[], ["--help"], ["-h"]])
def test_without_a_command_it_prints_usage(arguments: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    assert main(arguments) == 0
    assert "serve" in capsys.readouterr().out


def test_an_unknown_command_is_named(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["sreve"]) == 2
    assert "there is no command 'sreve'" in capsys.readouterr().err
    assert main(["--halp"]) == 2
    assert "there is no option '--halp'" in capsys.readouterr().err


def test_help_and_version_are_words_too(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["help"]) == main(["version", "--client"]) == main(["help", "completion"]) == 0
    printed = capsys.readouterr().out
    assert printed.startswith("usage: masthead [options] COMMAND")
    assert f"Client Version: v{version('masthead-k8s')}\n" in printed
    assert "usage: masthead completion" in printed


def test_an_option_of_a_program_that_is_mistyped_has_a_nearest(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit):
        main(["serve", "--dtaa", "x"])

    assert capsys.readouterr().err.endswith("hint: did you mean --data?\n")


@pytest.mark.parametrize("option", ["--sort-by", "--nothing"])
def test_a_wrong_option_names_its_command(option: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["get", "pods", option]) == 2
    line, hint = capsys.readouterr().err.splitlines()
    assert line.startswith("masthead get: ")
    assert hint == "hint: masthead get --help lists its options"


def test_serve_has_the_servers_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["serve", "--help"])

    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert printed.startswith("usage: masthead serve [-h]")
    assert "--kubeconfig-out" in printed


def test_generate_has_the_generators_options(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["generate", "--help"])

    assert ended.value.code == 0
    printed = capsys.readouterr().out
    assert printed.startswith("usage: masthead generate [-h]")
    assert "--crd" in printed


def test_generate_names_itself_in_errors(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "--crd", str(tmp_path / "missing.yaml"), "--out", str(tmp_path / "made")]) == 2
    assert capsys.readouterr().err.startswith("masthead generate: ")


def test_it_prints_its_version(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["--version"]) == 0
    assert capsys.readouterr().out == f"masthead {version('masthead-k8s')}\n"


def test_it_runs_as_a_module_too() -> None:
    ran = subprocess.run([sys.executable, "-m", "masthead", "--version"], capture_output=True, check=True, text=True)
    assert ran.stdout == f"masthead {version('masthead-k8s')}\n"


def test_the_package_installs_it() -> None:
    (found,) = entry_points(group="console_scripts", name="masthead")

    assert found.load() is main


def test_every_command_and_exit_code_is_documented() -> None:
    page = (Path(__file__).parents[3] / "docs" / "cli.md").read_text("utf-8")

    assert [name for name in CATALOG if f"`{name}`" not in page] == []
    assert [code for code in ExitCode if f"\n| {code:d} | " not in page] == []


def test_every_command_of_the_catalog_is_there() -> None:
    context = click.Context(app)
    for name in app.list_commands(context):
        assert app.get_command(context, name).name == name
        assert name in usage()


@pytest.mark.parametrize("command", [name for name, entry in CATALOG.items() if entry.program])
def test_wrong_arguments_of_programs_are_said_as_those_of_commands(
    command: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main([command, "--no-such-option", "x"])

    assert ended.value.code == 2
    line, hint = capsys.readouterr().err.splitlines()
    assert line.startswith(f"masthead {command}: ")
    assert hint == f"hint: masthead {command} --help lists its options"


@pytest.mark.parametrize("option", [["--server", "http://127.0.0.1:9"], ["--token", "t"], ["--as", "me"], ["-A"]])
def test_an_option_before_a_program_that_it_does_not_have_is_refused(
    option: list[str], capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit):
        main([*option, "crds", "kinds", "--install"])

    assert "unrecognized arguments: --" in capsys.readouterr().err


@pytest.mark.parametrize("seconds", ["x", "nan", "inf", "-1", "0"])
def test_a_demo_lasts_a_number_of_seconds(seconds: str, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["demo", f"--seconds={seconds}"])

    assert ended.value.code == 2
    assert f"'{seconds}' is not a number of seconds" in capsys.readouterr().err
