"""The text of ``config view``: a merged kubeconfig, whole or minified, with or without its secrets."""

from __future__ import annotations

import base64
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.kubeconfig_fields import ENTRY_KEYS, shape_entry
from masthead._config.address import mask_password, mask_token
from masthead._meta.plain import part, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._cli.kubeconfigs import Entry, MergedKubeconfig, Section
    from masthead._meta.plain import Plain

__all__ = ["embed_files", "keep_current", "redact", "view_document"]

_REDACTED: Final = "REDACTED"
_OMITTED: Final = "DATA+OMITTED"
_HIDDEN: Final[Mapping[Section, Mapping[str, str]]] = {
    "clusters": {"certificate-authority-data": _OMITTED},
    "users": {
        "client-certificate-data": _OMITTED,
        "client-key-data": _OMITTED,
        "token": _REDACTED,
        "password": _REDACTED,
    },
    "contexts": {},
}
_PROVIDER_SECRETS: Final = frozenset({"id-token", "refresh-token", "access-token", "client-secret"})
"""Secrets of auth providers. differs from kubectl, which shows them."""
_ADDRESSES: Final = frozenset({"server", "proxy-url"})
_FILES: Final[Mapping[Section, tuple[str, ...]]] = {
    "clusters": ("certificate-authority",),
    "users": ("client-certificate", "client-key"),
    "contexts": (),
}
"""The fields that name a file whose content another field may have: that with the suffix ``-data``."""


def keep_current(merged: MergedKubeconfig, context: str | None) -> MergedKubeconfig:
    """Return only the current context, with its cluster and user.

    Args:
        merged: The kubeconfig.
        context: The context to use instead of the current one; None for the current one.

    Raises:
        CommandError: If the context, its cluster or its user does not exist.
    """
    current = context or merged.current_context
    if not current:
        raise CommandError("current-context must exist in order to minify", code=ExitCode.NOT_FOUND)
    content = _pick(merged, "contexts", current, "context")[current].content
    return replace(
        merged,
        current_context=current,
        sections={
            "contexts": _pick(merged, "contexts", current, "context"),
            "clusters": _pick(merged, "clusters", text(content, "cluster"), "cluster"),
            "users": _pick(merged, "users", text(content, "user"), "user"),
        },
    )


def _pick(merged: MergedKubeconfig, section: Section, name: str, kind: str) -> dict[str, Entry]:
    if not name:
        return {}
    found = merged.entries(section).get(name)
    if found is None:
        raise CommandError(f"cannot locate {kind} {name}", code=ExitCode.NOT_FOUND)
    return {name: found}


def embed_files(merged: MergedKubeconfig) -> MergedKubeconfig:
    """Replace the paths of certificates and keys by the content of the files.

    Raises:
        CommandError: If an entry has both.
        OSError: If a file cannot be read.
    """
    return replace(
        merged,
        sections={
            section: {name: _embed(entry, _FILES[section]) for name, entry in found.items()}
            for section, found in merged.sections.items()
        },
    )


def _embed(entry: Entry, fields: tuple[str, ...]) -> Entry:
    content = dict(entry.content)
    for field in fields:
        if not (file := text(content, field)):
            continue
        if content.get(f"{field}-data"):
            raise CommandError(f"{entry.path}: cannot have values for both {field} and {field}-data")
        data = (entry.path.absolute().parent / file).read_bytes()
        content |= {field: "", f"{field}-data": base64.b64encode(data).decode()}
    return replace(entry, content=content)


def view_document(merged: MergedKubeconfig) -> Plain:
    """Return a kubeconfig as one document, in the form of kubectl."""
    shown: Plain = {"apiVersion": "v1", "kind": "Config", "current-context": merged.current_context}
    for section, key in ENTRY_KEYS.items():
        found = merged.entries(section)
        shown[section] = [
            {"name": name, key: shape_entry(section, found[name].content)} for name in sorted(found)
        ] or None
    for field in ("preferences", "extensions"):
        if value := next((document[field] for document in merged.documents.values() if document.get(field)), None):
            shown[field] = value
    return shown


def redact(document: Plain) -> Plain:
    """Return a document of `view_document` without its secrets, and without certificates."""
    redacted = dict(document)
    for section, key in ENTRY_KEYS.items():
        redacted[section] = [
            {**named, key: _redact_entry(named[key], _HIDDEN[section])} for named in document[section] or ()
        ] or None
    return redacted


def _redact_entry(content: Plain, hidden: Mapping[str, str]) -> Plain:
    shown = {key: hidden.get(key, value) if value else value for key, value in content.items()}
    # The embedded server's address contains a token where there is no TLS; proxies often have a password.
    for field in _ADDRESSES & shown.keys():
        if isinstance(address := shown[field], str):
            shown[field] = mask_password(mask_token(address))
    if config := part(content, "auth-provider", "config"):
        tokens = {key: _REDACTED for key in config if key in _PROVIDER_SECRETS}
        shown["auth-provider"] = {**content["auth-provider"], "config": {**config, **tokens}}
    return shown
