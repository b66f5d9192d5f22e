"""``masthead run``: imports a manager and runs it until the process is asked to stop."""

from __future__ import annotations

import argparse
import logging
import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead._arguments import ArgumentParser
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.targets import (
    BrokenTargetError,
    TargetError,
    load_manager,
    parse_target,
    source_folders,
)
from masthead._config.loader import load
from masthead._controller.logs import setup_logging
from masthead._controller.main_loop import StopTimeoutError
from masthead._controller.options import ENVIRONMENT, RunOptions, parse_namespaces
from masthead.errors import ArgumentError, ConfigError, ManagerStateError, MastheadError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._cli.targets import ManagerTarget
    from masthead._controller.manager import Manager
    from masthead._controller.options import RunOverrides

__all__ = ["main"]

_log: Final = logging.getLogger("masthead.run")


def main(arguments: Sequence[str], *, name: str = "masthead run") -> int:
    """Run a manager; return the exit code: 0 after a graceful stop, 1 if the program or the manager fails.

    Args:
        arguments: The arguments after ``run``.
        name: The name of the command in messages.

    Raises:
        CommandError: If an argument or an environment variable is invalid, or a port is taken.
        MastheadError: If there is no cluster, or the manager cannot be started.
    """
    chosen = _parser(name).parse_args(arguments)
    try:
        overrides = _overrides(chosen)
        target = parse_target(chosen.target)
        # Before the import: the parent process never runs the user's code, so that it survives its errors.
        if chosen.reload:
            return _reload(arguments, target, chosen.reload_dir)
        manager = _load(target, overrides)
    except (TargetError, ConfigError, ArgumentError) as error:
        raise CommandError(str(error), code=ExitCode.USAGE) from None
    except BrokenTargetError as error:
        _log.critical("%s", error, exc_info=error.__cause__)
        return ExitCode.FAILED
    return _run(manager, overrides)


def _load(target: ManagerTarget, overrides: RunOverrides) -> Manager:
    # Before the import, so that log records of the program's import are formatted too.
    given = RunOptions.from_environment(os.environ).overridden(**overrides)
    setup_logging(given.log_format, given.log_level or "INFO")
    logging.captureWarnings(capture=True)
    return load_manager(target)


def _run(manager: Manager, overrides: RunOverrides) -> int:
    options = RunOptions.from_environment(os.environ, manager.options).overridden(**overrides)
    config = load(options.kubeconfig or None, context=options.context or None)
    try:
        # It sets up logging again, if its own options have more to configure.
        manager.run(config, **overrides)
    except (ManagerStateError, ConfigError) as error:  # it has nothing to run, or a port is taken
        # Messages of the library have the problem first and the advice after a semicolon.
        line, _, advice = str(error).partition("; ")
        raise CommandError(line, hint=advice, code=ExitCode.USAGE) from None
    except StopTimeoutError as error:
        raise CommandError(str(error), code=ExitCode.TIMEOUT) from None
    except MastheadError:
        raise
    except Exception:  # noqa: BLE001 - logged as everything else
        _log.critical("the manager failed", exc_info=True)
        return ExitCode.FAILED
    return ExitCode.OK


def _reload(arguments: Sequence[str], target: ManagerTarget, folders: Sequence[Path]) -> int:
    from masthead._cli.reload import reload_forever

    # The same arguments in the same order; what follows --reload-dir is a folder.
    rest: list[str] = []
    remaining = iter(arguments)
    for task in remaining:
        if task == "--reload-dir":
            next(remaining)
        elif task != "--reload" and not task.startswith("--reload-dir="):
            rest.append(task)
    # As `load_module` does in the child, so that the folders of the program are found.
    sys.path.insert(0, str(Path.cwd()))
    return reload_forever(rest, [*source_folders(target), *(folder.resolve() for folder in folders)])


