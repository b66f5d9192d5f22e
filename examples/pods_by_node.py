"""Show how many pods each node runs, and again whenever that changes. Ctrl-C ends it."""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

import masthead

if TYPE_CHECKING:
    from collections.abc import Generator

    from masthead.api.core.v1 import Pod


def node_of(pod: Pod) -> list[str]:
    """The index function; a pod that is not scheduled yet has no node."""
    return [pod.spec.node_name] if pod.spec.node_name else []


def pods_by_node(client: masthead.Client) -> Generator[dict[str, int], None, None]:
    """Yield the number of pods per node: once at the start, then after every change."""
    changed = threading.Event()
    informer = masthead.SharedInformer(client.core_v1.pods())
    informer.add_indexers({"node": node_of})
    informer.add_event_handler(
        on_add=lambda _: changed.set(),
        on_update=lambda _, __: changed.set(),
        on_delete=lambda _: changed.set(),
    )
    with informer:
        informer.wait_synced(timeout=60)
        while True:
            changed.clear()
            indexer = informer.indexer
            yield {
                node: len(indexer.by_index("node", node))
                for node in sorted(indexer.list_index_values("node"))
            }
            changed.wait()


if __name__ == "__main__":
    with masthead.Client() as client:
        for counts in pods_by_node(client):
            print("  ".join(f"{node}: {count}" for node, count in counts.items()) or "no pods are scheduled")
