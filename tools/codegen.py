"""``make codegen``: run all generators, with the documents of a server.

::

    embedded server, cluster, or folder ──documents──> tools.api, .definitions, .protobuf, .clientset ──> files
    async classes ──> tools.facade, tools/public_names.py ──> tools.exports

The embedded server is the default: its documents follow from the generated files, so that a run without other changes
writes the same files again. Two tables follow from no document and stay the same: the removed API versions
(`releases`), and the numbers of protobuf fields (`protobuf`).
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from masthead.errors import MastheadError
from tools import documents

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["main"]

_ROOT = Path(__file__).parents[1]


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    options = _parser().parse_args(arguments)
    with tempfile.TemporaryDirectory() as folder:
        try:
            if options.openapi is None:
                options.openapi = Path(folder)
                if options.cluster:
                    documents.save_cluster(options.openapi, options.context)
                else:
                    documents.save_embedded(options.openapi)
        except (MastheadError, OSError) as error:
            sys.stderr.write(f"{error}\n")
            return 2
        for step in _steps(options):
            # A process for each, because a step imports what an earlier one has written.
            status = subprocess.run([sys.executable, "-m", *step], cwd=_ROOT, check=False).returncode
            if status:
                return status
    return 0


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m tools.codegen", description=__doc__)
    source = parser.add_mutually_exclusive_group()
    source.add_argument("--openapi", type=_folder, metavar="DIR", help="a folder of OpenAPI v3 and discovery documents")
    source.add_argument("--cluster", action="store_true", help="the cluster of the kubeconfig")
    parser.add_argument("--context", metavar="NAME", help="the context of the kubeconfig (default: the current one)")
    parser.add_argument("--legacy", type=_folder, metavar="DIR", help="documents of API versions that are not served")
    parser.add_argument("--protobuf", type=Path, metavar="FILE", help="the numbers of protobuf fields, as JSON")
    return parser


def _folder(text: str) -> Path:
    folder = Path(text).resolve()
    if not folder.is_dir():
        raise argparse.ArgumentTypeError(f"there is no folder {text}")
    return folder


def _steps(options: argparse.Namespace) -> Iterator[list[str]]:
    """Yield the arguments of each generator, in an order in which each can import what it needs."""
    openapi = ["--openapi", str(options.openapi)]
    legacy = ["--legacy", str(options.legacy)] if options.legacy else []
    fields = ["--fields", str(options.protobuf.resolve())] if options.protobuf else []
    table = "server/src/masthead_server/wire/protobuf_table.py"
    yield ["tools.api", *openapi, *legacy, "--out", "src/masthead/api"]
    yield ["tools.definitions", *openapi, "--out", "src/masthead/_schema/builtin/facts.py"]
    yield ["tools.protobuf", *openapi, *fields, "--out", table]
    yield ["tools.clientset", *openapi, *legacy, "--out", "src/masthead"]
    yield ["tools.facade", "--root", "src"]
    yield ["tools.exports"]


if __name__ == "__main__":
    sys.exit(main())
