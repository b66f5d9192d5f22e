"""``python -m masthead.codegen``: generate types from OpenAPI, a live server or CRD manifests."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead._arguments import ArgumentParser
from masthead._codegen import generate, sources
from masthead._errors.base import counted
from masthead.errors import MastheadError

if TYPE_CHECKING:
    import argparse
    from collections.abc import Sequence

    from masthead._codegen.spec import Spec
    from masthead._config.model import Config


_PROGRAM: Final = "python -m masthead.codegen"


def parser(name: str = _PROGRAM) -> ArgumentParser:
    """The command's options."""
    made = ArgumentParser(
        prog=name,
        description="Generate typed modules, one per group and version, for a cluster's API or for your CRDs.",
    )
    add_source_options(made, definitions=True)
    made.add_argument("--out", type=Path, required=True, metavar="DIR", help="the package's folder")
    made.add_argument(
        "--package",
        metavar="NAME",
        help="the package's dotted name (default: derived from the folder)",
    )
    made.add_argument(
        "--group",
        action="append",
        default=[],
        type=lambda name: "" if name == "core" else name,
        metavar="GROUP",
        help="only this API group and the types it refers to; repeatable; core is the group without a name",
    )
    made.add_argument("--docs", action="store_true", help="copy the API's documentation into docstrings")
    made.add_argument("--check", action="store_true", help="write nothing, and fail if a file would change")
    return made


def add_source_options(parser: ArgumentParser, *, definitions: bool = False) -> None:
    """Add the options that name a source of types: a folder of documents, or a live server.

    Args:
        parser: The parser.
        definitions: Whether manifests of CRDs are a source, too.
    """
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--openapi", type=Path, metavar="DIR", help="a folder of OpenAPI v3 and discovery documents")
    source.add_argument("--server", metavar="URL", help="a live server, such as https://127.0.0.1:6443")
    source.add_argument(
        "--kubeconfig",
        metavar="FILE",
        help="a live server and your credentials for it, from a kubeconfig file",
    )
    if definitions:
        source.add_argument(
            "--crd",
            type=Path,
            nargs="+",
            metavar="FILE",
            help="CRD manifests in YAML or JSON; name all that belong to the package",
        )
    parser.add_argument(
        "--context", metavar="NAME", help="the context of the kubeconfig (default: the current context)"
    )
    parser.add_argument("--token-file", type=Path, metavar="FILE", help="a file with a bearer token for the server")
    parser.add_argument("--ca-file", type=Path, metavar="FILE", help="the certificate authority of the server")
    parser.add_argument("--insecure", action="store_true", help="do not verify the server's certificate")


def main(arguments: Sequence[str] | None = None, *, name: str = _PROGRAM) -> int:
    """Run the command; returns its exit status: 2 for every error.

    Args:
        arguments: The command's arguments; those of the process by default.
        name: The name of the command, for its messages.
    """
    try:
        return run(arguments, name=name)
    except (MastheadError, OSError) as error:
        print(f"{name}: {error}", file=sys.stderr)
        return 2


def run(arguments: Sequence[str] | None, *, name: str) -> int:
    """Run the command; returns 0, or 1 if it only checks, and a file would change.

    Args:
        arguments: The command's arguments; those of the process by default.
        name: The name of the command, for its messages.

    Raises:
        MastheadError: If the types cannot be read or generated.
        OSError: If a file cannot be written.
    """
    options = _options(arguments, name)
    package = options.package or _package_at(options.out.resolve())
    files = generate.files_for(_spec(options), package, groups=options.group, docs=options.docs)
    # Before anything is written, because the files are compared with those in the folder.
    changed = generate.changes(files, options.out)
    if not options.check:
        generate.write(files, options.out)
    for path in changed:
        done, undone = ("wrote", "would write") if path in files else ("removed", "would remove")
        print(f"{undone if options.check else done} {path}")
    print(f"{counted(len(files), 'file')}, {len(changed)} changed", file=sys.stderr)
    return 1 if options.check and changed else 0


def _options(arguments: Sequence[str] | None, name: str) -> argparse.Namespace:
    made = parser(name)
    options = made.parse_args(arguments)
    # A context alone selects from the default kubeconfig.
    is_live = options.server or options.kubeconfig or options.context
    if options.context and (options.server or options.crd or options.openapi):
        made.error("--context selects a context of a kubeconfig, and excludes other sources")
    if not (is_live or options.crd or options.openapi):
        made.error("name a source: --openapi, --server, --kubeconfig, --context or --crd")
    if options.token_file and not options.server:
        made.error("--token-file requires --server; a kubeconfig contains credentials")
    return options


def _package_at(folder: Path) -> str:
    """The dotted name that a folder is imported by, with the packages that contain it."""
    # Generated modules import each other by the full name of their package.
    is_inside = (folder.parent / "__init__.py").is_file()
    return f"{_package_at(folder.parent)}.{folder.name}" if is_inside else folder.name


def _spec(options: argparse.Namespace) -> Spec:
    if options.openapi:
        return sources.from_folder(options.openapi)
    if options.crd:
        return sources.from_manifests(options.crd)
    return sources.from_server(server_config(options), groups=options.group)


def server_config(options: argparse.Namespace) -> Config:
    """Return the address of the live server that options name, and the credentials for it.

    Args:
        options: The options of `add_source_options`.

    Raises:
        ConfigError: If the kubeconfig is missing or invalid.
    """
    from masthead._config.loader import load
    from masthead._config.model import Config
    from masthead._config.proxies import proxy_for

    if options.server:  # A kubeconfig's credentials are for another server.
        return Config(
            server=options.server,
            token_file=options.token_file,
            ca_file=options.ca_file,
            insecure=options.insecure,
            proxy_url=proxy_for(options.server, os.environ),
            origin="the arguments",
        )
    return load(
        options.kubeconfig,
        context=options.context,
        ca_file=options.ca_file,
        insecure=options.insecure or None,
    )
