"""``masthead explore``: runs an operator under many schedules of faults, and reports what goes wrong."""

from __future__ import annotations

import json
import logging
import shlex
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from masthead._arguments import ArgumentParser
from masthead._cli.explore_progress import ProgressLine
from masthead._cli.explore_workloads import load_workload
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.targets import BrokenTargetError, TargetError, load_attribute, parse_target
from masthead._cli.terminal import say, write
from masthead._client.documents import load_manifests
from masthead._controller.manager import Manager
from masthead.errors import ArgumentError
from masthead.testing import ExplorationError, explore

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from masthead.testing import Report

__all__ = ["main"]

_NOT_EXPLORED: Final = ExitCode.NO_CONNECTION
"""The operator does not start, or goes wrong without any fault."""


def main(arguments: Sequence[str], *, name: str = "masthead explore") -> int:
    """Explore an operator; return the exit code: 0 without a finding, 1 with one, 130 after Ctrl-C.

    Args:
        arguments: The arguments after ``explore``.
        name: The name of the command in messages.

    Raises:
        CommandError: If an argument is invalid, or the operator cannot be explored.
        OSError: If a file cannot be read or written.
    """
    chosen = _parser(name).parse_args(arguments)
    # Errors of reconciles are expected; an operator that configures logging still gets its records.
    logging.getLogger().addHandler(logging.NullHandler())
    try:
        operator = _load_operator(chosen.target)
        workload = load_workload(chosen, operator)
        with ProgressLine() as line:
            report = _explore(chosen, operator, workload, line)
    except (TargetError, ArgumentError) as error:
        raise CommandError(" ".join(str(error).split()), code=ExitCode.USAGE) from None
    except BrokenTargetError as error:
        raise CommandError(str(error), code=_NOT_EXPLORED) from error.__cause__
    report = report.with_call(replace(report.call, command=_command(name, chosen)))
    _write_files(report, chosen)
    write(f"{report}\n")
    if line.is_interrupted:
        return ExitCode.INTERRUPTED
    if report.findings and not report.schedules:
        return _NOT_EXPLORED
    return ExitCode.FAILED if report.findings else ExitCode.OK


def _explore(chosen: argparse.Namespace, operator: Any, workload: Any, line: ProgressLine) -> Report:  # noqa: ANN401
    # Whatever the user's modules have: the explorer checks it.
    options: dict[str, Any] = {
        "ignore": chosen.ignore,
        "oracles": {**dict.fromkeys(chosen.oracle, True), **dict.fromkeys(chosen.no_oracle, False)},
        "server_options": dict(map(_parse_option, chosen.server_option)),
        "objects": [obj for file in chosen.objects for obj in load_manifests(file)],
    }
    if chosen.crd:
        options["crds"] = [obj for file in chosen.crd for obj in load_manifests(file)]
    try:
        if chosen.replay:
            return explore.replay(chosen.replay, operator, workload, **options)
        return explore(
            operator,
            workload,
            budget=chosen.budget,
            seed=chosen.seed,
            processes=chosen.processes,
            resume=chosen.resume,
            on_progress=line.update,
            **options,
        )
    except ExplorationError as error:
        problem, _, advice = str(error).partition("; ")
        raise CommandError(problem, hint=advice, code=_NOT_EXPLORED) from error


def _command(name: str, chosen: argparse.Namespace) -> str:
    """Return the command with the arguments that a replay needs."""
    words = [*name.split(), chosen.target]
    if chosen.generate is None:
        words += ["--workload", chosen.workload]
    else:
        words += [
            "--generate",
            *filter(None, [chosen.generate]),
            "--steps",
            str(chosen.steps),
            "--seed",
            str(chosen.seed),
        ]
    for option in ("example", "objects", "crd", "server_option", "ignore", "oracle", "no_oracle"):
        for value in getattr(chosen, option):
            words += [f"--{option.replace('_', '-')}", str(value)]
    return shlex.join(words)


def _load_operator(text: str) -> object:
    """Return the factory of an operator: a function, or the module and name of a manager."""
    target = parse_target(text)
    found = load_attribute(target)
    if not isinstance(found, Manager):
        return found
    # Executed again for each replica, under the name of the import.
    for module in (target.module, f"masthead_run_{target.module}"):
        variables: dict[str, object] = vars(sys.modules[module]) if module in sys.modules else {}
        for name, value in variables.items():
            if value is found:
                return f"{module}:{name}"
    raise TargetError(f"{text} is not a variable of its module; name a function that makes the manager")


