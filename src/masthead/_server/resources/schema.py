"""The schema of a kind, and the normal form of its objects.

kube-apiserver decodes a body into a Go struct and encodes it again. What has no place there is dropped: unknown fields,
nulls, empty lists, zeros of optional fields that are no pointers. What Go cannot omit is added: ``"status": {}``, say.
And quantities and times come back in their canonical form. `Schema.clean` does the same to plain data, with the
generated types as its source of truth. It reports what it dropped, and values of the wrong type in Go's words.
"""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, Final, Protocol, cast, get_args

from masthead._meta import shape
from masthead._meta.quantity import Quantity
from masthead._meta.time import MicroTime, format_micro_time, format_time, parse_micro_time, parse_time
from masthead._server.resources.schema_facts import CONDITION_TIMES, INT64, NEVER, NULLS, zeros_left_out
from masthead._server.wire.go_base64 import decode_base64
from masthead._server.wire.limits import MOST_ITEMS, too_large
from masthead.errors import InvalidValueError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._meta.apitype import ApiType
    from masthead._server.wire.plain import Plain

__all__ = ["Mismatch", "Schema", "schema_of"]

_HEAD: Final = ("apiVersion", "kind")
_MOST_UNKNOWN: Final = 100
_MAX_REPORTED: Final = 1024 * 1024
"""Characters of the paths of unknown fields that are reported."""
_OWN_WORDS: Final = frozenset({*_HEAD, "metadata"})
"""What every object has, and no client needs to set."""


class Mismatch(Exception):  # noqa: N818 - it becomes a StatusFailure on the way out
    """A value is not of its field's type; the message is Go's."""


class Findings:
    """What a decoding found on its way.

    Attributes:
        unknown: The paths of fields that the kind does not have.
    """

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self._reported = 0
        self._items = 0
        self.path: list[str] = []
        """Fields with a dot before them, indexes in brackets, and keys of maps with an opening brace."""

    def add_unknown(self, name: str) -> None:
        """Record an unknown field; Go lists a hundred of them."""
        if len(self.unknown) < _MOST_UNKNOWN and self._reported < _MAX_REPORTED:
            self.unknown.append(self.where(name))
            self._reported += len(self.unknown[-1])

    def add_items(self, count: int, *, are_structs: bool) -> None:
        """Count the items of lists. A text, which may have to be read as an address, counts as a quarter of a struct.

        Raises:
            StatusFailure: If there are too many in the object.
        """
        self._items += 4 * count if are_structs else count
        if self._items > 4 * MOST_ITEMS:
            raise too_large(
                f"limit is {MOST_ITEMS} structs, or {4 * MOST_ITEMS} plain values, in the lists of an object"
            )

    def where(self, name: str = "") -> str:
        """The path of a field in the object that is being read."""
        steps = [*self.path, f".{name}"] if name else self.path
        return "".join(steps).replace("{", ".").removeprefix(".")


class _Node(Protocol):
    """One type of value. The owner and field are for messages."""

    def clean(self, value: object, findings: Findings, owner: str) -> Any:  # noqa: ANN401 - plain data
        """Return the value as the server keeps it."""
        ...

    def go_type(self) -> str:
        """The type's name in Go."""
        ...


class _Anything:
    def clean(self, value: object, findings: Findings, owner: str) -> object:
        del findings, owner
        return value

    def go_type(self) -> str:
        return "interface {}"


