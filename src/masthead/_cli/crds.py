"""``masthead crds``: the CustomResourceDefinitions of a module's classes, as YAML or installed."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from masthead._arguments import ArgumentParser
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.targets import BrokenTargetError, ManagerTarget, TargetError, load_module, parse_target
from masthead._cli.terminal import say, write
from masthead._customresource.rendering import render_definition
from masthead._customresource.resource import CustomResource
from masthead._customresource.sources import crds
from masthead.errors import CustomResourceError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence
    from types import ModuleType

    from masthead.api.apiextensions.v1 import CustomResourceDefinition

__all__ = ["main"]


def main(arguments: Sequence[str], *, name: str = "masthead crds") -> int:
    """Print, write or install definitions; return the exit code: 0, or 1 if ``--check`` finds outdated files.

    Args:
        arguments: The arguments after ``crds``.
        name: The name of the command in messages.

    Raises:
        CommandError: If an argument or a class is invalid.
        MastheadError: If they cannot be installed.
        OSError: If a file cannot be written.
    """
    chosen = _parser(name).parse_args(arguments)
    try:
        sources = [source for target in chosen.target for source in _sources(parse_target(target))]
        made = crds(*sources)
    except (TargetError, BrokenTargetError, CustomResourceError) as error:
        problem: BaseException = error
        # A wrong class fails when its module is imported; its own message is better than that of the import.
        if isinstance(error, BrokenTargetError) and isinstance(error.__cause__, CustomResourceError):
            problem = error.__cause__
        raise CommandError(" ".join(str(problem).split()), code=ExitCode.USAGE) from None
    return _act(made, sources, chosen)


def _act(
    made: list[CustomResourceDefinition],
    sources: list[ModuleType | type[CustomResource]],
    chosen: argparse.Namespace,
) -> int:
    if chosen.check:
        return _check(made, chosen.out)
    if chosen.out is not None:
        _write(made, chosen.out)
    if chosen.install:
        _install(sources, chosen)
    # Definitions are printed only if there is nowhere else to put them.
    if chosen.out is None and not chosen.install:
        write("---\n".join(map(render_definition, made)))
    return 0


def _sources(target: ManagerTarget) -> list[ModuleType | type[CustomResource]]:
    module = load_module(target)
    if not target.name:
        return [module]
    found: object = module
    for part in target.name.split("."):
        found = getattr(found, part, None)
    if not isinstance(found, type) or not issubclass(found, CustomResource):
        raise TargetError(f"{target.text}: there is no CustomResource of that name in {target.module}")
    return [found]


def _write(made: list[CustomResourceDefinition], folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    for definition in made:
        path = folder / f"{definition.metadata.name}.yaml"
        path.write_text(render_definition(definition), encoding="utf-8")
        say(f"wrote {path}")


def _check(made: list[CustomResourceDefinition], folder: Path) -> int:
    stale = [
        path
        for definition in made
        # A missing file is out of date, too.
        if _read(path := folder / f"{definition.metadata.name}.yaml") != render_definition(definition)
    ]
    for path in stale:
        say(f"{path} is out of date; write it with --out {folder}")
    return ExitCode.FAILED if stale else ExitCode.OK


def _read(path: Path) -> str:
    return path.read_text(encoding="utf-8") if path.is_file() else ""


def _install(sources: list[ModuleType | type[CustomResource]], chosen: argparse.Namespace) -> None:
    from masthead._sync.client import Client

    with Client(kubeconfig=chosen.kubeconfig, context=chosen.context) as client:
        result = client.install_crds(
            *sources, field_manager=chosen.field_manager, force=chosen.force, timeout=chosen.timeout
        )
    write(result.text)


def _parser(name: str) -> ArgumentParser:
    parser = ArgumentParser(
        prog=name,
        description="Print the CustomResourceDefinitions of the custom resources in modules, or install them.",
        allow_abbrev=False,
    )
    parser.add_argument(
        "target", nargs="+", metavar="MODULE[:NAME]", help="package.module, file.py, or one class of it"
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="write a file for each into this folder")
    parser.add_argument("--check", action="store_true", help="only tell whether the files of --out are up to date")
    parser.add_argument(
        "--install", action="store_true", help="apply them to a cluster, and wait until they are served"
    )
    cluster = parser.add_argument_group("with --install")
    cluster.add_argument("--kubeconfig", metavar="FILE", help="the kubeconfig (as kubectl finds it)")
    cluster.add_argument("--context", metavar="NAME", help="the context of the kubeconfig")
    cluster.add_argument("--field-manager", metavar="NAME", help="the field manager (masthead)")
    cluster.add_argument("--force", action="store_true", help="take over fields that others manage")
    cluster.add_argument("--timeout", type=float, metavar="SECONDS", help="how long to wait for each definition")
    return parser
