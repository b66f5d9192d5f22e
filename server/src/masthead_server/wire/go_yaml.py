"""YAML as Go decodes it, by way of JSON: its limits, and its messages about malformed YAML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, NamedTuple, cast

from masthead_server.wire.body_limits import MAX_BODY_BYTES, MAX_YAML_VALUES, too_large
from masthead_server.wire.go_scanner import JsonError

if TYPE_CHECKING:
    from masthead._meta.yaml import AliasExpansion, DuplicateKey

__all__ = ["YamlDocument", "decode_yaml"]


class YamlDocument(NamedTuple):
    """A document.

    Attributes:
        value: Its value; its keys are sorted, because Go makes JSON of it, and the last of duplicate ones counts.
        duplicates: The duplicate keys in it.
    """

    value: object
    duplicates: tuple[DuplicateKey, ...]


def decode_yaml(body: bytes) -> YamlDocument:
    """Decode the first YAML document of a body.

    Raises:
        JsonError: If it is not YAML; the message is that of Go's parser.
        StatusFailure: If it is larger than a body may be.
    """
    from masthead._meta import yaml
    from masthead.errors import DecodeError

    try:
        is_measured = _refuse_large_yaml(body)
    except DecodeError:
        # libyaml's own recursion has no limit, so that this body must not be parsed again.
        raise JsonError(f"yaml: {_deep_line(body)}exceeded max depth of {_MAX_DEPTH}") from None
    try:
        found: list[DuplicateKey] = []
        documents = yaml.load_all(body, keep_empty=True, is_measured=is_measured, duplicates=found)
    except DecodeError as error:
        if problem := _yaml_problem(body):
            raise JsonError(f"yaml: {problem}") from None
        raise JsonError(f"yaml: {error}") from None
    return YamlDocument(_sort_keys(documents[0]) if documents else None, tuple(found))


def _sort_keys(value: object) -> object:
    if isinstance(value, dict):
        return {key: _sort_keys(member) for key, member in sorted(cast("dict[str, object]", value).items())}
    if isinstance(value, list):
        return [_sort_keys(item) for item in cast("list[object]", value)]
    return value


def _refuse_large_yaml(body: bytes) -> bool:
    """Refuse a document that would be too large without aliases.

    Returns:
        Whether it could be measured; if not, it is not YAML.

    Raises:
        DecodeError: If it nests too deeply.
        JsonError: If nearly all of it is aliases.
        StatusFailure: If it is too large.
    """
    import yaml as pyyaml

    from masthead._meta import yaml
    from masthead.errors import DecodeError

    try:
        measured = yaml.measure(body, most=MAX_YAML_VALUES)
    except (pyyaml.YAMLError, ValueError) as error:
        if isinstance(error, DecodeError):
            raise
        return False  # the error is found when it is decoded
    # The order of Go's checks: aliases before the size that they expand to.
    if _aliases_too_much(measured):
        raise JsonError("yaml: document contains excessive aliasing")
    if measured.size > MAX_BODY_BYTES:
        raise too_large(f"limit is {MAX_BODY_BYTES}")
    if measured.values > MAX_YAML_VALUES:
        raise too_large(f"limit is {MAX_YAML_VALUES} values in YAML")
    return True


def _aliases_too_much(measured: AliasExpansion) -> bool:
    """Tell whether Go's parser refuses a document for its aliases; their share shrinks with its size."""
    fewest, most = 400_000, 4_000_000
    share = (min(max(measured.values, fewest), most) - fewest) / (most - fewest)
    allowed = 0.99 - 0.89 * share
    # Small documents may alias as they like: the expansion cannot hurt.
    return measured.aliased > 100 and measured.values > 1000 and measured.aliased / measured.values > allowed


_MAX_DEPTH: Final = 10_000
"""The depth limit of Go's parser, which is in the message; here it is `masthead._meta.yaml.MAX_DEPTH`."""


_OPENERS: Final = re.compile(rb"(?:[\[{][^\[{]{0,16}+)++")
_MANY_OPENERS: Final = 100


def _deep_line(body: bytes) -> str:
    """Return the line that nests too deeply, as Go's parser writes it: the first one is left out."""
    for found in _OPENERS.finditer(body):
        if found[0].count(b"[") + found[0].count(b"{") > _MANY_OPENERS:
            line = body.count(b"\n", 0, found.start()) + 1
            return f"line {line}: " if line > 1 else ""
    return ""


def _yaml_problem(body: bytes) -> str:
    """Return libyaml's message about the first document; Go's parser is a port of it."""
    import yaml
    from yaml.scanner import ScannerError

    loader = cast("Any", getattr(yaml, "CSafeLoader", yaml.SafeLoader))(body)
    loader.yaml_implicit_resolvers = {}  # scalars are not resolved, which takes long for long ones
    try:
        loader.check_node()
        loader.get_node()
    except yaml.MarkedYAMLError as error:
        mark = cast("Any", error.problem_mark)
        if error.problem == "found undefined alias":
            line = cast("str", body.decode("utf-8", "replace").splitlines()[mark.line])
            alias = re.compile(r"\*([\w-]*)").match(line, mark.column)
            return f"unknown anchor '{alias[1] if alias else ''}' referenced"
        # Go counts lines from one for an invalid token, from zero for a misplaced one, and leaves
        # the first line out.
        number = mark.line + isinstance(error, ScannerError) if mark.line else 0
        return f"line {number}: {error.problem}" if number else str(error.problem)
    except yaml.YAMLError as error:
        return str(getattr(error, "reason", error))
    finally:
        loader.dispose()
    return ""