class _Leaf:
    """A scalar: of one of a few Python types, and possibly written in another way than it came.

    Args:
        name: Its type in Go.
        accepted: What JSON may give for it.
        canonical: Writes the value as the server does, or raises ValueError.
        problem: Says what is wrong with a value, where that is not simply its type.
    """

    def __init__(
        self,
        name: str,
        accepted: tuple[type, ...],
        canonical: Callable[[Any], object] | None = None,
        problem: Callable[[object], str] | None = None,
    ) -> None:
        self.name = name
        self.accepted = accepted
        self.canonical = canonical
        self.problem = problem

    def clean(self, value: object, findings: Findings, owner: str) -> object:
        if type(value) not in self.accepted:
            if value is None:
                # Go decodes null into the zero value of the type.
                return _ZERO.get(self.name)
            raise self._refusal(value, findings, owner)
        if self.canonical is None:
            return value
        try:
            return self.canonical(value)
        except ValueError as error:
            if self.problem is None and not isinstance(error, InvalidValueError) and str(error):
                raise Mismatch(str(error)) from None
            raise self._refusal(value, findings, owner) from None

    @property
    def simple(self) -> type | None:
        """The one Python type whose values are taken as they are; None if there is more to it."""
        return self.accepted[0] if self.canonical is None and len(self.accepted) == 1 else None

    def go_type(self) -> str:
        return self.name

    def _refusal(self, value: object, findings: Findings, owner: str) -> Mismatch:
        if self.problem is not None:
            return Mismatch(self.problem(value))
        return _mismatch(value, findings, owner, self.name)


class _List:
    def __init__(self, item: _Node) -> None:
        self.item = item
        self.simple = item.simple if isinstance(item, _Leaf) else None

    def clean(self, value: object, findings: Findings, owner: str) -> list[Any]:
        if not isinstance(value, list):
            raise _mismatch(value, findings, owner, self.go_type())
        listed = cast("list[object]", value)
        findings.add_items(len(listed), are_structs=isinstance(self.item, _Struct))
        if self.simple is not None and all(type(each) is self.simple for each in listed):
            return listed[:]
        cleaned: list[Any] = []
        path = findings.path
        for index, each in enumerate(listed):
            path.append(f"[{index}]")
            cleaned.append(self.item.clean({} if each is None else each, findings, owner))
            path.pop()
        return cleaned

    def go_type(self) -> str:
        return f"[]{self.item.go_type()}"


