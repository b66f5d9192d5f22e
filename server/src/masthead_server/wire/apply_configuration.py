"""Apply configurations: the body of a server-side apply, which is YAML, and usually JSON."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, cast

from masthead_server.wire.failures import bad_request
from masthead_server.wire.go_duplicates import pairs_of
from masthead_server.wire.go_json import JsonError, decode, type_name
from masthead_server.wire.go_yaml import YamlDocument, decode_yaml
from masthead_server.wire.plain import with_floats, with_integers

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead_server.wire.plain import Plain

__all__ = ["decode_configuration", "read_configuration"]

_ESCAPE: Final = rb"\u"
"""Begins an escape; YAML does not allow surrogates in it."""
_LONG_NUMBER: Final = re.compile(rb"[0-9]{19}")


def decode_configuration(body: bytes) -> YamlDocument:
    """Decode a configuration.

    Raises:
        JsonError: If it is not YAML; the message is that of Go's parser.
        StatusFailure: If it is larger than a body may be.
    """
    found = _decode(body)
    if b"." in body:  # kube-apiserver converts it to JSON, in which Go writes whole floats as integers
        found = found._replace(value=with_integers(found.value))
    return found._replace(value=with_floats(found.value)) if _LONG_NUMBER.search(body) else found


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


def read_configuration(document: Callable[[], YamlDocument]) -> Plain:
    """Return the configuration in a document; that of an empty document is empty.

    Args:
        document: Returns the document, or raises the error of decoding it.

    Raises:
        StatusFailure: If it is not YAML, or not an object.
    """
    try:
        found = document().value
    except JsonError as problem:
        raise bad_request(f"error decoding YAML: error converting YAML to JSON: {problem}") from None
    if found is not None and not isinstance(found, dict):
        mistake = f"json: cannot unmarshal {type_name(found)} into Go value of type map[string]interface {{}}"
        raise bad_request(f"error decoding YAML: error unmarshaling JSON: while decoding JSON: {mistake}")
    return cast("Plain", found or {})
