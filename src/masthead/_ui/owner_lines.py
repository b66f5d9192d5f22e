"""The tree of owners: namespaces with their objects, and who owns whom, line by line."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from masthead._printers.ages import age
from masthead._printers.status import status_style

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from datetime import datetime

    from masthead._ui.digests import Digest, Digests
    from masthead._ui.history import History

__all__ = ["OwnerTree", "build_tree"]

_FEW: Final = 20
"""Up to how many dependents a line is open at first."""
_MAX_DEPENDENTS: Final = 2_000
"""How many dependents of one object have lines."""
_MAX_LINES: Final = 20_000
_MAX_DEPTH: Final = 50


@dataclass(slots=True)
class _Node:
    """A line that may have others below it.

    Attributes:
        id: The number of an object, or ``n:NAME`` for a namespace.
        kind: The kind.
        namespace: The namespace; empty for none.
        name: The name.
        digest: Its digest; None for a namespace that was not found.
        children: The nodes below it.
    """

    id: str
    kind: str
    namespace: str
    name: str
    digest: Digest | None = None
    children: list[_Node] = field(default_factory=list["_Node"])


@dataclass(frozen=True, slots=True)
class OwnerTree:
    """The roots of a tree.

    Attributes:
        position: The position that it shows.
        roots: The namespaces, and behind them objects without one.
    """

    position: int
    roots: Sequence[_Node]

    def lines(self, flipped: frozenset[str], namespace: str, now: datetime) -> list[list[object]]:
        """The visible lines: id, depth, kind, name, ready, status, their styles, age, and the number of dependents.

        Args:
            flipped: The nodes that are open although they have many dependents, or closed although they have few.
            namespace: The only namespace; empty for all.
            now: The time that ages refer to.
        """
        roots = [root for root in self.roots if not namespace or root.id == f"n:{namespace}"]
        lines: list[list[object]] = []
        # A stack instead of a recursion: owners may be nested as deeply as an attacker likes.
        stack: list[Iterator[_Node]] = [iter(roots)]
        while stack and len(lines) < _MAX_LINES:
            node = next(stack[-1], None)
            if node is None:
                stack.pop()
                continue
            # Only deviations from the default are in the address, which stays short.
            is_open = (len(node.children) <= _FEW) != (node.id in flipped)
            lines.append(_line(node, len(stack) - 1, is_open=is_open, now=now))
            if is_open and node.children and len(stack) < _MAX_DEPTH:
                stack.append(iter(node.children[:_MAX_DEPENDENTS]))
        return lines


async def build_tree(history: History, digests: Digests, position: int) -> OwnerTree:
    """Build the tree of a position.

    Objects without owners, dependents and a state of their own, such as settings, are left out: the tables have them.
    """
    present = history.present(position)
    await digests.prepare(present)
    nodes: dict[str, _Node] = {}
    for number, state in present:
        key, digest = history.key(number), digests.of(number, state)
        # Events are about objects, and not part of them.
        if key is not None and digest.about is None:
            kind = history.kinds[key.kind]
            nodes[digest.uid or str(number)] = _Node(str(number), kind.kind, key.namespace, key.name, digest)
    roots: list[_Node] = []
    for node in nodes.values():
        owner = _owner_of(node, nodes)
        (roots if owner is None else owner.children).append(node)
    for node in nodes.values():
        node.children.sort(key=_order)
    return OwnerTree(position, _group([node for node in roots if _is_shown(node)]))


def _owner_of(node: _Node, nodes: dict[str, _Node]) -> _Node | None:
    assert node.digest is not None
    owner = next((nodes[uid] for uid in node.digest.owners if uid in nodes), None)
    # References may form a circle, which no root would lead to.
    seen, at = {node.id}, owner
    while at is not None and at.digest is not None:
        if at.id in seen:
            return None
        seen.add(at.id)
        at = next((nodes[uid] for uid in at.digest.owners if uid in nodes), None)
    return owner


def _is_shown(node: _Node) -> bool:
    assert node.digest is not None
    vitals = node.digest.vitals
    # "2/3" is a state; the "True" of an APIService would hide what matters.
    return bool(node.children or node.digest.owners or "/" in vitals.ready or vitals.status)


def _group(roots: list[_Node]) -> list[_Node]:
    """Put the objects of each namespace below it."""
    namespaces = {node.name: node for node in roots if node.kind == "Namespace" and not node.namespace}
    groups: dict[str, _Node] = {}
    others: list[_Node] = []
    for node in sorted(roots, key=_order):
        if not node.namespace:
            if namespaces.get(node.name) is not node:
                others.append(node)
            continue
        group = groups.get(node.namespace)
        if group is None:
            group = _Node(f"n:{node.namespace}", "Namespace", "", node.namespace)
            groups[node.namespace] = group
        group.children.append(node)
    # A namespace may be empty, or may not be listed itself.
    for name, node in namespaces.items():
        if name in groups:
            groups[name].digest = node.digest
        else:
            groups[name] = _Node(f"n:{name}", "Namespace", "", name, node.digest)
    return [*sorted(groups.values(), key=_order), *others]


def _order(node: _Node) -> tuple[str, str, str]:
    return node.kind, node.name, node.namespace


def _line(node: _Node, depth: int, *, is_open: bool, now: datetime) -> list[object]:
    ready = status = old = ""
    if node.digest is not None:
        vitals = node.digest.vitals
        # Most kinds do not print that they are being deleted.
        ready, status = vitals.ready, "Terminating" if node.digest.is_deleting else vitals.status
        old = age(node.digest.created, now) if node.digest.created else ""
    fold = 0 if not node.children else 1 if is_open else 2
    styles = [status_style(ready), status_style(status.partition(",")[0])]
    return [node.id, depth, node.kind, node.name, ready, status, *styles, old, fold, len(node.children)]
