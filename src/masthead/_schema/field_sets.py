"""Field sets: the fields that a manager owns, or that a write has changed, in the FieldsV1 format of ``managedFields``.

A set is a tree of path elements (`masthead._schema.path_elements`). A node without children is a member; one with
children is a member only if it contains ``.``, the element for the value itself::

    {"f:metadata": {"f:labels": {".": {}, "f:app": {}}}}   # .metadata.labels and .metadata.labels.app
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, cast

from masthead._schema.path_elements import element_order, invalid_element, read_element
from masthead.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from masthead._schema.path_elements import Path

__all__ = [
    "LEAF",
    "SELF",
    "FieldSet",
    "Node",
    "has_children",
    "is_member",
    "union",
    "with_self",
]

Node: TypeAlias = "dict[str, Node]"
"""A node of a field set; it is never changed once it is part of one."""
SELF: Final = "."
"""The element that makes a node with children a member."""
LEAF: Final[Node] = {}
"""A member without children."""


class FieldSet:
    """An immutable set of field paths.

    Args:
        root: The tree, in the form that `to_fields_v1` returns. It must not be changed afterwards.
        is_sorted: Whether its elements are in kube-apiserver's order, too.
    """

    __slots__ = ("is_sorted", "root")

    def __init__(self, root: Node | None = None, *, is_sorted: bool = False) -> None:
        self.root: Final[Node] = root or {}
        self.is_sorted: Final = is_sorted

    @classmethod
    def of(cls, *paths: Path) -> FieldSet:
        """Return the set of some paths; the empty path is not a member of any set."""
        found = cls()
        for path in paths:
            node: Node = LEAF
            for element in reversed(path):
                node = {element: node}
            found |= cls(node)
        return found

    @classmethod
    def from_fields_v1(cls, plain: Mapping[str, object]) -> FieldSet:
        """Read a set that a client sent. Elements of unknown types are ignored, as kube-apiserver does.

        Raises:
            DecodeError: If it is invalid.
        """
        try:
            return cls(_children_of(plain))
        except RecursionError:
            raise DecodeError("managed fields are nested too deeply", path="metadata.managedFields") from None

    def to_fields_v1(self) -> Node:
        """Return it as FieldsV1, with the elements in kube-apiserver's order."""
        return self.root if self.is_sorted else _sort_node(self.root)

    def __bool__(self) -> bool:
        """Whether it has a member."""
        return bool(self.root)

    def __eq__(self, other: object) -> bool:
        """Whether it has the same members as another set."""
        return isinstance(other, FieldSet) and self.root == other.root

    def __hash__(self) -> int:
        """The hash of its paths."""
        return hash(frozenset(self.paths()))

    def __repr__(self) -> str:
        """The tree."""
        return f"FieldSet({self.root!r})"

    def __contains__(self, path: Path) -> bool:
        """Whether a path is a member."""
        node = self._node_at(path)
        return bool(path) and node is not None and is_member(node)

    def _node_at(self, path: Path) -> Node | None:
        """Return the node at a path, or None."""
        node = self.root
        for element in path:
            if element not in node:
                return None
            node = node[element]
        return node

    def __or__(self, other: FieldSet) -> FieldSet:
        """The members of either."""
        if not self.root:
            return other
        root = _union_of_children(self.root, other.root)
        return self if root is self.root else FieldSet(root)

    def __and__(self, other: FieldSet) -> FieldSet:
        """The members of both."""
        return FieldSet(_intersection(self.root, other.root))

    def __sub__(self, other: FieldSet) -> FieldSet:
        """The members that are not in the other set; members below one of its members stay."""
        return self._with(_difference(self.root, other.root))

    def without_trees(self, other: FieldSet) -> FieldSet:
        """Return the members that are not in the other set, nor below a member of it."""
        return self._with(_outside(self.root, other.root))

    def _with(self, root: Node) -> FieldSet:
        """A set with another root, or the same set if the root is unchanged."""
        return self if root is self.root else FieldSet(root, is_sorted=self.is_sorted)

    def paths(self) -> Iterator[Path]:
        """Yield the paths in kube-apiserver's order: of each node first its own members, then those below."""
        yield from _paths(self.root, ())


def is_member(node: Node) -> bool:
    """Tell whether a node, other than a root, is itself a member."""
    return not node or SELF in node


def has_children(node: Node) -> bool:
    """Tell whether there are members below a node."""
    return len(node) > (SELF in node)


