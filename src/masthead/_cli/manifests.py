"""``masthead manifests``: what an operator needs in a cluster, from what its controllers declare."""

from __future__ import annotations

import argparse
import traceback
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead._arguments import ArgumentParser
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.targets import BrokenTargetError, TargetError, load_manager, parse_target
from masthead._cli.terminal import write
from masthead._controller.options import parse_namespaces
from masthead._scaffold.image import DOCKERFILE
from masthead._scaffold.manifests import manifests_of, to_text
from masthead._scaffold.settings import Deploy
from masthead.errors import MastheadError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead._cli.targets import ManagerTarget
    from masthead._controller.manager import Manager

__all__ = ["main"]

_DOCKERFILE: Final = "Dockerfile"


def main(arguments: Sequence[str], *, name: str = "masthead manifests") -> int:
    """Write the manifests of an operator; return the exit code of the process.

    0 if they are written, or up to date; 1 if a file would change, and ``--check`` is given.

    Args:
        arguments: The arguments after ``manifests``.
        name: The name of the command in messages.

    Raises:
        CommandError: If an argument is invalid, or the program cannot be imported.
        OSError: If a file cannot be written.
    """
    chosen = _parser(name).parse_args(arguments)
    try:
        target = parse_target(chosen.target)
        files = _files(load_manager(target), target, chosen)
    except BrokenTargetError as error:
        # The traceback helps the author of the program; a message alone rarely does.
        if error.__cause__ is not None:
            traceback.print_exception(error.__cause__)
        raise CommandError(str(error)) from None
    except (TargetError, MastheadError) as error:
        raise CommandError(str(error), code=ExitCode.USAGE) from None
    if chosen.out is None:
        write("".join(files.values()) if chosen.dockerfile else "---\n".join(files.values()))
        return ExitCode.OK
    return _write(files, chosen.out, is_check=chosen.check)


def _files(manager: Manager, target: ManagerTarget, chosen: argparse.Namespace) -> dict[str, str]:
    """The files by name, in the order in which they are applied."""
    # A Dockerfile is no YAML document, and so never shares the output with manifests.
    if chosen.dockerfile and chosen.out is None:
        return {_DOCKERFILE: DOCKERFILE}
    options = manager.options
    if chosen.watch:
        options = options.overridden(namespaces=parse_namespaces(",".join(chosen.watch)))
    deploy = Deploy(
        manager,
        options,
        f"{target.module}:{target.name}" if target.name else target.module,
        chosen.image or f"{manager.name}:latest",
        chosen.namespace or manager.name,
        has_namespace=chosen.namespace is not None,
        replicas=chosen.replicas,
        uses_cert_manager=chosen.cert_manager,
    )
    files = {name: to_text(objects) for name, objects in manifests_of(deploy).items()}
    return {**files, _DOCKERFILE: DOCKERFILE} if chosen.dockerfile else files


def _write(files: Mapping[str, str], folder: Path, *, is_check: bool) -> int:
    """Write the files that differ; with `is_check`, only say so."""
    # Unchanged files keep their modification time, for make and for --reload.
    changed = [name for name, text in files.items() if _read(folder / name) != text]
    if not is_check:
        folder.mkdir(parents=True, exist_ok=True)
    for name in changed:
        if not is_check:
            (folder / name).write_text(files[name], encoding="utf-8")
        write(f"{'would write' if is_check else 'wrote'} {folder / name}\n")
    return ExitCode.FAILED if is_check and changed else ExitCode.OK


def _read(path: Path) -> str | None:
    return path.read_text(encoding="utf-8") if path.is_file() else None


def _parser(name: str) -> ArgumentParser:
    parser = ArgumentParser(
        prog=name,
        description="Write the manifests of an operator from what its controllers declare: definitions of its custom "
        "resources, a service account with the permissions that it needs and no others, and a Deployment.",
        allow_abbrev=False,
    )
    parser.add_argument("target", metavar="MODULE:APP", help="package.module:app, package.module, or app.py")
    parser.add_argument("--image", metavar="IMAGE", help="the image (the name of the manager)")
    parser.add_argument(
        "--namespace",
        metavar="NAME",
        help="the namespace to run in, which exists (a new one, named as the manager)",
    )
    parser.add_argument(
        "--watch",
        action="append",
        metavar="NAMESPACE",
        help="watch only this namespace, with a Role there instead of a ClusterRole (can be repeated)",
    )
    parser.add_argument(
        "--replicas",
        type=_count,
        metavar="N",
        help="the number of pods (2 if they elect a leader or only serve webhooks, else 1)",
    )
    parser.add_argument(
        "--cert-manager",
        action="store_true",
        help="let cert-manager issue the certificate of webhooks (the manager does it)",
    )
    parser.add_argument("--out", type=Path, metavar="DIR", help="write files there (all to the standard output)")
    parser.add_argument("--dockerfile", action="store_true", help="write a Dockerfile; alone, if --out is not given")
    parser.add_argument("--check", action="store_true", help="write nothing, and fail if a file in --out would change")
    return parser


def _count(text: str) -> int:
    # int() would accept "-1", "1_0" and digits of other scripts.
    if not text.isascii() or not text.isdigit():
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of replicas")
    return int(text)
