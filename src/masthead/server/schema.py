"""The fields that a kind has, and what its objects look like once the server has read them.

kube-apiserver reads a body into a Go struct and writes that out again. What falls out on the way is gone: unknown
fields, nulls, empty lists. What Go cannot leave out is there even if nobody wrote it: ``"status": {}``, say. And
quantities and times come back in their canonical form. `Schema.clean` does the same to plain data, with the generated
types as its source of truth, and says what it dropped, or where a value is of the wrong type, in Go's words.
"""

from __future__ import annotations

import base64
import binascii
import functools
from typing import TYPE_CHECKING, Any, Final, Protocol, cast

from masthead.errors import InvalidValueError
from masthead.meta import shape
from masthead.meta.quantity import Quantity
from masthead.meta.time import MicroTime, format_micro_time, format_time, parse_micro_time, parse_time

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead.meta.apitype import ApiType
    from masthead.server.plain import Plain

__all__ = ["Mismatch", "Schema", "schema_of"]

_INT64: Final = frozenset(
    [
        "activeDeadlineSeconds",
        "capacity",
        "count",
        "deletionGracePeriodSeconds",
        "expirationSeconds",
        "fsGroup",
        "generation",
        "gid",
        "gracePeriodSeconds",
        "int",
        "maxItems",
        "maxLength",
        "maxProperties",
        "minItems",
        "minLength",
        "minProperties",
        "nodeAllocatableUpdatePeriodSeconds",
        "observedGeneration",
        "remainingItemCount",
        "revision",
        "runAsGroup",
        "runAsUser",
        "seconds",
        "sizeBytes",
        "startingDeadlineSeconds",
        "terminationGracePeriodSeconds",
        "tolerationSeconds",
        "uid",
    ]
)
"""Integers that are 64 bits wide in Go; all others have 32. It shows in error messages only."""
_REQUIRED_LISTS: Final[Mapping[str, frozenset[str]]] = {
    "NodeSelector": frozenset({"nodeSelectorTerms"}),
    "LimitRangeSpec": frozenset({"limits"}),
    "PodSpec": frozenset({"containers"}),
    "HTTPIngressRuleValue": frozenset({"paths"}),
    "PolicyRule": frozenset({"verbs"}),
    "Role": frozenset({"rules"}),
    "ClusterRole": frozenset({"rules"}),
    "CustomResourceDefinitionSpec": frozenset({"versions"}),
    "Endpoint": frozenset({"addresses"}),
    "EndpointSlice": frozenset({"endpoints", "ports"}),
    "CSINodeSpec": frozenset({"drivers"}),
    "MutatingWebhook": frozenset({"admissionReviewVersions"}),
    "ValidatingWebhook": frozenset({"admissionReviewVersions"}),
    "ResourcePolicyRule": frozenset({"apiGroups", "resources", "verbs"}),
    "NonResourcePolicyRule": frozenset({"nonResourceURLs", "verbs"}),
    "SubjectRulesReviewStatus": frozenset({"nonResourceRules", "resourceRules"}),
    "CustomResourceDefinitionStatus": frozenset({"conditions", "storedVersions"}),
    "WorkloadSpec": frozenset({"podGroupTemplates"}),
}
"""Lists that Go writes even when they are empty, and as null when nobody gave them."""


_OWN_WORDS: Final = frozenset({"apiVersion", "kind", "metadata"})
"""What every object has, and nobody need fill in."""


class Mismatch(Exception):  # noqa: N818 - it becomes a Failure on the way out
    """A value is not of its field's type; the message is Go's."""


