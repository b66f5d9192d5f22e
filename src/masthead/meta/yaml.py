"""YAML as Kubernetes reads it: one way in, one way out.

PyYAML reads YAML 1.1 to the letter; the API's own tools do not. Here as there, ``22:22`` is text and not a
number to the base of sixty, ``2026-01-01`` is text and not a date, and a key that stands twice is an error.
"""

from __future__ import annotations

import re
from collections.abc import Hashable
from typing import TYPE_CHECKING, Any, Final, cast

import yaml

from masthead.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterator

# The C parser is ten times faster; a PyYAML built without libyaml has only the other.
if TYPE_CHECKING:
    from yaml import SafeDumper as _BaseDumper
    from yaml import SafeLoader as _BaseLoader
else:
    _BaseLoader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    _BaseDumper = getattr(yaml, "CSafeDumper", yaml.SafeDumper)

MAX_DEPTH: Final = 200
"""How deep a document may nest; Kubernetes' deepest schemas need a tenth of it."""
MAX_NODES: Final = 2_000_000
"""How many values a document may expand to, aliases counted each time: a few lines can name billions."""

_INT: Final = re.compile(r"[-+]?(?:0b[01_]+|0o?[0-7_]+|0x[0-9a-fA-F_]+|0|[1-9][0-9_]*)$")
_FLOAT: Final = re.compile(
    r"[-+]?(?:\.[0-9][0-9_]*|[0-9][0-9_]*(?:\.[0-9_]*)?)(?:[eE][-+]?[0-9]+)?$|[-+]?\.(?:inf|Inf|INF)$|\.(?:nan|NaN|NAN)$"
)
_FLOAT_TAG: Final = "tag:yaml.org,2002:float"
_INT_TAG: Final = "tag:yaml.org,2002:int"
# The last is "=", which YAML 1.1 gives a meaning that nobody uses.
_REPLACED_TAGS: Final = frozenset(
    {"tag:yaml.org,2002:timestamp", _INT_TAG, _FLOAT_TAG, "tag:yaml.org,2002:value"}
)


class _Loader(_BaseLoader):
    """Resolves plain words as the API's tools do."""


# PyYAML shares this table between loaders; ours is its own.
cast("Any", _Loader).yaml_implicit_resolvers = {
    first: [(tag, pattern) for tag, pattern in rules if tag not in _REPLACED_TAGS]
    for first, rules in cast("Any", _BaseLoader).yaml_implicit_resolvers.items()
}
cast("Any", _Loader).add_implicit_resolver(_INT_TAG, _INT, list("-+0123456789"))
cast("Any", _Loader).add_implicit_resolver(_FLOAT_TAG, _FLOAT, list("-+0123456789."))


class _Dumper(_BaseDumper):
    """Writes text so that every YAML reader takes it for text."""


def _represent_text(dumper: Any, text: str) -> Any:  # noqa: ANN401 - PyYAML's own types are private
    if "\n" in text:
        return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="|")
    number_like = _INT.match(text) or _FLOAT.match(text)
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style="'" if number_like else None)


_Dumper.add_representer(str, _represent_text)


def load_all(text: bytes | str, *, kind: str = "") -> list[object]:
    """Read every document of a stream; empty ones are left out.

    Args:
        text: The stream.
        kind: What the documents should be; only for the error's message.

    Raises:
        DecodeError: if it is not YAML, a key stands twice, or it nests or expands absurdly.
    """
    try:
        loader: Any = _Loader(text)
        try:
            documents: list[object] = []
            while loader.check_node():
                node = loader.get_node()
                _refuse_bad_nodes(node, kind)
                documents.append(loader.construct_document(node))
        finally:
            loader.dispose()
    except (yaml.YAMLError, UnicodeDecodeError, ValueError, TypeError) as error:
        if isinstance(error, DecodeError):
            raise
        raise DecodeError(_problem(error), kind=kind) from None
    except RecursionError:
        raise DecodeError("nested too deeply", kind=kind) from None
    return [document for document in documents if document is not None]


def load_one(text: bytes | str, *, kind: str = "") -> object:
    """Read a stream that must hold exactly one document.

    Raises:
        DecodeError: if it holds none or several, or `load_all` would raise.
    """
    documents = load_all(text, kind=kind)
    if len(documents) != 1:
        found = "no document" if not documents else f"{len(documents)} documents"
        raise DecodeError(f"expected one YAML document, got {found}", kind=kind)
    return documents[0]


def dump(value: object) -> str:
    """Write one document, keys in the order given."""
    return yaml.dump(
        value, Dumper=_Dumper, sort_keys=False, default_flow_style=False, allow_unicode=True, width=110
    )


def _problem(error: Exception) -> str:
    mark = getattr(error, "problem_mark", None)
    said = getattr(error, "problem", None) or str(error)
    return (
        f"not YAML: {said} (line {mark.line + 1}, column {mark.column + 1})" if mark else f"not YAML: {said}"
    )


def _refuse_bad_nodes(root: yaml.Node, kind: str) -> None:
    """Look for double keys, absurd depth and absurd expansion before anything is made of the nodes."""
    budget = MAX_NODES
    stack: list[tuple[yaml.Node, str, int]] = [(root, "", 0)]
    while stack:
        node, path, depth = stack.pop()
        budget -= 1
        if depth > MAX_DEPTH:
            raise DecodeError("nested too deeply", kind=kind, path=path[:200])
        if budget < 0:
            raise DecodeError(f"its aliases expand to over {MAX_NODES:,} values", kind=kind)
        if isinstance(node, yaml.MappingNode):
            _refuse_double_keys(node, path, kind)
        stack.extend((child, f"{path}{step}", depth + 1) for child, step in _children(node))


def _children(node: yaml.Node) -> Iterator[tuple[yaml.Node, str]]:
    if isinstance(node, yaml.MappingNode):
        yield from ((value, f".{key.value}") for key, value in node.value)
    elif isinstance(node, yaml.SequenceNode):
        yield from ((value, f"[{index}]") for index, value in enumerate(node.value))


def _refuse_double_keys(node: yaml.MappingNode, path: str, kind: str) -> None:
    seen: set[object] = set()
    for key, _ in node.value:
        if not isinstance(key.value, Hashable):
            raise DecodeError(_at(key, "a key must be text"), kind=kind, path=path.removeprefix("."))
        if key.tag == "tag:yaml.org,2002:merge":
            continue  # `<<` may stand more than once, and what it brings may be overridden.
        if key.value in seen:
            where = f"{path}.{key.value}".removeprefix(".")
            raise DecodeError(_at(key, f'the key "{key.value}" appears twice'), kind=kind, path=where)
        seen.add(key.value)


def _at(node: yaml.Node, problem: str) -> str:
    return f"{problem} (line {node.start_mark.line + 1})"
