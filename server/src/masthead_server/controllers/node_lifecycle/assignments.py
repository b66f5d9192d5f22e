"""The pods of a node, found by a text search: an index would cost more than the few lookups."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.objects import ObjectRef

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.controllers.objects import ObjectClient
    from masthead_server.storage import Record
    from masthead_server.wire.plain import Plain

__all__ = ["assigned_node", "pods_on", "refs_on"]

_PODS: Final = "pods"
_NODE: Final = re.compile(rb'"nodeName":"([^"]*)"')


def assigned_node(record: Record | None) -> str:
    """Return the node of a stored pod; empty if it has none."""
    found = None if record is None else _NODE.search(record.value)
    return "" if found is None else found[1].decode()


def pods_on(client: ObjectClient, node: str) -> Iterator[tuple[ObjectRef, Plain]]:
    """Yield the pods of a node."""
    for ref, pod in client.listed(_PODS, containing=[_text(node)]):
        # An annotation may contain the same text.
        if pod["spec"].get("nodeName") == node:
            yield ref, pod


def refs_on(client: ObjectClient, node: str) -> list[ObjectRef]:
    """Return the pods of a node without decoding them; other pods may be among them."""
    storage = client.cluster.storage
    text = _text(node)
    records = list(storage.table(_PODS).scan("", storage.revision))
    return [ObjectRef(_PODS, record.key) for record in records if text in record.value]


def _text(node: str) -> bytes:
    return f'"nodeName":{json.dumps(node)}'.encode()
