"""What reprs show: bounded in length, and nothing that is likely to be a secret.

A nested type shows the fields that are set. An object shows which one it is and at which version, and a list how many
objects it has: both end up in logs and tracebacks, and ``to_yaml`` has the rest.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

from masthead._meta.slots import member_of
from masthead._meta.walk import is_struct, set_fields
from masthead.errors import DecodeError

if TYPE_CHECKING:
    from collections.abc import Iterable

    import msgspec

LONGEST: Final = 1000
"""How many characters a type's fields, a list, a map or a text may take."""
LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
"""The annotation in which kubectl keeps what was applied: of a Secret, the secrets."""
_HIDDEN: Final = "<hidden>"


def fields(instance: msgspec.Struct) -> str:
    """The fields that are set."""
    hidden: tuple[str, ...] = cast("Any", instance).SENSITIVE
    return _joined(
        f"{name}={_HIDDEN if name in hidden else _repr_value(value)}" for name, value in set_fields(instance)
    )


def identity(obj: msgspec.Struct) -> str:
    """The name and the version of an object."""
    # Past its descriptor: reading the attribute would bring metadata to life that nobody set.
    held = member_of(type(obj), "metadata").__get__(obj)
    if not is_struct(held):
        return ""
    meta, key = cast("Any", held), cast("Any", obj).key
    named = [brief(key)] if key else []
    if meta.generate_name and not meta.name:
        named.append(f"generate_name={brief(meta.generate_name)}")
    return ", ".join([*named, *_version(meta)])


def kind_and_identity(obj: msgspec.Struct) -> str:
    """What an object is whose class does not say so, its name and its version."""
    one = cast("Any", obj)
    kind = f"{one.api_version} {one.kind}".strip()
    return ", ".join(filter(None, (brief(kind) if kind else "", identity(obj))))


def count(listed: msgspec.Struct) -> str:
    """How many items a list has, and its version."""
    one = cast("Any", listed)
    number = len(one.items)
    return ", ".join([f"{number} {'item' if number == 1 else 'items'}", *_version(one.metadata)])


def brief(text: str) -> str:
    """The repr of a text, cut where it grows too long to be read."""
    return repr(text) if len(text) <= LONGEST else f"{text[:LONGEST]!r}..."


def _version(meta: Any) -> list[str]:  # noqa: ANN401 - ObjectMeta or ListMeta, which import this
    return [f"version={brief(meta.resource_version)}"] if meta.resource_version else []


def _repr_value(value: object) -> str:
    """A value; bytes are left out, because they are mostly keys and passwords."""
    if isinstance(value, bytes):
        return f"<{len(value)} bytes>"
    if isinstance(value, DecodeError):
        return f"<undecodable: {value.path}: {value.problem}>"
    if isinstance(value, list):
        return f"[{_joined(map(_repr_value, cast('list[object]', value)))}]"
    if isinstance(value, dict):
        items = cast("dict[str, object]", value).items()
        pairs = (
            f"{brief(key)}: {_HIDDEN if key == LAST_APPLIED else _repr_value(item)}" for key, item in items
        )
        return "{" + _joined(pairs) + "}"
    return brief(value) if isinstance(value, str) else repr(value)


def _joined(parts: Iterable[str]) -> str:
    """Parts with commas in between, as far as there is room for them; the rest is not even looked at."""
    shown: list[str] = []
    room = LONGEST
    for part in parts:
        if room < len(part):
            shown.append(f"{part[: max(0, room)]}...")
            break
        shown.append(part)
        room -= len(part) + 2
    return ", ".join(shown)
