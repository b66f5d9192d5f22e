"""Show how many pods each node runs, and again whenever that changes; Ctrl-C ends it."""

from __future__ import annotations

import argparse
import sys
from typing import TYPE_CHECKING

import masthead

if TYPE_CHECKING:
    from collections.abc import Generator

    from masthead.api.core.v1 import Pod


def node_of(pod: Pod) -> list[str]:
    """The keys of a pod in the index: its node, or none before it is scheduled."""
    return [pod.spec.node_name] if pod.spec.node_name else []


def count(pods: masthead.cache.Indexer[Pod]) -> dict[str, int]:
    """The number of pods on each node."""
    nodes = sorted(pods.list_index_values("node"))
    return {node: len(pods.index_keys("node", node)) for node in nodes}


def pods_by_node(client: masthead.Client) -> Generator[dict[str, int], None, None]:
    """Yield the number of pods on each node: at the start, and after every change of it."""
    informer = masthead.SharedInformer(
        client.core_v1.pods(),
        field_selector="status.phase!=Succeeded,status.phase!=Failed",  # without pods that have ended
        transform=masthead.cache.keep_fields("spec.nodeName"),  # and we forget what we do not read
        indexers={"node": node_of},
    )
    seen: dict[str, int] | None = None

    def has_changed(pods: masthead.cache.Indexer[Pod]) -> bool:
        return count(pods) != seen

    with informer:
        while True:
            informer.wait_for(has_changed)  # asked after each change, once the informer has synced
            seen = count(informer.indexer)
            yield seen


def main() -> None:
    """Print until Ctrl-C."""
    argparse.ArgumentParser(description=__doc__).parse_args()
    try:
        with masthead.Client() as client:
            for counts in pods_by_node(client):
                line = "  ".join(f"{node}: {pods}" for node, pods in counts.items())
                print(line or "no pods are scheduled", flush=True)
    except masthead.MastheadError as error:
        sys.exit(str(error))
    except KeyboardInterrupt:
        pass


if __name__ == "__main__":
    main()
