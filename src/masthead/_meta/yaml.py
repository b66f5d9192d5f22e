"""YAML with the semantics of Kubernetes' tools.

PyYAML reads YAML 1.1 in its own way; Kubernetes' tools do not. Here as there, ``22:22`` is text and not a sexagesimal
number, ``2026-01-01`` is text and not a date, ``y`` and ``n`` are booleans, and a duplicate key is an error.
"""

from __future__ import annotations

import io
import itertools
import math
import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

import yaml

from masthead._errors.control_characters import BIDI
from masthead.errors import ArgumentError, DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

# The C parser is ten times faster, but missing if PyYAML was built without libyaml.
if TYPE_CHECKING:
    from yaml import SafeDumper as _BaseDumper
    from yaml import SafeLoader as _BaseLoader
else:
    _BaseLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    _BaseDumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

MAX_DEPTH: Final = 200
"""The maximum nesting of a document; Kubernetes' deepest schemas need a tenth of it."""
MAX_NODES: Final = 2_000_000
"""The maximum number of values with aliases expanded: a few lines of aliases can expand to billions."""
MAX_ALIASED: Final = 10_000
"""The maximum number of values beyond the length of the text, as each literal value takes a character at least."""
MAX_ALIASED_SIZE: Final = 3 * 1024 * 1024
"""The maximum number of characters beyond the length of the text: one long scalar can be aliased thousands of times."""

_MAX_DEPTH: Final = 10_000
"""The maximum nesting of dumped data; deeper data contains itself."""
_WIDTH: Final = 110
_END: Final = object()
_BIDI: Final = re.compile(f"[{BIDI}]")
"""Characters that make a document look like another one. PyYAML takes them for printable."""

_INT: Final = re.compile(r"[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)$")
_FLOAT: Final = re.compile(
    r"[-+]?(?:\.[0-9][0-9_]*|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?$|[-+]?\.(?:inf|Inf|INF)$|\.(?:nan|NaN|NAN)$"
)
_LETTER: Final = re.compile(r"[yYnN]$")
"""The booleans of YAML 1.1 that PyYAML reads as text."""
_BOOL_TAG: Final = "tag:yaml.org,2002:bool"
_FLOAT_TAG: Final = "tag:yaml.org,2002:float"
_INT_TAG: Final = "tag:yaml.org,2002:int"
_STR_TAG: Final = "tag:yaml.org,2002:str"
_NUMBER_TAGS: Final = frozenset({_INT_TAG, _FLOAT_TAG})
_MAX_NUMBER_LENGTH: Final = 512
"""The maximum length of a number; the largest float has 309 digits."""
_JSON_TAGS: Final = frozenset({_BOOL_TAG, _INT_TAG, _FLOAT_TAG, _STR_TAG}) | {
    f"tag:yaml.org,2002:{name}" for name in ("null", "map", "seq")
}
# The last is "=", the unused value tag of YAML 1.1.
_REPLACED_TAGS: Final = frozenset({"tag:yaml.org,2002:timestamp", _INT_TAG, _FLOAT_TAG, "tag:yaml.org,2002:value"})


class _Loader(_BaseLoader):
    """Resolves plain scalars as Kubernetes' tools do."""

    bool_values = {**cast("Any", _BaseLoader).bool_values, "y": True, "n": False}  # noqa: RUF012 - PyYAML's own name


# A copy, because PyYAML shares this table between loaders.
cast("Any", _Loader).yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag not in _REPLACED_TAGS]
    for first, rules in cast("Any", _BaseLoader).yaml_implicit_resolvers.items()
}
cast("Any", _Loader).add_implicit_resolver(_BOOL_TAG, _LETTER, list("yYnN"))
cast("Any", _Loader).add_implicit_resolver(_INT_TAG, _INT, list("-+0123456789"))
cast("Any", _Loader).add_implicit_resolver(_FLOAT_TAG, _FLOAT, list("-+0123456789."))


class _Dumper(_BaseDumper):
    """Quotes text so that every YAML parser reads it as text."""


