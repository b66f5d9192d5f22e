"""Reprs of bounded length that show nothing that is likely to be a secret.

A nested type shows its set fields. An object shows its name and resource version, and a list the number of its items,
because both end up in logs and tracebacks; ``to_yaml`` shows the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from masthead._meta.slots import member_of
from masthead._meta.walk import is_struct, set_fields
from masthead.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import msgspec

MAX_LENGTH: Final = 1000
"""The maximum length of a type's fields, a list, a map or a string."""
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which kubectl stores the applied manifest, which may be that of a Secret."""
_HIDDEN: Final = "<hidden>"


def fields(instance: msgspec.Struct) -> str:
    """Format the fields that are set."""
    hidden: tuple[str, ...] = cast("Any", instance).SENSITIVE
    return _join_parts(
        f"{name}={_HIDDEN if name in hidden else _repr_value(value)}" for name, value in set_fields(instance)
    )


def identity(obj: msgspec.Struct) -> str:
    """Format the name and resource version of an object."""
    # Bypass the descriptor: reading the attribute would create implicit metadata.
    held = member_of(type(obj), "metadata").__get__(obj)
    if not is_struct(held):
        return ""
    meta, key = cast("Any", held), cast("Any", obj).key
    named = [brief(key)] if key else []
    if meta.generate_name and not meta.name:
        named.append(f"generate_name={brief(meta.generate_name)}")
    return ", ".join([*named, *_version(meta)])


def kind_and_identity(obj: msgspec.Struct) -> str:
    """Format kind, name and resource version, for objects whose class does not define the kind."""
    one = cast("Any", obj)
    kind = f"{one.api_version} {one.kind}".strip()
    return ", ".join(filter(None, (brief(kind) if kind else "", identity(obj))))


def count(listed: msgspec.Struct) -> str:
    """Format the number of items and the resource version of a list."""
    one = cast("Any", listed)
    number = len(one.items)
    return ", ".join([f"{number} {'item' if number == 1 else 'items'}", *_version(one.metadata)])


def brief(text: str) -> str:
    """Return the repr of a string, truncated if it is very long."""
    return repr(text) if len(text) <= MAX_LENGTH else f"{text[:MAX_LENGTH]!r}..."


def _version(meta: Any) -> list[str]:  # noqa: ANN401 - ObjectMeta or ListMeta, which import this
    return [f"version={brief(meta.resource_version)}"] if meta.resource_version else []


def _repr_value(value: object) -> str:
    """Format a value; bytes are omitted, because they are mostly keys and passwords."""
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if isinstance(value, DecodeError):
        return f"<undecodable: {value.path}: {value.problem}>"
    if isinstance(value, list):
        return f"[{_join_parts(map(_repr_value, cast('list[object]', value)))}]"
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        # The annotation of kubectl apply contains the whole object, with the data of a Secret.
        pairs = (f"{brief(key)}: {_HIDDEN if key == LAST_APPLIED else _repr_value(item)}" for key, item in items)
        return "{" + _join_parts(pairs) + "}"
    return brief(value) if isinstance(value, str) else repr(value)


def _join_parts(parts: Iterable[str]) -> str:
    """Join parts with commas up to the maximum length; the rest is not evaluated."""
    shown: list[str] = []
    remaining = MAX_LENGTH
    for part in parts:
        if remaining < len(part):
            shown.append(f"{part[: max(0, remaining)]}...")
            break
        shown.append(part)
        remaining -= len(part) + 2
    return ", ".join(shown)