def with_self(node: Node | None) -> Node:
    """Return a node as a member."""
    return node if node is not None and is_member(node) else {SELF: LEAF, **(node or LEAF)} if node else LEAF


def _union_of_children(one: Node, other: Node) -> Node:
    """The members of either node; the first node itself if it has them all."""
    found = one
    for element, node in other.items():
        present = one.get(element)
        both = node if present is None else _union_of_nodes(present, node)
        if both is not present:
            if found is one:
                found = dict(one)
            found[element] = both
    return found


def union(one: Node | None, other: Node | None) -> Node | None:
    """Return the node with the members of either; None is a node without members."""
    if one is None or other is None:
        return other if one is None else one
    return _union_of_nodes(one, other)


def _union_of_nodes(one: Node, other: Node) -> Node:
    if one is other:
        return one
    if not one or not other:
        return with_self(one or other)
    return _union_of_children(one, other)


def _node(children: Node, *, member: bool) -> Node | None:
    """A node with these children; None if it is neither a member nor has any."""
    if not children:
        return LEAF if member else None
    return {SELF: LEAF, **children} if member else children


def _intersection(one: Node, other: Node) -> Node:
    small, large = (one, other) if len(one) <= len(other) else (other, one)
    found: Node = {}
    for element, node in small.items():
        match = large.get(element)
        if match is None or element == SELF:
            continue
        both = node if node is match else _node(_intersection(node, match), member=is_member(node) and is_member(match))
        if both is not None:
            found[element] = both
    return found


def _difference(one: Node, other: Node) -> Node:
    """The members of a node that are not in another; the node itself if they have none in common."""
    return _reduce(one, other, _node_difference)


def _node_difference(node: Node, taken: Node) -> Node | None:
    was_member = is_member(node)
    below, member = _difference(node, taken) if node else node, was_member and not is_member(taken)
    if below is node and member is was_member:
        return node
    return _node({element: below[element] for element in below if element != SELF}, member=member)


def _outside(one: Node, other: Node) -> Node:
    """Return the members of a node that are neither in another node nor below its members; the node itself if all."""
    return _reduce(one, other, _node_outside)


def _node_outside(node: Node, taken: Node) -> Node | None:
    if is_member(taken):
        return None
    below = _outside(node, taken)
    return (
        below
        if below is node
        else _node({element: below[element] for element in below if element != SELF}, member=is_member(node))
    )


def _reduce(one: Node, other: Node, left_of: Callable[[Node, Node], Node | None]) -> Node:
    """A node whose children are reduced by `left_of`; the others keep their order."""
    found = one
    for element, taken in other.items():
        node = one.get(element)
        if node is None or element == SELF or (left := left_of(node, taken)) is node:
            continue
        if found is one:
            found = dict(one)
        if left is None:
            del found[element]
        else:
            found[element] = left
    return found


def _paths(node: Node, prefix: Path) -> Iterator[Path]:
    elements = sorted((child for child in node if child != SELF), key=element_order)
    yield from ((*prefix, element) for element in elements if is_member(node[element]))
    for element in elements:
        yield from _paths(node[element], (*prefix, element))


def _sort_node(node: Node) -> Node:
    if len(node) == 1:
        [(element, below)] = node.items()
        return {element: _sort_node(below)} if below else node
    # Most elements are fields, which sort by their text; "." sorts before them, and items sort after them.
    elements = sorted(node)
    if elements and elements[-1][0] != "f":
        items = sorted((child for child in elements if child != SELF), key=element_order)
        elements = [SELF, *items] if SELF in node else items
    ordered: Node = {}
    for element in elements:
        below = node[element]
        ordered[element] = _sort_node(below) if below else LEAF
    return ordered


def _children_of(plain: Mapping[str, object]) -> Node:
    found: Node = {}
    for text, below in plain.items():
        # "." is about the parent, and `_read_node` reads it there.
        if text == SELF or (element := read_element(text)) is None:
            continue
        node = _read_node(text, below)
        # A client may write one element in two ways.
        found[element] = _union_of_nodes(found[element], node) if element in found else node
    return found


def _read_node(text: str, below: object) -> Node:
    if below is None:
        return LEAF
    if not isinstance(below, dict):
        raise invalid_element(text)
    plain = cast("dict[str, object]", below)
    children = _children_of(plain)
    return {SELF: LEAF, **children} if children and SELF in plain else children
