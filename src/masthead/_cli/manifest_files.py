"""Manifests on the command line: ``-f FILE``, ``-f DIR``, ``-f -``; and one clear line for unsupported forms."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeVar

import click

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.framework import OptionWithDefault

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = [
    "StandardInput",
    "dry_run_option",
    "file_options",
    "is_dry_run",
    "local_dry_run_option",
    "read_sources",
    "read_standard_input",
    "recursive_option",
]

F = TypeVar("F", bound="Callable[..., Any]")


class StandardInput:
    """What the standard input had: it can be read again, and messages name it.

    Args:
        text: The text.
    """

    # The library names open files in messages by this attribute.
    name: Final = "standard input"

    def __init__(self, text: str) -> None:
        self._text = text

    def read(self) -> str:
        """All of it."""
        return self._text


def file_options(function: F) -> F:
    """Add ``-f`` and ``-k`` to a command; its function gets ``files`` and ``kustomize``."""
    function = click.option("-k", "--kustomize", metavar="DIR", hidden=True, help="not supported; see the error")(
        function
    )
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
    """Add ``--dry-run`` to a command that needs the server for it; its function gets ``dry_run``."""
    return click.option(
        "--dry-run",
        cls=OptionWithDefault,
        alone="server",
        default="none",
        metavar="[=server|none]",
        type=_ServerDryRun(["server", "none"]),
        help="server (if alone): the server checks everything and stores nothing",
    )(function)


def local_dry_run_option(function: F) -> F:
    """Add ``--dry-run`` to a command that can do without the server; its function gets ``dry_run``."""
    return click.option(
        "--dry-run",
        cls=OptionWithDefault,
        alone="server",
        default="none",
        metavar="[=server|client|none]",
        type=click.Choice(["server", "client", "none"]),
        help="server (if alone): the server checks everything and stores nothing; client: nothing is sent",
    )(function)


class _ServerDryRun(click.Choice[str]):
    """What ``--dry-run`` takes; that of kubectl without the server is refused with advice."""

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str:  # noqa: ANN401 - as click declares it
        # The server merges, so that nothing can be tried out without it.
        if value == "client":
            raise CommandError(
                "--dry-run=client is not supported",
                hint="--dry-run=server has the server check everything, and stores nothing",
                code=ExitCode.USAGE,
            )
        return super().convert(value, param, ctx)


def is_dry_run(value: str) -> bool:
    """Whether ``--dry-run`` asks for one on the server."""
    return value == "server"


def recursive_option(function: F) -> F:
    """Add ``-R`` to a command; its function gets ``recursive``."""
    return click.option("-R", "--recursive", is_flag=True, help="with -f: also the folders within a folder")(function)


def read_sources(files: Sequence[str], kustomize: str | None, *, recursive: bool = False) -> list[Path | StandardInput]:
    """Return the manifests that options name: paths, and the standard input.

    Args:
        files: The values of ``-f``.
        kustomize: The value of ``-k``.
        recursive: Whether folders within folders are read, too.

    Raises:
        CommandError: If there is none, or an unsupported one.
    """
    if kustomize is not None:
        raise CommandError(
            "-k is not supported",
            hint=f"pipe what kustomize prints: kubectl kustomize {kustomize} | masthead apply -f -",
            code=ExitCode.USAGE,
        )
    return [source for file in files for source in _sources(file, recursive=recursive)]


def _sources(name: str, *, recursive: bool) -> list[Path] | list[StandardInput]:
    if name == "-":
        return [read_standard_input()]
    # Nothing is downloaded: manifests from the network should be read before they are applied.
    if name.startswith(("http://", "https://")):
        raise CommandError(
            f"{name}: addresses are not supported",
            hint=f"curl -sSL {name} | masthead apply -f -",
            code=ExitCode.USAGE,
        )
    path = Path(name)
    # Before anything is sent: a typo in the last of several files must not leave half of them applied.
    if not path.exists():
        raise CommandError(f"{name} does not exist", code=ExitCode.USAGE)
    return _manifests_of(path, recursive=recursive) if path.is_dir() else [path]


def _manifests_of(folder: Path, *, recursive: bool) -> list[Path]:
    """What to read of a folder: the folder itself, or the files at any depth.

    Raises:
        CommandError: If there are none.
    """
    from masthead._client.documents import MANIFEST_SUFFIXES

    inside = folder.rglob("*") if recursive else folder.iterdir()
    found = sorted(path for path in inside if path.suffix in MANIFEST_SUFFIXES and path.is_file())
    if not found:
        ends = ", ".join(MANIFEST_SUFFIXES)
        raise CommandError(f"{folder} holds no manifests: no file ends in {ends}", code=ExitCode.USAGE)
    # The library reads a folder without the folders within it.
    return found if recursive else [folder]


def read_standard_input() -> StandardInput:
    """Read the standard input.

    Raises:
        CommandError: If it is empty, or is not text.
    """
    try:
        text = sys.stdin.read()
    except UnicodeDecodeError:
        raise CommandError("the standard input is not text in UTF-8", code=ExitCode.USAGE) from None
    # An upstream command of the pipe has probably failed.
    if not text.strip():
        raise CommandError("the standard input is empty", code=ExitCode.USAGE)
    return StandardInput(text)