def _represent_text(dumper: Any, text: str) -> Any:  # noqa: ANN401 - PyYAML's own types are private
    if _BIDI.search(text):
        # Only in double quotes can `dump` write them as escapes.
        return dumper.represent_scalar(_STR_TAG, text, style='"')
    # A literal block is readable; quotes with escapes are not.
    if "\n" in text:
        return dumper.represent_scalar(_STR_TAG, text, style="|")
    # Quoted, so that other parsers do not read a number or a boolean.
    misread = _INT.match(text) or _FLOAT.match(text) or _LETTER.match(text)
    return dumper.represent_scalar(_STR_TAG, text, style="'" if misread else None)


_Dumper.add_representer(str, _represent_text)


def load_all(
    text: bytes | str,
    *,
    kind: str = "",
    keep_empty: bool = False,
    is_measured: bool = False,
    duplicates: list[DuplicateKey] | None = None,
) -> list[object]:
    """Parse all documents of a stream; empty ones are skipped.

    Args:
        text: The stream.
        kind: The expected kind, for error messages only.
        keep_empty: Whether empty documents become None, so that document numbers are right.
        is_measured: Whether the caller has already checked the size with `measure`.
        duplicates: Where duplicate keys are added; their last values count then. Without it, they are errors.

    Raises:
        DecodeError: If it is not YAML, has a duplicate key, or is nested or expanded too much.
    """
    try:
        # Before anything is loaded: aliases can expand a small text to gigabytes.
        if not is_measured:
            _refuse_expansion(text, kind)
        loader: Any = _Loader(text)
        try:
            documents: list[object] = []
            while loader.check_node():
                node = loader.get_node()
                # On the node tree, before Python objects exist.
                _refuse_bad_nodes(node, kind, allow_duplicates=duplicates is not None)
                if duplicates is not None:
                    duplicates.extend(_duplicate_keys(node))
                documents.append(loader.construct_document(node))
        finally:
            loader.dispose()
    except (yaml.YAMLError, ValueError, TypeError, LookupError, AttributeError) as error:
        if isinstance(error, DecodeError):
            # One of the checks above raised it, with its own message.
            raise
        raise DecodeError(_problem(error), kind=kind) from None
    except RecursionError:
        raise DecodeError("nested too deeply", kind=kind) from None
    return documents if keep_empty else [document for document in documents if document is not None]


def load_one(text: bytes | str, *, kind: str = "") -> object:
    """Parse a stream that must contain exactly one document.

    Raises:
        DecodeError: If it has no document or several, or if `load_all` would raise.
    """
    documents = load_all(text, kind=kind)
    # Taking the first of several would drop objects silently.
    if len(documents) != 1:
        found = "no document" if not documents else f"{len(documents)} documents"
        raise DecodeError(f"expected one YAML document, got {found}", kind=kind)
    return documents[0]


def dump(value: object) -> str:
    """Dump one document, with keys in the given order.

    Raises:
        ArgumentError: If it is nested too deeply, or contains itself.
    """
    try:
        text = yaml.dump(
            value, Dumper=_Dumper, sort_keys=False, default_flow_style=False, allow_unicode=True, width=_WIDTH
        )
    except RecursionError:
        # PyYAML's own dumper recurses with three calls per level, so it reaches a third of the supported depth only.
        emit: Any = cast("Any", yaml).emit
        text = cast("str", emit(_events(value), Dumper=_Dumper, allow_unicode=True, width=_WIDTH))
    return _BIDI.sub(lambda found: f"\\u{ord(found[0]):04X}", text)


