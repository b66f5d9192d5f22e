"""``masthead COMMAND``: the entry point.

Commands that need no cluster (``serve``, ``run``, ``new`` ...) are plain programs, and are called without click. All
others belong to the framework in `masthead._cli.app`, which needs the extra ``cli``.
"""

from __future__ import annotations

import contextlib
import gc
import os
import sys
from importlib import import_module
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from masthead._cli.catalog import CATALOG, EXTRA, explain_unknown, usage
from masthead._version import __version__

if TYPE_CHECKING:
    from collections.abc import Callable, Generator, Sequence

__all__ = ["COMPLETION", "main", "run_program"]

_FAILED: Final = 1
_BAD_ARGUMENTS: Final = 2
_INTERRUPTED: Final = 130
_BROKEN_PIPE: Final = 141
_OBJECTS_PER_COLLECTION: Final = 50_000
_USUAL_COLLECTIONS: Final = gc.get_threshold()
COMPLETION: Final = "_MASTHEAD_COMPLETE"
"""The variable by which a shell asks for completions."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run a command; return the exit code.

    Args:
        arguments: The arguments after ``masthead``; those of the process by default.
    """
    _open_standard_streams()
    try:
        if arguments is None:
            with _few_collections():
                code = _dispatch(sys.argv[1:])
        else:
            code = _dispatch(arguments)
        # Here, so that a closed pipe raises in this block, and not at exit.
        sys.stdout.flush()
    except KeyboardInterrupt:
        from masthead._cli.terminal import after_interrupt

        after_interrupt()
        return _INTERRUPTED
    except BrokenPipeError:
        from masthead._cli.terminal import discard_output

        discard_output()
        return _BROKEN_PIPE
    return code


@contextlib.contextmanager
def _few_collections() -> Generator[None]:
    """Collect garbage less often, and not at exit, because the process ends: a fifth of the time of a short command."""
    gc.set_threshold(_OBJECTS_PER_COLLECTION)
    try:
        yield
    finally:
        gc.freeze()


def _open_standard_streams() -> None:
    """Open those of the three that the caller has closed (``>&-``): otherwise a connection would get their number."""
    # In this order: each gets the lowest number that is free, which is its own.
    for name, mode in (("stdin", "r"), ("stdout", "w"), ("stderr", "w")):
        if getattr(sys, name) is None:
            setattr(sys, name, Path(os.devnull).open(mode, encoding="utf-8"))  # noqa: SIM115 - until the end


def _dispatch(given: Sequence[str]) -> int:
    first = given[0] if given else ""
    # A completion has its words in the environment, and no arguments.
    if _is_completing():
        return _run_framework(given)
    if first == "help" and given[1:2] and given[1] in CATALOG:
        return _dispatch([given[1], "--help"])
    if first in {"", "-h", "--help", "help"}:
        sys.stdout.write(usage())
        return 0
    if first == "--version":
        sys.stdout.write(f"masthead {__version__}\n")
        return 0
    entry = CATALOG.get(first)
    # Programs need neither click nor rich, which are extras.
    if entry is not None and entry.is_program(given[1:]):
        return run_program(entry.program, given[1:], first)
    if entry is None and not first.startswith("-"):
        return _run_plugin(given)
    return _run_framework(given)


def run_program(module: str, arguments: Sequence[str], command: str) -> int:
    """Run a command that is a plain program; its errors are reported like those of all other commands.

    Args:
        module: Its module.
        arguments: The arguments after the command's name.
        command: The command's name.

    Raises:
        KeyboardInterrupt: If the process is interrupted.
        BrokenPipeError: If the reader of the output has closed it.
    """
    from masthead._cli.failures import CommandError, explain
    from masthead._cli.terminal import report
    from masthead.errors import MastheadError

    name = f"masthead {command}"
    # Servers and operators run for days, and want the usual collections.
    gc.set_threshold(*_USUAL_COLLECTIONS)
    try:
        program = cast("Callable[..., int]", import_module(module).main)
        return program(arguments, name=name)
    except BrokenPipeError:  # not an error of the command
        raise
    # The server is a separate distribution; every other missing module is a bug or a broken installation.
    except ModuleNotFoundError as error:
        if error.name != "masthead_server":
            raise
        sys.stderr.write(f"{name}: {error}\n")
        return _FAILED
    except (CommandError, MastheadError, OSError) as error:
        failure = explain(error)
        report(name, failure)
        return failure.code


def _run_framework(arguments: Sequence[str]) -> int:
    # They are not imported here, because few commands need rich.
    missing = [name for name in ("click", "rich") if find_spec(name) is None]
    if missing:
        # Completion runs at each Tab: a message would tear the prompt.
        if not _is_completing():
            sys.stderr.write(f"masthead: this command needs {missing[0]}; install it with {EXTRA}\n")
        return _FAILED
    from masthead._cli.app import run
    from masthead._cli.terminal import guarded_streams

    with guarded_streams():
        return run(arguments)


def _is_completing() -> bool:
    return COMPLETION in os.environ


def _run_plugin(given: Sequence[str]) -> int:
    """Run the plugin that arguments name, which does not return; without one, the command is unknown."""
    from masthead._cli.plugins import find_plugin, run_plugin

    plugin = find_plugin(given)
    if plugin is None:
        return _unknown(given[0])
    try:
        run_plugin(plugin)
    except OSError as error:
        sys.stderr.write(f"masthead: {plugin.path} cannot be run: {error.strerror}\n")
        return _FAILED


def _unknown(name: str) -> int:
    message, hint = explain_unknown(name)
    sys.stderr.write(f"masthead: {message}\nhint: {hint}\n")
    return _BAD_ARGUMENTS