class _Map:
    def __init__(self, item: _Node) -> None:
        self.item = item
        self.simple = item.simple if isinstance(item, _Leaf) else None

    def clean(self, value: object, findings: Findings, owner: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _mismatch(value, findings, owner, self.go_type())
        mapped = cast("dict[str, object]", value)
        if self.simple is not None and all(type(each) is self.simple for each in mapped.values()):
            return mapped.copy()
        cleaned: dict[str, Any] = {}
        path = findings.path
        for key, each in mapped.items():
            path.append(f"{{{key}")
            cleaned[key] = self.item.clean(each, findings, owner)
            path.pop()
        return cleaned

    def go_type(self) -> str:
        return f"map[string]{self.item.go_type()}"


class _Struct:
    """A type of the API; its fields are looked up when the first value comes, because types may nest in themselves."""

    def __init__(self, cls: ApiType) -> None:
        self.cls = cls
        self.name = cls.__name__

    @functools.cached_property
    def fields(self) -> Mapping[str, _Node]:
        return {wire: _node(field.shape, wire) for wire, field in shape.fields_of(self.cls).items()}

    @functools.cached_property
    def simple(self) -> Mapping[str, type]:
        """The fields whose values are taken as they are if they are of this type."""
        leaves = ((wire, node) for wire, node in self.fields.items() if isinstance(node, _Leaf))
        return {wire: leaf.simple for wire, leaf in leaves if leaf.simple is not None}

    @functools.cached_property
    def always(self) -> tuple[tuple[str, object], ...]:
        """What Go writes even if it is not set."""
        found: list[tuple[str, object]] = []
        hints = shape.annotations_of(self.cls)
        for wire, field in shape.fields_of(self.cls).items():
            node = self.fields[wire]
            if (self.is_root and wire in _OWN_WORDS) or wire in self.optional:
                continue
            if wire in self.nulls:
                found.append((wire, None))
            elif type(None) in get_args(hints[field.attribute]):
                continue
            elif isinstance(node, _Struct):
                found.append((wire, node))
            elif isinstance(node, _Leaf) and self.name != "ObjectMeta" and node.name in _ZERO:
                found.append((wire, _ZERO[node.name]))
        return tuple(found)

    @functools.cached_property
    def optional(self) -> frozenset[str]:
        """What may be left out although its type says otherwise."""
        known = NEVER.get(self.name, frozenset()) | NEVER.get(self.go_type(), frozenset())
        return known | zeros_left_out(self.cls)

    @functools.cached_property
    def dropped(self) -> frozenset[str]:
        """What Go leaves out when it is empty or zero: lists, maps and most scalars. An empty struct it writes."""
        listed = frozenset(wire for wire, node in self.fields.items() if isinstance(node, _List | _Map))
        return listed | zeros_left_out(self.cls)

    @functools.cached_property
    def nulls(self) -> frozenset[str]:
        """Lists and times that Go writes as null when they are empty."""
        times = CONDITION_TIMES if self.name.endswith("Condition") else frozenset[str]()
        return (NULLS.get(self.name, frozenset()) | times) & self.fields.keys()

    @functools.cached_property
    def is_root(self) -> bool:
        """Whether this is an object, with a kind and a version."""
        return "apiVersion" in self.fields and "metadata" in self.fields

    def clean(self, value: object, findings: Findings, owner: str) -> Plain:
        if not isinstance(value, dict):
            raise _mismatch(value, findings, owner, self.go_type())
        fields, simple, dropped, path, name = self.fields, self.simple, self.dropped, findings.path, self.name
        cleaned: Plain = {}
        for key, item in cast("dict[str, object]", value).items():
            # Most fields are strings and flags, with nothing to be done about them but to keep them.
            if type(item) is simple.get(key):
                if item or key not in dropped:
                    cleaned[key] = item
                continue
            node = fields.get(key)
            if node is None:
                findings.add_unknown(key)
            elif item is not None:
                path.append(f".{key}")
                made = node.clean(item, findings, name)
                path.pop()
                if made or key not in dropped:
                    cleaned[key] = made
        for key, filler in self.always:
            if key not in cleaned:
                cleaned[key] = filler.clean({}, findings, name) if isinstance(filler, _Struct) else filler
        return cleaned

    def go_type(self) -> str:
        defined_in = str(self.cls.module_globals["__name__"])
        return f"{defined_in.rpartition('.')[2].replace('metadata', 'v1')}.{self.name}"


_ANYTHING: Final = _Anything()
_ZERO: Final[Mapping[str, object]] = {
    "resource.Quantity": "0",
    "string": "",
    "int32": 0,
    "int64": 0,
    "bool": False,
    "float64": 0,
}


class Schema:
    """The schema of one kind.

    Args:
        cls: Its generated class.
    """

    def __init__(self, cls: ApiType) -> None:
        self._root = _struct(cls)

    def clean(self, body: Plain) -> tuple[Plain, list[str]]:
        """Return the object as the server keeps it, without kind and version, and the paths of unknown fields.

        Raises:
            Mismatch: If a value is not of its field's type.
        """
        findings = Findings()
        rest = {key: value for key, value in body.items() if key not in _HEAD}
        return self._root.clean(rest, findings, ""), findings.unknown

    def blank(self, name: str) -> Plain:
        """What a part of the object looks like when nothing in it is set."""
        node = self._root.fields.get(name)
        return node.clean({}, Findings(), "") if isinstance(node, _Struct) else {}


@functools.cache
def schema_of(cls: ApiType) -> Schema:
    """The schema of a kind, made once."""
    return Schema(cls)


@functools.cache
def _struct(cls: ApiType) -> _Struct:
    return _Struct(cls)


def _node(described: shape.Shape, wire: str) -> _Node:
    match described:
        case shape.StructShape():
            return _struct(described.cls)
        case shape.ListShape():
            return _List(_node(described.item, wire))
        case shape.MapShape():
            return _Map(_node(described.value, wire))
        case shape.NullableShape():
            return _node(described.shape, wire)
        case shape.ScalarShape():
            return _leaf(described, wire)
        case _:  # free-form JSON, and the few unions of structs and other things in schemas of schemas
            return _ANYTHING


def _leaf(described: shape.ScalarShape, wire: str) -> _Node:
    exact = described.exact
    for members, make in _LEAVES:
        if all(member in exact for member in members):
            return make(wire)
    # An aware datetime is annotated, and so is never among the types that are taken as they are.
    return _time()


def _time() -> _Leaf:
    layout = "2006-01-02T15:04:05Z07:00"
    return _Leaf("v1.Time", (str,), lambda text: format_time(parse_time(text)), _not_like(layout))


def _micro_time() -> _Leaf:
    layout = "2006-01-02T15:04:05.000000Z07:00"

    def canonical(text: str) -> str:
        if not _SIX_DIGITS.search(text):
            raise ValueError(text)
        return format_micro_time(parse_micro_time(text))

    return _Leaf("v1.MicroTime", (str,), canonical, _not_like(layout))


def _not_like(layout: str) -> Callable[[object], str]:
    """Return the maker of Go's message about an invalid time, which names the first thing that it misses."""

    def problem(value: object) -> str:
        text = value if isinstance(value, str) else ""
        began = _WHOLE_SECONDS.match(text)
        rest, wanted = (text[began.end() :], ".000000") if began and "." in layout else (text, "2006")
        return f'parsing time "{text}" as "{layout}": cannot parse "{rest}" as "{wanted}"'

    return problem


_LONGEST_KEPT: Final = 64


@functools.lru_cache(maxsize=4096)
def _canonical_quantity(text: str) -> str:
    """Write a quantity as the server does; the same few stand in every container."""
    return str(Quantity(text))


def _quantity() -> _Leaf:
    words = "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"

    def canonical(value: str | float) -> str:
        written = str(value)
        return _canonical_quantity(written) if len(written) <= _LONGEST_KEPT else str(Quantity(written))

    return _Leaf("resource.Quantity", (str, int, float), canonical, lambda _: words)


def _checked_base64(value: str) -> str:
    decode_base64(value)
    return value


def _integer(name: str) -> _Leaf:
    limit = 2 ** (int(name.removeprefix("int")) - 1)

    def check(value: int) -> int:
        if not -limit <= value < limit:
            raise ValueError
        return value

    return _Leaf(name, (int,), check)


_SIX_DIGITS: Final = re.compile(r"\.[0-9]{6}(?:Z|[+-])")
_WHOLE_SECONDS: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9]{2}:[0-9]{2}:[0-9]{2}")
_LEAVES: Final[tuple[tuple[tuple[type, ...], Callable[[str], _Node]], ...]] = (
    ((Quantity,), lambda _: _quantity()),
    ((MicroTime,), lambda _: _micro_time()),
    ((bytes,), lambda _: _Leaf("[]uint8", (str,), _checked_base64)),
    ((int, str), lambda _: _Leaf("intstr.IntOrString", (int, str))),
    ((str,), lambda _: _Leaf("string", (str,))),
    ((bool,), lambda _: _Leaf("bool", (bool,))),
    ((float,), lambda _: _Leaf("float64", (int, float))),
    ((int,), lambda wire: _integer("int64" if wire in INT64 else "int32")),
)

_GO_KINDS: Final[Mapping[type, str]] = {
    str: "string",
    bool: "bool",
    dict: "object",
    list: "array",
    int: "number",
    float: "number",
}


def _mismatch(value: object, findings: Findings, owner: str, wanted: str) -> Mismatch:
    got = _GO_KINDS.get(type(value), "null")
    if wanted in {"int32", "int64"} and got == "number":
        got = f"number {value}"
    steps = [step for step in findings.path if not step.startswith(("[", "{"))]
    field = "".join(steps).removeprefix(".")
    return Mismatch(f"json: cannot unmarshal {got} into Go struct field {owner}.{field} of type {wanted}")