class Findings:
    """What a reading found on its way.

    Attributes:
        unknown: The paths of fields that the kind does not have.
    """

    def __init__(self) -> None:
        self.unknown: list[str] = []
        self.path: list[str] = []

    def where(self, name: str = "") -> str:
        """The path of a field in the object that is being read."""
        steps = [*self.path, f".{name}"] if name else self.path
        return "".join(steps).removeprefix(".")


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
    """A scalar: of one of a few Python types, and possibly written in another way than it came."""

    def __init__(
        self, name: str, accepted: tuple[type, ...], canonical: Callable[[Any], object] | None = None
    ) -> None:
        self.name = name
        self.accepted = accepted
        self.canonical = canonical

    def clean(self, value: object, findings: Findings, owner: str) -> object:
        if type(value) not in self.accepted:
            if value is None:
                return _ZERO.get(self.name)
            raise _mismatch(value, findings, owner, self.name)
        if self.canonical is None:
            return value
        try:
            return self.canonical(value)
        except (InvalidValueError, ValueError) as error:
            raise Mismatch(self._problem(value, error)) from None

    def go_type(self) -> str:
        return self.name

    def _problem(self, value: object, error: Exception) -> str:
        if self.name == "resource.Quantity":
            return (
                "quantities must match the regular expression '^([+-]?[0-9.]+)([eEinumkKMGTP]*[-+]?[0-9]*)$'"
            )
        if self.name == "v1.Time":
            return f'parsing time "{value}" as "2006-01-02T15:04:05Z07:00": cannot parse "{value}" as "2006"'
        return str(error)


class _List:
    def __init__(self, item: _Node) -> None:
        self.item = item

    def clean(self, value: object, findings: Findings, owner: str) -> list[Any]:
        if not isinstance(value, list):
            raise _mismatch(value, findings, owner, self.go_type())
        listed = cast("list[object]", value)
        if type(self.item) is _Leaf and self.item.canonical is None:
            return [self.item.clean(each, findings, owner) for each in listed]
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

    def clean(self, value: object, findings: Findings, owner: str) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise _mismatch(value, findings, owner, self.go_type())
        cleaned: dict[str, Any] = {}
        path = findings.path
        for key, each in cast("dict[str, object]", value).items():
            path.append(f".{key}")
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
    def always(self) -> tuple[tuple[str, object], ...]:
        """What Go writes even if nobody set it; lists come as null then."""
        found: list[tuple[str, object]] = []
        required = _REQUIRED_LISTS.get(self.name, frozenset())
        for wire, field in shape.fields_of(self.cls).items():
            node = self.fields[wire]
            if wire in _OWN_WORDS:
                continue
            if wire in required:
                found.append((wire, None))
            elif isinstance(node, _Struct) and field.default is not None:
                found.append((wire, node))
            elif isinstance(node, _Leaf) and field.default is not None and self.name != "ObjectMeta":
                found.append((wire, _ZERO.get(node.name)))
        return tuple(found)

    @functools.cached_property
    def kept_empty(self) -> frozenset[str]:
        """Fields that stay even if they hold an empty list or map."""
        return _REQUIRED_LISTS.get(self.name, frozenset())

    def clean(self, value: object, findings: Findings, owner: str) -> Plain:
        if not isinstance(value, dict):
            raise _mismatch(value, findings, owner, self.go_type())
        fields, path, name = self.fields, findings.path, self.name
        cleaned: Plain = {}
        for key, item in cast("dict[str, object]", value).items():
            node = fields.get(key)
            if node is None:
                findings.unknown.append(findings.where(key))
            elif item is not None:
                path.append(f".{key}")
                made = node.clean(item, findings, name)
                path.pop()
                # An empty list or map is left out in Go; an empty struct is not.
                if made or not isinstance(node, _List | _Map) or key in self.kept_empty:
                    cleaned[key] = made
        for key, filler in self.always:
            if key not in cleaned:
                cleaned[key] = filler.clean({}, findings, name) if isinstance(filler, _Struct) else filler
        return cleaned

    def go_type(self) -> str:
        return f"{self.cls.__module__.rpartition('.')[2].replace('metadata', 'v1')}.{self.name}"


_ANYTHING: Final = _Anything()
_ZERO: Final[Mapping[str, object]] = {"string": "", "int32": 0, "int64": 0, "bool": False, "float64": 0}


