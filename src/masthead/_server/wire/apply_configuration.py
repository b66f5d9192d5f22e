"""Apply configurations: the body of a server-side apply, which is YAML, and mostly the JSON that is YAML, too."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from masthead._server.wire.failures import bad_request
from masthead._server.wire.go_duplicates import pairs_of
from masthead._server.wire.go_json import JsonError, decode, type_name
from masthead._server.wire.go_yaml import YamlDocument, decode_yaml
from masthead._server.wire.plain import with_integers

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._server.wire.plain import Plain

__all__ = ["decode_configuration", "read_configuration"]

_ESCAPE: Final = rb"\u"
"""Begins an escape that YAML has for no surrogates."""
_LONG_NUMBER: Final = re.compile(rb"[0-9]{19}")
_INT64: Final = 2**63


def decode_configuration(body: bytes) -> YamlDocument:
    """Decode a configuration.

    Raises:
        JsonError: If it is not YAML; the message is that of Go's parser.
        StatusFailure: If it is larger than a body may be.
    """
    found = _decode(body)
    if b"." in body:  # it becomes JSON on its way, in which Go writes whole numbers without a point
        found = found._replace(value=with_integers(found.value))
    return found._replace(value=_with_floats(found.value)) if _LONG_NUMBER.search(body) else found


def _decode(body: bytes) -> YamlDocument:
    # JSON decodes many times faster, and nearly always means the same.
    if body.startswith(b"{") and _ESCAPE not in body:
        try:
            found = decode(body)
        except JsonError:
            return decode_yaml(body)
        if pairs_of(body, found) is None:
            return YamlDocument(found, ())
    return decode_yaml(body)


def _with_floats(value: object) -> object:
    """Return decoded data with floats in place of integers of more than 64 bits, as Go has them."""
    if isinstance(value, int) and not -_INT64 <= value < _INT64:
        return float(value)
    if isinstance(value, dict):
        return {key: _with_floats(each) for key, each in cast("Plain", value).items()}
    return [_with_floats(each) for each in cast("list[object]", value)] if isinstance(value, list) else value


def read_configuration(document: Callable[[], YamlDocument]) -> Plain:
    """Return the configuration in a document; an empty document is an empty one.

    Args:
        document: Returns the document, or raises the error of decoding it.

    Raises:
        StatusFailure: If it is not YAML, or no object.
    """
    try:
        found = document().value
    except JsonError as problem:
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: {problem}") from None
    if found is not None and not isinstance(found, dict):
        mistake = f"json: cannot unmarshal {type_name(found)} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {mistake}")
    return cast("Plain", found or {})
