"""Secrets: defaults, validation and warnings."""

from __future__ import annotations

import base64
import binascii
import re
from collections import deque
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._schema.errors import invalid, required, too_long
from masthead_server.resources.behavior import Behavior, StrategyHooks, always
from masthead_server.resources.defaulting.fill import shape
from masthead_server.resources.validation.checks import immutable
from masthead_server.resources.validation.keyed_data import MEGABYTE, data_key_errors, decoded_data, immutable_errors
from masthead_server.wire.go_json import problem_with
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.resources.behavior import Errors, Fill
    from masthead_server.wire.plain import Plain

DEFAULTS: Final[Fill] = shape(blank={"type": "Opaque"})

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
    # Decoded values count, keys do not: kube-apiserver adds up the lengths of its byte slices.
    if sum(len(decoded_data(value)) for value in data.values()) > MEGABYTE:
        errors.append(too_long("data", MEGABYTE))
    errors += [required(f"data[{key}]") for key in _NEEDED.get(kind, ()) if key not in data]
    # Both docker types hold JSON; the older one is the file of an old client version.
    if kind.startswith("kubernetes.io/dockerc"):
        errors += _json_errors(data, _NEEDED[kind][0])
    elif kind == "kubernetes.io/basic-auth" and not {"username", "password"} & set(data):
        # Either of the two may be absent, but not both.
        errors += [required("data[username]"), required("data[password]")]
    elif kind == "kubernetes.io/ssh-auth" and not data.get("ssh-privatekey"):
        errors.append(required("data[ssh-privatekey]"))
    elif kind == "kubernetes.io/service-account-token":
        key = "kubernetes.io/service-account.name"
        # The token controller finds the account by this annotation, and deletes Secrets of missing accounts.
        if not part(metadata(secret), "annotations").get(key):
            errors.append(required(f"metadata.annotations[{key}]"))
    return errors


def _json_errors(data: Plain, key: str) -> Errors:
    if key not in data:
        return []
    content = decoded_data(data[key])
    why = problem_with(content) or _other_than_object(content.strip()[:1])
    # The content stays out of the message: errors end up in logs.
    return [invalid(f"data[{key}]", "<secret contents redacted>", why)] if why else []


_STARTS: Final = {b"[": "array", b'"': "string", b"t": "bool", b"f": "bool"}
"""How values in JSON begin, and what Go calls them; all others are numbers."""


def _other_than_object(start: bytes) -> str:
    # Go decodes null into a map without an error.
    if start in {b"{", b"n"}:
        return ""
    kind = _STARTS.get(start, "number")
    return f"json: cannot unmarshal {kind} into Go value of type map[string]interface {{}}"


