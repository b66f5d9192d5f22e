"""``masthead stubs``: write or remove the stub overlay."""

from __future__ import annotations

import sys
import sysconfig
from pathlib import Path
from typing import TYPE_CHECKING

from masthead._arguments import ArgumentParser
from masthead._codegen import sources, stubs
from masthead._codegen.command import add_source_options, server_config
from masthead._errors.base import counted
from masthead.errors import GenerateError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from masthead._codegen.spec import Spec

__all__ = ["run"]

_DESCRIPTION = (
    "Write stubs of masthead.api with the descriptions of your cluster, which editors show. --openapi takes a file, "
    "too, of version 2 or 3. Without a source, the cluster of the kubeconfig is asked."
)


def _parser(name: str) -> ArgumentParser:
    made = ArgumentParser(prog=name, description=_DESCRIPTION)
    add_source_options(made)
    made.add_argument(
        "--out",
        type=Path,
        metavar="DIR",
        help=f"the folder for {stubs.FOLDER} (default: where Python's packages are installed)",
    )
    made.add_argument("--remove", action="store_true", help="remove the stubs")
    made.add_argument("--check", action="store_true", help="write nothing, and fail if the stubs would change")
    return made


def run(arguments: Sequence[str], *, name: str) -> int:
    """Run the command; returns 0, or 1 if it only checks, and the stubs would change.

    Args:
        arguments: The command's arguments.
        name: The name of the command, for its messages.

    Raises:
        MastheadError: If the API cannot be read, or the folder has files of others.
        OSError: If a file cannot be written.
    """
    options = _options(arguments, name)
    folder = (options.out or Path(sysconfig.get_path("purelib"))) / stubs.FOLDER
    if options.remove:
        print(f"removed {folder}" if stubs.remove_overlay(folder) else f"there is no {folder}", file=sys.stderr)
        return 0
    files = stubs.stub_files(_spec(options))
    # Compared as a whole: a stub too many is a difference as well.
    is_current = stubs.is_current(files, folder)
    if options.check:
        print(f"{folder} {'is current' if is_current else 'would change'}", file=sys.stderr)
        return 0 if is_current else 1
    try:
        stubs.write_overlay(files, folder)
    # The packages of a system's Python belong to root.
    except PermissionError as error:
        raise GenerateError(f"{error.filename} cannot be written; name a folder of yours with --out") from error
    print(f"wrote {counted(len(files) - 1, 'stub')} to {folder}", file=sys.stderr)
    return 0


def _options(arguments: Sequence[str], name: str) -> argparse.Namespace:
    made = _parser(name)
    options = made.parse_args(arguments)
    if options.context and (options.server or options.openapi):
        made.error("--context selects a context of a kubeconfig, and excludes other sources")
    if options.token_file and not options.server:
        made.error("--token-file requires --server; a kubeconfig contains credentials")
    if options.remove and options.check:
        made.error("--remove and --check exclude each other")
    return options


def _spec(options: argparse.Namespace) -> Spec:
    if options.openapi:
        return sources.schemas_in(options.openapi)
    return sources.from_server(server_config(options))