def _parse_option(text: str) -> tuple[str, object]:
    """Read ``NAME=VALUE``; the value is JSON or a text.

    Raises:
        ArgumentError: If there is no value.
    """
    name, equals, value = text.partition("=")
    if not equals or not name.isidentifier():
        raise ArgumentError(f"{text!r} is not an option of the server; write NAME=VALUE", value=text)
    try:
        return name, json.loads(value)
    except ValueError:
        return name, value


def _write_files(report: Report, chosen: argparse.Namespace) -> None:
    if chosen.html:
        chosen.html.write_text(report.to_html(), encoding="utf-8")
    if chosen.json:
        chosen.json.write_text(report.to_json(), encoding="utf-8")
    if chosen.regression_test and report.findings:
        chosen.regression_test.write_text(report.to_test(), encoding="utf-8")
        say(f"wrote {chosen.regression_test}")


def _parser(name: str) -> ArgumentParser:
    parser = ArgumentParser(
        prog=name,
        description="Run an operator under many schedules of crashes, stale caches, lost events and failing requests, "
        "in virtual time and without a cluster, and report the schedules under which it goes wrong.",
        epilog="Exit codes: 0 no finding, 1 findings, 2 a wrong argument, 3 the operator cannot be explored (it does "
        "not start, or fails without any fault), 130 after Ctrl-C, with the findings so far.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "target",
        metavar="MODULE:APP",
        help="the manager, or a function that makes it: package.module:app or app.py:app",
    )
    parser.add_argument("--replay", metavar="SCHEDULE", default="", help="run this schedule only, such as v1:eJz…")
    _add_workload(parser)
    _add_limits(parser)
    _add_oracles(parser)
    _add_output(parser)
    return parser


def _add_workload(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("what users do, and where")
    source = group.add_mutually_exclusive_group(required=True)
    source.add_argument(
        "--workload", metavar="MODULE:NAME", help="an async function of the environment, or a list of steps"
    )
    source.add_argument(
        "--generate",
        nargs="?",
        const="",
        metavar="KIND",
        help="generate a workload from the schema of a custom resource of the operator",
    )
    group.add_argument(
        "--steps", type=int, default=20, metavar="NUMBER", help="the number of steps of a generated workload (20)"
    )
    group.add_argument(
        "--example",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="manifests of typical objects, for --generate (can be repeated)",
    )
    group.add_argument(
        "--objects",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="manifests of objects that exist before the operator starts (can be repeated)",
    )
    group.add_argument(
        "--crd",
        action="append",
        default=[],
        type=Path,
        metavar="FILE",
        help="definitions to install, instead of those of the operator's classes (can be repeated)",
    )
    group.add_argument(
        "--server-option",
        action="append",
        default=[],
        metavar="NAME=VALUE",
        help="an option of masthead.server.run, such as watch_list=false (can be repeated)",
    )


def _add_limits(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("how long, and how")
    group.add_argument(
        "--budget", default="60s", metavar="BUDGET", help="a duration, such as 5m, or a number of schedules (60s)"
    )
    group.add_argument("--seed", type=int, default=0, metavar="NUMBER", help="the source of all randomness (0)")
    group.add_argument("--processes", type=int, metavar="NUMBER", help="processes at the same time (one for each core)")
    group.add_argument(
        "--resume", type=Path, metavar="FILE", help="continue the exploration of this file, and save progress in it"
    )


def _add_oracles(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("what counts")
    group.add_argument(
        "--ignore",
        action="append",
        default=[],
        metavar="PATTERN",
        help="objects or fields that do not count, such as 'configmaps/*' or 'pods/*/status' (can be repeated)",
    )
    group.add_argument(
        "--oracle", action="append", default=[], metavar="NAME", help="switch this oracle on (can be repeated)"
    )
    group.add_argument(
        "--no-oracle", action="append", default=[], metavar="NAME", help="switch this oracle off (can be repeated)"
    )


def _add_output(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("output")
    group.add_argument("--html", type=Path, metavar="FILE", help="write the report as an HTML page")
    group.add_argument("--json", type=Path, metavar="FILE", help="write the report as JSON")
    group.add_argument(
        "--regression-test", type=Path, metavar="FILE", help="write a pytest module with a test for each finding"
    )
