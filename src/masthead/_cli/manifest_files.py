"""Manifests on the command line: ``-f FILE``, ``-f DIR``, ``-f -``; and what is not supported, in one clear line."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, TypeVar

import click

from masthead._cli.failures import CommandError, ExitCode

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["dry_run_option", "file_options", "is_dry_run", "read_sources"]

F = TypeVar("F", bound="Callable[..., Any]")


def file_options(function: F) -> F:
    """Add ``-f`` and ``-k`` to a command; its function gets ``files`` and ``kustomize``."""
    function = click.option(
        "-k", "--kustomize", metavar="DIR", hidden=True, help="not supported; see the error"
    )(function)
    return click.option(
        "-f",
        "--filename",
        "files",
        multiple=True,
        metavar="FILE",
        type=click.Path(),
        help="a manifest, a folder of them, or - for the standard input (can be repeated)",
    )(function)


def dry_run_option(function: F) -> F:
    """Add ``--dry-run`` to a command; its function gets ``dry_run``."""
    return click.option(
        "--dry-run",
        is_flag=False,
        flag_value="server",
        default="none",
        type=click.Choice(["server", "none", "client"]),
        help="server (if alone): the server checks everything and stores nothing",
    )(function)


def is_dry_run(value: str) -> bool:
    """Whether ``--dry-run`` asks for one.

    Raises:
        CommandError: If it is to be done without the server.
    """
    if value == "client":
        raise CommandError(
            "--dry-run=client is not supported",
            hint="--dry-run=server has the server check everything, and stores nothing",
            code=ExitCode.USAGE,
        )
    return value == "server"


def read_sources(files: Sequence[str], kustomize: str | None) -> list[Path | str]:
    """Return the manifests that options name: paths, and the text of the standard input.

    Raises:
        CommandError: If there is none, or one that is not supported.
    """
    if kustomize is not None:
        raise CommandError(
            "-k is not supported",
            hint=f"pipe what kustomize prints: kubectl kustomize {kustomize} | masthead apply -f -",
            code=ExitCode.USAGE,
        )
    return [_source(each) for each in files]


def _source(name: str) -> Path | str:
    if name == "-":
        return sys.stdin.read()
    if name.startswith(("http://", "https://")):
        raise CommandError(
            f"{name}: addresses are not supported",
            hint=f"curl -sSL {name} | masthead apply -f -",
            code=ExitCode.USAGE,
        )
    path = Path(name)
    if not path.exists():
        raise CommandError(f"{name} does not exist", code=ExitCode.USAGE)
    return path