def _events(document: object) -> Iterator[yaml.Event]:
    """Yield the emitter's events for a document, iteratively."""
    writer: Any = _Dumper(io.StringIO())
    yield yaml.StreamStartEvent()
    yield yaml.DocumentStartEvent(explicit=False)
    levels: list[Iterator[object]] = [iter((document,))]
    while levels:
        value = next(levels[-1], _END)
        if value is _END:
            levels.pop()
        elif isinstance(value, yaml.Event):
            yield value
        elif isinstance(value, dict):
            yield yaml.MappingStartEvent(None, None, implicit=True, flow_style=False)
            parts = itertools.chain.from_iterable(cast("dict[str, object]", value).items())
            levels.append(itertools.chain(parts, (yaml.MappingEndEvent(),)))
        elif isinstance(value, list):
            yield yaml.SequenceStartEvent(None, None, implicit=True, flow_style=False)
            levels.append(itertools.chain(cast("list[object]", value), (yaml.SequenceEndEvent(),)))
        else:
            yield _scalar(writer, value)
        if len(levels) > _MAX_DEPTH:
            raise ArgumentError("cannot be dumped as YAML: nested too deeply")
    yield yaml.DocumentEndEvent(explicit=False)
    yield yaml.StreamEndEvent()


def _scalar(writer: Any, value: object) -> yaml.Event:  # noqa: ANN401 - PyYAML's own types are private
    node = writer.represent_data(value)
    plain, quoted = (
        writer.resolve(yaml.ScalarNode, node.value, implicit) == node.tag for implicit in ((True, False), (False, True))
    )
    return yaml.ScalarEvent(None, node.tag, (plain, quoted), node.value, style=node.style)


