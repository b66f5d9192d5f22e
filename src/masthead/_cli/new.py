"""``masthead new``: a new operator project."""

from __future__ import annotations

import json
import shlex
import sys
from importlib import metadata
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit
from urllib.request import url2pathname

from masthead._arguments import ArgumentParser
from masthead._cli.failures import CommandError, ExitCode
from masthead._scaffold.project import Project
from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main"]


def main(arguments: Sequence[str], *, name: str = "masthead new") -> int:
    """Write a project into a new folder; return the exit code.

    Args:
        arguments: The arguments after ``new``.
        name: The name of the command in messages.

    Raises:
        CommandError: If an argument is invalid.
        OSError: If a file cannot be written.
    """
    chosen = _parser(name).parse_args(arguments)
    try:
        project = Project.named(chosen.name, chosen.kind, chosen.group)
        folder = chosen.dir or Path(project.name)
        # A file of the user is never overwritten.
        if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
            raise ConfigError(f"{folder} exists already; name another folder with --dir")
    except ConfigError as error:
        raise CommandError(str(error), code=ExitCode.USAGE) from None
    _write(project, folder)
    sys.stdout.write(
        f"wrote {folder}: an operator for {project.kind} objects of {project.group}\n"
        "\n"
        "Masthead has no release yet. So put the wheels of masthead-k8s and masthead-k8s-server into the project:\n"
        f"  {_command_for_wheels(folder / 'wheels')}\n"
        "then install everything, and run the tests:\n"
        f"  cd {shlex.quote(str(folder))} && make install test\n"
        "README.md says more.\n"
    )
    return ExitCode.OK


def _command_for_wheels(folder: Path) -> str:
    """Return the command that puts the wheels of library and server into a folder."""
    origins = [_origin(name) for name in ("masthead-k8s", "masthead-k8s-server")]
    sources = " ".join(shlex.quote(str(origin)) for origin in origins if origin is not None)
    into = shlex.quote(str(folder))
    # The origins may differ in kind only if someone mixed wheels and checkouts; the general answer fits then.
    if all(origin is not None and origin.suffix == ".whl" for origin in origins):
        return f"mkdir -p {into} && cp {sources} {into}"
    if all(origin is not None and origin.is_dir() for origin in origins):
        return f"pip wheel {sources} --no-deps -w {into}"
    return f"pip wheel . ./server --no-deps -w {shlex.quote(str(folder.absolute()))}   # in a checkout of Masthead"


def _origin(name: str) -> Path | None:
    """Return the checkout or wheel from which pip installed a distribution; None if it is unknown or missing."""
    try:
        text = metadata.distribution(name).read_text("direct_url.json")
        url = urlsplit(str(json.loads(text or "{}").get("url", "")))
    except (metadata.PackageNotFoundError, ValueError):
        return None
    path = Path(url2pathname(url.path))
    return path if url.scheme == "file" and path.exists() else None


def _write(project: Project, folder: Path) -> None:
    for path, text in project.files().items():
        file = folder / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text, encoding="utf-8")


def _parser(name: str) -> ArgumentParser:
    parser = ArgumentParser(
        prog=name,
        description="Write a small operator to begin with: typed, with tests that pass, manifests and an image.",
        allow_abbrev=False,
    )
    parser.add_argument("name", metavar="NAME", help="the name of the operator, such as website-operator")
    parser.add_argument("--dir", type=Path, metavar="DIR", help="the folder, which must be new or empty (NAME)")
    parser.add_argument("--kind", default="", metavar="KIND", help="the kind of its custom resource (after NAME)")
    parser.add_argument("--group", default="", metavar="GROUP", help="the API group of that (example.com)")
    return parser