def secret_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a Secret."""
    # A type cannot change, because controllers and kubelets rely on the keys that it guarantees.
    errors = immutable("type", new.get("type"), old.get("type"))
    return errors + immutable_errors(new, old, "data") + secret_errors(new)


_CERTIFICATE: Final = "CERTIFICATE"
_KEY: Final = "PRIVATE KEY"
_SEQUENCE: Final = 0x30
"""The first byte of whatever a certificate or a key may be."""
_MARK: Final = re.compile(rb"^-----(BEGIN|END) ([^\n]*?)-----[ \t]*\r?$", re.MULTILINE)
"""The first or last line of a block."""


class _Block(NamedTuple):
    """A PEM block: its label and its content."""

    kind: str
    content: bytes


# differs from kube-apiserver: it parses certificate and key, and warns if they do not match.
def tls_warnings(obj: Plain) -> list[str]:
    """Return the warnings about the certificate and the key of a TLS Secret."""
    if obj.get("type") != "kubernetes.io/tls":
        return []
    data = part(obj, "data")
    certificates, keys = _blocks(text(data, "tls.crt")), _blocks(text(data, "tls.key"))
    # Only the first problem is a warning, since it comes from a single call of tls.X509KeyPair.
    message = (
        _no_certificate([certificate.kind for certificate in certificates])
        or _no_key([key.kind for key in keys])
        or _parse_problem(certificates, keys)
    )
    return [message] if message else []


def _blocks(encoded: str) -> list[_Block]:
    try:
        text = binascii.a2b_base64(encoded)
    except binascii.Error:
        return []
    blocks: list[_Block] = []
    for kind, body in _iter_blocks(text):
        try:
            content = binascii.a2b_base64(b"".join(body.split()), strict_mode=True)
        except binascii.Error:
            # Go's pem.Decode skips a block whose content is not base64.
            continue
        blocks.append(_Block(kind.decode(errors="replace"), content))
    return blocks


def _iter_blocks(text: bytes) -> Iterator[tuple[bytes, bytes]]:
    """Yield the label and the lines of each block: from its BEGIN line to the next END line with that label."""
    # All marks are found first: a search for the end from each beginning would take quadratic time.
    marks = list(_MARK.finditer(text))
    ends: dict[bytes, deque[re.Match[bytes]]] = {}
    for mark in marks:
        if mark[1] == b"END":
            ends.setdefault(mark[2], deque()).append(mark)
    reached = 0
    for mark in marks:
        if mark[1] == b"END" or mark.start() < reached:
            continue
        of_its_kind = ends.get(mark[2]) or deque[re.Match[bytes]]()
        while of_its_kind and of_its_kind[0].start() < mark.end():
            of_its_kind.popleft()
        if of_its_kind:
            yield mark[2], text[mark.end() + 1 : of_its_kind[0].start()]
            reached = of_its_kind[0].end()


def _no_certificate(kinds: list[str]) -> str:
    if _CERTIFICATE in kinds:
        return ""
    if not kinds:
        return "tls: failed to find any PEM data in certificate input"
    # Exactly one block, or Go's hint about switched inputs does not apply.
    if len(kinds) == 1 and kinds[0].endswith(_KEY):
        return (
            "tls: failed to find certificate PEM data in certificate input, but did find a private key;"
            " PEM inputs may have been switched"
        )
    return (
        'tls: failed to find "CERTIFICATE" PEM block in certificate input after skipping PEM blocks of the'
        f" following types: [{' '.join(kinds)}]"
    )


def _no_key(kinds: list[str]) -> str:
    if any(kind.endswith(_KEY) for kind in kinds):
        return ""
    if not kinds:
        return "tls: failed to find any PEM data in key input"
    if kinds == [_CERTIFICATE]:
        return "tls: found a certificate rather than a key in the PEM for the private key"
    return (
        'tls: failed to find PEM block with type ending in "PRIVATE KEY" in key input after skipping PEM blocks'
        f" of the following types: [{' '.join(kinds)}]"
    )


def _parse_problem(certificates: list[_Block], keys: list[_Block]) -> str:
    certificate = next(block.content for block in certificates if block.kind == _CERTIFICATE)
    key = next(key_block.content for key_block in keys if key_block.kind.endswith(_KEY))
    if certificate[:1] != bytes([_SEQUENCE]):
        return "x509: malformed certificate"
    return "tls: failed to parse private key" if key[:1] != bytes([_SEQUENCE]) else ""


def _set_defaults(secret: Plain) -> None:
    """Set the defaults, and move ``stringData`` to ``data``; a Secret is never read with ``stringData``."""
    DEFAULTS(secret)
    texts = part(secret, "stringData")
    secret.pop("stringData", None)
    if texts:
        encoded = {key: base64.b64encode(value.encode()).decode() for key, value in texts.items()}
        # stringData overrides data, so that a client can send plain text for a key that exists.
        secret["data"] = {**part(secret, "data"), **encoded}


def _carry_secret(new: Plain, old: Plain) -> None:
    # As in kube-apiserver's strategy, although defaulting has usually set Opaque before.
    if not new.get("type"):
        new["type"] = old.get("type")


BEHAVIOR: Final = Behavior(
    defaults=_set_defaults,
    hooks=StrategyHooks(
        prepare_update=_carry_secret,
        validate_create=secret_errors,
        validate_update=secret_changes,
    ),
    warnings=always(tls_warnings),
)