def _problem(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    message = getattr(error, "problem", None) or str(error)
    return f"not YAML: {message} (line {mark.line + 1}, column {mark.column + 1})" if mark else f"not YAML: {message}"


class AliasExpansion(NamedTuple):
    """The size of a stream with its aliases expanded.

    Attributes:
        values: The number of values: lists, maps, their keys, and scalars.
        size: The total length of its scalars.
        aliased: The number of values that come from aliases.
    """

    values: int
    size: int
    aliased: int


def measure(text: bytes | str, kind: str = "", *, most: int = MAX_NODES) -> AliasExpansion:
    """Measure the expansion of a stream, in time linear to its length, before it is constructed.

    Args:
        text: The stream.
        kind: The expected kind, for error messages only.
        most: The number of values after which counting stops.

    Raises:
        DecodeError: If it is nested too deeply: libyaml's recursion has no limit.
        YAMLError: If it is not YAML; raised by PyYAML.
    """
    events: Iterator[yaml.Event] = cast("Any", yaml).parse(text, Loader=_Loader)
    anchors: dict[str, tuple[int, int]] = {}
    values = size = aliased = 0
    opened: list[tuple[str | None, int, int]] = []
    for event in events:
        if isinstance(event, yaml.ScalarEvent):
            length = len(event.value)
            values, size = values + 1, size + length
            if event.anchor is not None:
                anchors[event.anchor] = (1, length)
        elif isinstance(event, yaml.AliasEvent):
            if event.anchor in {anchor for anchor, _, _ in opened}:
                raise DecodeError(_at(event, "nested too deeply: an alias within what it names"), kind=kind)
            # An undefined alias is rejected later, by the composer.
            more, longer = anchors.get(cast("str", event.anchor), (1, 0))
            values, size, aliased = values + more, size + longer, aliased + more
        elif isinstance(event, yaml.CollectionStartEvent):
            opened.append((event.anchor, values, size))
            values += 1
            if len(opened) > MAX_DEPTH:
                raise DecodeError(_at(event, "nested too deeply"), kind=kind)
        elif isinstance(event, yaml.CollectionEndEvent):
            anchor, before, shorter = opened.pop()
            if anchor is not None:
                anchors[anchor] = (values - before, size - shorter)
        elif isinstance(event, yaml.DocumentStartEvent):
            anchors.clear()
        if values > most:
            break
    return AliasExpansion(values, size, aliased)


def _refuse_expansion(text: bytes | str, kind: str) -> None:
    """Reject a stream whose aliases expand too much."""
    most = min(MAX_NODES, len(text) + MAX_ALIASED)
    measured = measure(text, kind, most=most)
    if measured.values > most:
        raise DecodeError(f"its aliases expand to over {most:,} values", kind=kind)
    longest = len(text) + MAX_ALIASED_SIZE
    if measured.size > longest:
        raise DecodeError(f"its aliases expand to over {longest:,} characters", kind=kind)


class _NodePath:
    """A node with a link to its parent; the path is built only for an error."""

    __slots__ = ("above", "depth", "node", "step")

    def __init__(self, node: yaml.Node, step: str, above: _NodePath | None) -> None:
        self.node = node
        self.step = step
        self.above = above
        self.depth: int = above.depth + 1 if above else 0

    def path(self) -> str:
        steps: list[str] = []
        place: _NodePath | None = self
        while place is not None and len(steps) < MAX_DEPTH:
            steps.append(place.step)
            place = place.above
        return "".join(reversed(steps)).removeprefix(".")[:1000]


class DuplicateKey(NamedTuple):
    """A key that its map has already.

    Attributes:
        line: The line of its value, counted from one.
        key: The key.
    """

    line: int
    key: str


def _duplicate_keys(root: yaml.Node) -> Iterator[DuplicateKey]:
    """Yield the duplicate keys of a document that is not too deep, each after those in its value."""
    if isinstance(root, yaml.SequenceNode):
        for pair in root.value:
            yield from _duplicate_keys(pair)
    if isinstance(root, yaml.MappingNode):
        seen: set[str] = set()
        for key, value in root.value:
            yield from _duplicate_keys(value)
            if key.tag == _STR_TAG and key.value in seen:
                yield DuplicateKey(value.start_mark.line + 1, key.value)
            seen.add(key.value if key.tag == _STR_TAG else "")


def _refuse_bad_nodes(root: yaml.Node, kind: str, *, allow_duplicates: bool) -> None:
    """Reject values that JSON does not allow, and duplicate keys, before values are constructed."""
    stack = [_NodePath(root, "", None)]
    while stack:
        place = stack.pop()
        if place.depth > MAX_DEPTH:
            raise DecodeError("nested too deeply", kind=kind, path=place.path())
        if problem := _problem_with(place.node):
            raise DecodeError(_at(place.node, problem), kind=kind, path=place.path())
        if isinstance(place.node, yaml.MappingNode):
            _refuse_bad_keys(place, kind, allow_duplicates=allow_duplicates)
        stack.extend(_NodePath(child, step, place) for child, step in _children(place.node))


def _problem_with(node: yaml.Node) -> str:
    if node.tag not in _JSON_TAGS:
        return f"the tag {node.tag.replace('tag:yaml.org,2002:', '!!')} means nothing to Kubernetes"
    if node.tag in _NUMBER_TAGS and isinstance(node.value, str):
        if len(node.value) > _MAX_NUMBER_LENGTH:
            return f"a number of {len(node.value)} characters is not valid in JSON"
        if node.tag == _FLOAT_TAG and not _is_finite(node.value):
            return f"{node.value} is no number that JSON can say"
    return ""


def _is_finite(text: str) -> bool:
    try:
        return math.isfinite(float(text.replace("_", "")))
    except ValueError:
        return False


def _children(node: yaml.Node) -> Iterator[tuple[yaml.Node, str]]:
    if isinstance(node, yaml.MappingNode):
        yield from ((value, f".{key.value}") for key, value in node.value)
    elif isinstance(node, yaml.SequenceNode):
        yield from ((value, f"[{index}]") for index, value in enumerate(node.value))


def _refuse_bad_keys(place: _NodePath, kind: str, *, allow_duplicates: bool) -> None:
    seen: set[str] = set()
    for key, _ in place.node.value:
        if key.tag == "tag:yaml.org,2002:merge":
            continue  # `<<` may occur more than once, and its keys may be overridden.
        if key.tag != _STR_TAG:
            shown = key.value if isinstance(key.value, str) else "a list or map"
            raise DecodeError(_at(key, f"the key {shown} is not text; put it in quotes"), kind=kind, path=place.path())
        if key.value in seen and not allow_duplicates:
            where = _NodePath(key, f".{key.value}", place).path()
            raise DecodeError(_at(key, f'the key "{key.value}" appears twice'), kind=kind, path=where)
        seen.add(key.value)


def _at(node: yaml.Node | yaml.Event, problem: str) -> str:
    mark: Any = node.start_mark
    return f"{problem} (line {mark.line + 1})"