def _overrides(chosen: argparse.Namespace) -> RunOverrides:
    """Return the options of the arguments; options without an argument are left out.

    Raises:
        ArgumentError: If an argument is invalid.
    """
    given: dict[str, object] = {
        name: value for name, _ in ENVIRONMENT.values() if (value := getattr(chosen, name, None)) is not None
    }
    if chosen.namespace:
        given["namespaces"] = parse_namespaces(",".join(chosen.namespace))
    # After the names: -A overrides namespaces, as for kubectl.
    if chosen.all_namespaces:
        given["namespaces"] = ()
    if chosen.verbose:
        given["log_level"] = "DEBUG"
    overrides: RunOverrides = given  # type: ignore[assignment]
    # Validated here, so that a bad argument is a usage error before the program is imported.
    RunOptions().overridden(**overrides)
    return overrides


def _parser(name: str) -> ArgumentParser:
    parser = ArgumentParser(
        prog=name,
        description="Run the manager of an operator until SIGTERM or SIGINT.",
        epilog="Options can also be set by environment variables, such as MASTHEAD_METRICS_BIND. Arguments override "
        "variables, and variables override the code.",
        allow_abbrev=False,
    )
    parser.add_argument("target", metavar="MODULE:APP", help="package.module:app, package.module, or app.py")
    _add_development(parser)
    _add_cluster(parser)
    _add_servers(parser)
    _add_replicas(parser)
    return parser


def _add_development(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("logging and development")
    group.add_argument(
        "--log-format",
        choices=["text", "json"],
        help="how log lines look (text on a terminal, otherwise json)",
    )
    group.add_argument("--log-level", metavar="LEVEL", help="DEBUG, INFO, WARNING or ERROR (INFO)")
    group.add_argument("-v", "--verbose", action="store_true", help="the same as --log-level DEBUG")
    group.add_argument("--record", metavar="FILE", help="record all caches and reconciles in this file")
    group.add_argument("--reload", action="store_true", help="start again when a source file changes")
    group.add_argument(
        "--reload-dir",
        action="append",
        default=[],
        type=Path,
        metavar="FOLDER",
        help="a further folder to watch (can be repeated)",
    )


def _add_cluster(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("cluster")
    group.add_argument("--kubeconfig", metavar="FILE", help="the kubeconfig (found as kubectl does)")
    group.add_argument("--context", help="the context of the kubeconfig (its current one)")
    group.add_argument(
        "-n",
        "--namespace",
        action="append",
        metavar="NAME",
        help="a namespace to watch (can be repeated; several are separated by commas)",
    )
    group.add_argument("-A", "--all-namespaces", action="store_true", help="watch all namespaces")


def _add_servers(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("HTTP endpoints", "addresses such as :8080 or 127.0.0.1:8080; 0 for off")
    group.add_argument("--metrics-bind", metavar="ADDRESS", help="the address of /metrics (:8080)")
    group.add_argument("--probe-bind", metavar="ADDRESS", help="the address of /healthz and /readyz (:8081)")
    group.add_argument("--debug-bind", metavar="ADDRESS", help="the address of /debug (0)")
    group.add_argument(
        "--ui",
        action=argparse.BooleanOptionalAction,
        help="whether a page for the browser shows caches and reconciles, at the address of /debug",
    )
    group.add_argument("--webhook-bind", metavar="ADDRESS", help="the address of webhooks, if there are any (:9443)")
    group.add_argument(
        "--webhook-url",
        metavar="URL",
        help="the URL at which the API server reaches this process, for development; registers the webhooks with it",
    )
    group.add_argument(
        "--webhook-cert-dir",
        metavar="FOLDER",
        help="the folder with tls.crt and tls.key of the webhooks (a Secret that the manager writes)",
    )


def _add_replicas(parser: ArgumentParser) -> None:
    group = parser.add_argument_group("replicas")
    flag = argparse.BooleanOptionalAction
    group.add_argument(
        "--leader-elect",
        dest="leader_election",
        action=flag,
        help="whether only the leader's controllers run",
    )
    group.add_argument("--leader-election-id", metavar="NAME", help="the name of the Lease")
    group.add_argument("--leader-election-namespace", metavar="NAME", help="the namespace of the Lease")
    group.add_argument("--sharding", action=flag, help="whether replicas share the objects")
    group.add_argument("--identity", metavar="NAME", help="the name of this replica (host name and a random part)")
    group.add_argument(
        "--graceful-timeout",
        type=float,
        metavar="SECONDS",
        help="the time that reconciles have to finish when the process is asked to stop (25)",
    )
