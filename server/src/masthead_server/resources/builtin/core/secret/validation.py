"""Validation of Secrets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, required, too_long
from masthead_server.resources.validation.checks import immutable
from masthead_server.resources.validation.keyed_data import (
    MEGABYTE,
    data_key_errors,
    decoded_data,
    immutable_errors,
)
from masthead_server.wire.go_json import problem_with
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_NEEDED: Final = {
    "kubernetes.io/dockercfg": (".dockercfg",),
    "kubernetes.io/dockerconfigjson": (".dockerconfigjson",),
    "kubernetes.io/tls": ("tls.crt", "tls.key"),
}
"""Keys that a Secret of a type must have."""


def secret_errors(secret: Plain) -> Errors:
    """Return the errors of a Secret."""
    data, kind = part(secret, "data"), text(secret, "type")
    errors = data_key_errors("data", data)
    if sum(len(decoded_data(value)) for value in data.values()) > MEGABYTE:
        errors.append(too_long("data", MEGABYTE))
    errors += [required(f"data[{key}]") for key in _NEEDED.get(kind, ()) if key not in data]
    if kind.startswith("kubernetes.io/dockerc"):
        errors += _json_errors(data, _NEEDED[kind][0])
    elif kind == "kubernetes.io/basic-auth" and not {"username", "password"} & set(data):
        # Either of the two may be absent, but not both.
        errors += [required("data[username]"), required("data[password]")]
    elif kind == "kubernetes.io/ssh-auth" and not data.get("ssh-privatekey"):
        errors.append(required("data[ssh-privatekey]"))
    elif kind == "kubernetes.io/service-account-token":
        key = "kubernetes.io/service-account.name"
        if not part(metadata(secret), "annotations").get(key):
            errors.append(required(f"metadata.annotations[{key}]"))
    return errors


def _json_errors(data: Plain, key: str) -> Errors:
    if key not in data:
        return []
    content = decoded_data(data[key])
    why = problem_with(content) or _other_than_object(content.strip()[:1])
    return [invalid(f"data[{key}]", "<secret contents redacted>", why)] if why else []


_STARTS: Final = {b"[": "array", b'"': "string", b"t": "bool", b"f": "bool"}
"""How values in JSON begin, and what Go calls them; all others are numbers."""


def _other_than_object(start: bytes) -> str:
    if start in {b"{", b"n"}:
        return ""
    kind = _STARTS.get(start, "number")
    return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"


def secret_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a Secret."""
    errors = immutable("type", new.get("type"), old.get("type"))
    return errors + immutable_errors(new, old, "data") + secret_errors(new)
