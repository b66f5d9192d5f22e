"""``masthead COMMAND``: dispatches to the subcommands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Final

from masthead._version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["main"]

_USAGE: Final = """usage: masthead COMMAND [options]

commands:
  crds        print or install the CRDs of a module's custom resources; its options: masthead crds --help
  generate    generate types for a cluster's API or for CRDs; its options: masthead generate --help
  manifests   write the permissions and the Deployment of an operator; its options: masthead manifests --help
  new         write a small operator to begin with; its options: masthead new --help
  run         run the manager of an operator; its options: masthead run --help
  serve       run an API server without a cluster; its options: masthead serve --help

options:
  -h, --help  show this help
  --version   show the version
"""
_BAD_ARGUMENTS: Final = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code.

    Args:
        arguments: The arguments after ``masthead``; those of the process by default.
    """
    name, *rest = [*(sys.argv[1:] if arguments is None else arguments), ""]
    if name in {"", "-h", "--help"}:
        sys.stdout.write(_USAGE)
        return 0
    if name == "--version":
        sys.stdout.write(f"masthead {__version__}\n")
        return 0
    command = _COMMANDS.get(name)
    if command is None:
        what = "option" if name.startswith("-") else "command"
        sys.stderr.write(f"masthead: there is no {what} {name!r}\n\n{_USAGE}")
        return _BAD_ARGUMENTS
    return command(rest[:-1])


def _serve(arguments: Sequence[str]) -> int:
    from masthead._server.command import main as serve

    return serve(arguments, name="masthead serve")


def _generate(arguments: Sequence[str]) -> int:
    from masthead._codegen.command import main as generate

    return generate(arguments, name="masthead generate")


def _manifests(arguments: Sequence[str]) -> int:
    from masthead._cli.manifests import main as manifests

    return manifests(arguments)


def _new(arguments: Sequence[str]) -> int:
    from masthead._cli.new import main as new

    return new(arguments)


def _run(arguments: Sequence[str]) -> int:
    from masthead._cli.run import main as run

    return run(arguments)


def _crds(arguments: Sequence[str]) -> int:
    from masthead._cli.crds import main as crds

    return crds(arguments)


_COMMANDS: Final[dict[str, Callable[[Sequence[str]], int]]] = {
    "crds": _crds,
    "generate": _generate,
    "manifests": _manifests,
    "new": _new,
    "run": _run,
    "serve": _serve,
}
