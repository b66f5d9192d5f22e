"""Properties of a kubeconfig, as ``config set`` and ``unset`` name them: ``contexts.dev.namespace``. Pure."""

from __future__ import annotations

import base64
import binascii
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.kubeconfig_fields import FIELDS
from masthead._cli.references import nearest

if TYPE_CHECKING:
    from masthead._cli.kubeconfig_fields import FieldType, Section
    from masthead._meta.plain import Plain

__all__ = ["CURRENT_CONTEXT", "Property", "parse_property", "parse_value", "remove_value", "set_value"]

CURRENT_CONTEXT: Final = "current-context"
_TRUE: Final = frozenset(("1", "t", "T", "TRUE", "true", "True"))
_FALSE: Final = frozenset(("0", "f", "F", "FALSE", "false", "False"))


@dataclass(frozen=True, slots=True)
class Property:
    """A property.

    Attributes:
        section: The section; None for the current context.
        name: The name of the entry; empty for the whole section.
        path: The fields, from the outermost one; empty for the whole entry.
        kind: What the field holds.
    """

    section: Section | None
    name: str = ""
    path: tuple[str, ...] = ()
    kind: FieldType = "other"


def parse_property(written: str) -> Property:
    """Parse the name of a property. Names of entries may contain dots: the first known field ends them.

    Raises:
        CommandError: If there is no such property.
    """
    if written == CURRENT_CONTEXT:
        return Property(None, kind="text")
    first, *rest = written.split(".")
    if first not in FIELDS:
        raise _unknown(written, nearest(first, [CURRENT_CONTEXT, *FIELDS]))
    section = cast("Section", first)
    fields = FIELDS[section]
    end = next((at for at, part in enumerate(rest) if at and part in fields), len(rest))
    name, path = ".".join(rest[:end]), tuple(rest[end:])
    # Without a known field, a name with dots may be a misspelt field.
    kind: FieldType = fields
    for at, field in enumerate(path):
        if isinstance(kind, str):
            # The configuration of an auth provider may have any key.
            if path[:at] == ("auth-provider", "config") and at == len(path) - 1:
                return Property(section, name, path, "text")
            raise _unknown(written, f"{'.'.join(path[:at])} has no fields")
        if field not in kind:
            raise _unknown(written, nearest(field, list(kind)))
        kind = kind[field]
    return Property(section, name, path, kind)


def _unknown(written: str, hint: str) -> CommandError:
    return CommandError(f"there is no property {written!r}", hint=hint, code=ExitCode.USAGE)


def parse_value(named: Property, value: str, *, is_raw: bool) -> object:
    """Return the value that a property is set to.

    Args:
        named: The property.
        value: The typed value.
        is_raw: Whether the value of a base64 field is not encoded yet.

    Raises:
        CommandError: If the property cannot have it.
    """
    match named.kind:
        case "text":
            return value
        case "flag" if value in _TRUE | _FALSE:
            return value in _TRUE
        case "flag":
            raise CommandError(f"{value!r} is neither true nor false", code=ExitCode.USAGE)
        case "data":
            return base64.b64encode(value.encode()).decode() if is_raw else _checked_base64(value)
        case _:
            raise CommandError(
                f"{'.'.join(named.path) or named.name or named.section} is no single value",
                hint="masthead config set-cluster, set-credentials and set-context change entries",
                code=ExitCode.USAGE,
            )


def _checked_base64(value: str) -> str:
    try:
        base64.b64decode(value, validate=True)
    except (binascii.Error, ValueError):
        raise CommandError(
            "the value is not base64", hint="--set-raw-bytes takes text that is not encoded yet", code=ExitCode.USAGE
        ) from None
    return value


def set_value(content: Plain, path: tuple[str, ...], value: object) -> None:
    """Set a field of an entry, in place; false is the same as none."""
    if value is False:
        remove_value(content, path)
        return
    *outer, last = path
    for field in outer:
        content[field] = dict(content.get(field) or {})
        content = content[field]
    content[last] = value


def remove_value(content: Plain, path: tuple[str, ...]) -> None:
    """Remove a field of an entry, in place; a missing one is no error."""
    *outer, last = path
    for field in outer:
        if not isinstance(content.get(field), dict):
            return
        content[field] = dict(content[field])
        content = content[field]
    content.pop(last, None)