class Schema:
    """The schema of one kind.

    Args:
        cls: Its generated class.
    """

    def __init__(self, cls: ApiType) -> None:
        self._root = _struct(cls)

    def clean(self, body: Plain) -> tuple[Plain, list[str]]:
        """Return the object as the server keeps it, and the paths of the fields that the kind does not have.

        Raises:
            Mismatch: A value is not of its field's type.
        """
        findings = Findings()
        head = {key: body[key] for key in ("apiVersion", "kind") if key in body}
        rest = {key: value for key, value in body.items() if key not in head}
        return {**head, **self._root.clean(rest, findings, "")}, findings.unknown

    def blank(self, name: str) -> Plain:
        """What a part of the object looks like when nothing in it is set."""
        node = self._root.fields.get(name)
        return node.clean({}, Findings(), "") if isinstance(node, _Struct) else {}

    def is_struct(self, path: tuple[str, ...]) -> bool:
        """Tell whether a path of fields ends in a type of the API."""
        node: _Node | None = self._root
        for step in path:
            node = node.fields.get(step) if isinstance(node, _Struct) else None
        return isinstance(node, _Struct)


@functools.cache
def schema_of(cls: ApiType) -> Schema:
    """The schema of a kind, made once."""
    return Schema(cls)


@functools.cache
def _struct(cls: ApiType) -> _Struct:
    return _Struct(cls)


def _node(described: shape.Shape, wire: str) -> _Node:
    match described:
        case shape.StructOf():
            return _struct(described.cls)
        case shape.ListOf():
            return _List(_node(described.item, wire))
        case shape.MapOf():
            return _Map(_node(described.value, wire))
        case shape.Nullable():
            return _node(described.shape, wire)
        case shape.Scalar():
            return _leaf(described, wire)
        case _:  # free-form JSON, and the few unions of structs and other things in schemas of schemas
            return _ANYTHING


def _leaf(described: shape.Scalar, wire: str) -> _Node:
    exact = described.exact
    for members, make in _LEAVES:
        if all(member in exact for member in members):
            return make(wire)
    # An aware datetime is annotated, and so is never among the types that are taken as they are.
    return _Leaf("v1.Time", (str,), lambda text: format_time(parse_time(text)))


def _canonical_quantity(value: object) -> str:
    return str(Quantity(str(value)))


def _checked_base64(value: str) -> str:
    try:
        base64.b64decode(value, validate=True)
    except binascii.Error:
        raise ValueError(f"illegal base64 data at input byte {_bad_byte(value)}") from None
    return value


def _bad_byte(value: str) -> int:
    alphabet = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/")
    return next((index for index, each in enumerate(value) if each not in alphabet), len(value) // 4 * 4)


def _integer(name: str) -> _Leaf:
    limit = 2 ** (int(name.removeprefix("int")) - 1)

    def check(value: int) -> int:
        if not -limit <= value < limit:
            raise ValueError(f"json: cannot unmarshal number {value} into Go value of type {name}")
        return value

    return _Leaf(name, (int,), check)


_LEAVES: Final[tuple[tuple[tuple[type, ...], Callable[[str], _Node]], ...]] = (
    ((Quantity,), lambda _: _Leaf("resource.Quantity", (str, int, float), _canonical_quantity)),
    (
        (MicroTime,),
        lambda _: _Leaf("v1.MicroTime", (str,), lambda text: format_micro_time(parse_micro_time(text))),
    ),
    ((bytes,), lambda _: _Leaf("[]uint8", (str,), _checked_base64)),
    ((int, str), lambda _: _Leaf("intstr.IntOrString", (int, str))),
    ((str,), lambda _: _Leaf("string", (str,))),
    ((bool,), lambda _: _Leaf("bool", (bool,))),
    ((float,), lambda _: _Leaf("float64", (int, float))),
    ((int,), lambda wire: _integer("int64" if wire in _INT64 else "int32")),
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
    if isinstance(value, float) and wanted in {"int32", "int64"}:
        got = f"number {value}"
    steps = [step for step in findings.path if not step.startswith("[")]
    field = "".join(steps).removeprefix(".")
    return Mismatch(f"json: cannot unmarshal {got} into Go struct field {owner}.{field} of type {wanted}")
