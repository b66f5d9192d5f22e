"""The fields of kubeconfigs: their types, and the form in which kubectl prints and writes them. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.plain import Plain

__all__ = ["ENTRY_KEYS", "FIELDS", "FieldType", "Fields", "Section", "new_entry", "shape_entry"]

Section: TypeAlias = Literal["clusters", "users", "contexts"]
"""A list of entries of a kubeconfig."""
FieldType: TypeAlias = "Literal['text', 'flag', 'data', 'other'] | Fields"
"""The content of a field: text, a boolean, base64, an object, or something else, such as a list."""
Fields: TypeAlias = "Mapping[str, FieldType]"

ENTRY_KEYS: Final[Mapping[Section, str]] = {"clusters": "cluster", "users": "user", "contexts": "context"}
"""The field with the content of an entry; the other one is its name."""
_EXEC: Final[Fields] = {
    "command": "text",
    "args": "other",
    "env": "other",
    "apiVersion": "text",
    "installHint": "text",
    "provideClusterInfo": "flag",
    "interactiveMode": "text",
}
FIELDS: Final[Mapping[Section, Fields]] = {
    "clusters": {
        "server": "text",
        "tls-server-name": "text",
        "insecure-skip-tls-verify": "flag",
        "certificate-authority": "text",
        "certificate-authority-data": "data",
        "proxy-url": "text",
        "disable-compression": "flag",
        "extensions": "other",
    },
    "users": {
        "client-certificate": "text",
        "client-certificate-data": "data",
        "client-key": "text",
        "client-key-data": "data",
        "token": "text",
        "tokenFile": "text",
        "as": "text",
        "as-uid": "text",
        "as-groups": "other",
        "as-user-extra": "other",
        "username": "text",
        "password": "text",
        "auth-provider": {"name": "text", "config": "other"},
        "exec": _EXEC,
        "extensions": "other",
    },
    "contexts": {"cluster": "text", "user": "text", "namespace": "text", "extensions": "other"},
}
_ALWAYS: Final[Mapping[str, Plain]] = {
    "clusters": {"server": ""},
    "users": {},
    "contexts": {"cluster": "", "user": ""},
    "auth-provider": {"config": None, "name": ""},
    "exec": {"args": None, "command": "", "env": None, "provideClusterInfo": False},
}
"""What kubectl writes even if it is not set."""
_OLD_EXEC: Final = ("client.authentication.k8s.io/v1beta1", "client.authentication.k8s.io/v1alpha1")
"""Versions in which plugins may ask the user unless they say otherwise."""


def new_entry(section: Section) -> Plain:
    """Return the content of a new entry, as kubectl begins it."""
    return dict(_ALWAYS[section])


def shape_entry(section: Section, content: Plain) -> Plain:
    """Return the content of an entry as kubectl prints it: known fields that are set, and some that never are missing.

    Unknown fields are left out, since nothing tells whether they are secret.
    """
    return _shape(section, FIELDS[section], content)


def _shape(name: str, fields: Fields, content: Plain) -> Plain:
    shaped = dict(_ALWAYS[name])
    for key, kind in fields.items():
        value = content.get(key)
        if isinstance(kind, str):
            if value:
                shaped[key] = "".join(value.split()) if kind == "data" else value
        elif value is not None:
            shaped[key] = _shape(key, kind, value)
    if name == "exec" and not shaped.get("interactiveMode") and shaped.get("apiVersion") in _OLD_EXEC:
        shaped["interactiveMode"] = "IfAvailable"
    return shaped
