"""``python -m tools.documents``: save the OpenAPI v3 and discovery documents of a server in a folder.

The default is the embedded server, whose documents have all that those of Kubernetes have, apart from prose. For a new
release of Kubernetes, name a cluster.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Final

from masthead import Client, Config
from masthead._codegen import documents
from masthead._discovery.aggregated import ACCEPT
from masthead.errors import MastheadError
from masthead.server import run

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["main", "save_cluster", "save_embedded"]

_INDEX: Final = "/openapi/v3"
_DISCOVERY: Final = {"/api": "discovery-api.json", "/apis": "discovery.json"}
_FOLDER: Final = "openapi-v3"


def save_embedded(folder: Path) -> None:
    """Save the documents of the embedded server."""
    with run() as server, Client(Config(server=server.url, token=server.token)) as client:
        _save(client, folder)


def save_cluster(folder: Path, context: str | None = None) -> None:
    """Save the documents of a cluster.

    Args:
        folder: The folder, which is created if it does not exist.
        context: The context of the kubeconfig; None for the current one.

    Raises:
        MastheadError: If there is no such cluster, or a request fails.
    """
    with Client(context=context) as client:
        _save(client, folder)


def _save(client: Client, folder: Path) -> None:
    (folder / _FOLDER).mkdir(parents=True, exist_ok=True)
    for path, name in _DISCOVERY.items():
        (folder / name).write_bytes(client.rest.get(path, accept=ACCEPT).body)
    # The index is JSON, but kube-apiserver sends it as text/plain.
    index = client.rest.get(_INDEX, accept="*/*").body
    for served, path in documents.locations(index, _INDEX).items():
        name = served.path.removeprefix("/").replace("/", "__")
        (folder / _FOLDER / f"{name}.json").write_bytes(client.rest.get(path).body)


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit status."""
    parser = argparse.ArgumentParser(prog="python -m tools.documents", description=__doc__)
    parser.add_argument("--out", type=Path, required=True, metavar="DIR", help="the folder")
    parser.add_argument("--cluster", action="store_true", help="the cluster of the kubeconfig, not the embedded server")
    parser.add_argument("--context", metavar="NAME", help="the context of the kubeconfig (default: the current one)")
    options = parser.parse_args(arguments)
    try:
        if options.cluster:
            save_cluster(options.out, options.context)
        else:
            save_embedded(options.out)
    except (MastheadError, OSError) as error:
        sys.stderr.write(f"{error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
