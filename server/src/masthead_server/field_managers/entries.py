"""The entries of ``metadata.managedFields``, read and written as kube-apiserver does."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, cast

import msgspec

from masthead._meta.quoting import quoted
from masthead._schema.field_sets import FieldSet
from masthead._schema.structured_merge.managers import ManagedSet, ManagerKey, Managers
from masthead.errors import DecodeError
from masthead_server.wire.plain import Plain, text

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = [
    "APPLY",
    "UPDATE",
    "ManagedFields",
    "is_reset",
    "merge_oldest",
    "read_entries",
    "read_stored",
    "write_entries",
]

APPLY: Final = "Apply"
UPDATE: Final = "Update"
_FIELDS_V1: Final = "FieldsV1"
_EPOCH: Final = "1970-01-01T00:00:00Z"
"""The time by which an entry without a time is sorted."""
_MAX_UPDATERS: Final = 10
_OLD_UPDATES: Final = "ancient-changes"


class ManagedFields(NamedTuple):
    """The managers of an object's fields.

    Attributes:
        managers: The fields of each manager.
        times: The time of each manager's last change; None if unknown.
        stored: The entries of the stored object, with their sets. An entry with an unchanged set is written back
            unchanged.
    """

    managers: Managers
    times: dict[ManagerKey, str | None]
    stored: dict[ManagerKey, tuple[ManagedSet, Plain]]

    @property
    def is_stored(self) -> bool:
        """Whether the server itself has written all of them."""
        return len(self.stored) == len(self.managers)

    @classmethod
    def none(cls) -> ManagedFields:
        """Return the managed fields of an object without managers."""
        return cls({}, {}, {})


def is_reset(sent: Sequence[Plain]) -> bool:
    """Tell whether a client asks to drop all entries: it sends an empty list, or one empty entry."""
    return not any(sent) and len(sent) <= 1


def read_entries(entries: Sequence[Plain]) -> ManagedFields:
    """Read entries that a client sent.

    Raises:
        DecodeError: If one is invalid.
    """
    found = ManagedFields.none()
    for index, entry in enumerate(entries):
        _check(entry, index)
        plain: object = entry.get("fieldsV1")
        # Any JSON may come from a client; FieldSet expects a mapping.
        if plain is not None and not isinstance(plain, dict):
            raise _invalid("fieldsV1 must be an object")
        _add(found, entry, FieldSet.from_fields_v1(cast("Plain", plain) if plain else {}))
    return found


def read_stored(entries: Sequence[Plain]) -> ManagedFields:
    """Read the entries of a stored object, which the server itself has written."""
    found = ManagedFields.none()
    for entry in entries:
        # Trusted: the server has written it sorted, so that it is not parsed again.
        key = _add(found, entry, FieldSet(entry["fieldsV1"], is_sorted=True))
        found.stored[key] = (found.managers[key], entry)
    return found


def write_entries(fields: ManagedFields) -> list[Plain]:
    """Write entries in the order in which kube-apiserver lists them."""
    written = [_entry(fields, key) for key in fields.managers]
    return sorted(written, key=_order) if len(written) > 1 else written


def merge_oldest(fields: ManagedFields) -> None:
    """Merge the oldest updates of each version into one entry, in place, down to the server's limit."""
    managers, times = fields.managers, fields.times
    updaters = [key for key in managers if key.operation == UPDATE]
    surplus = len(updaters) - _MAX_UPDATERS
    if surplus <= 0:
        return
    first: dict[str, ManagerKey] = {}
    for key in sorted(updaters, key=lambda key: (times.get(key) or _EPOCH, _identifier(key))):
        version = managers[key].api_version
        if version not in first:
            first[version] = key
            continue
        merged = ManagerKey(_OLD_UPDATES, UPDATE, version, "")
        # A single old entry keeps its manager; a second one turns both into ancient changes.
        if merged not in managers:
            managers[merged] = managers.pop(first[version])
        managers[merged] = ManagedSet(managers[merged].fields | managers[key].fields, version)
        # The update that comes last is the most recent one.
        times[merged] = times.get(key)
        del managers[key]
        surplus -= 1
        if not surplus:
            return


def _identifier(key: ManagerKey) -> bytes:
    """The text by which kube-apiserver sorts managers with equal times."""
    return msgspec.json.encode({name: value for name, value in key._asdict().items() if value})


def _check(entry: Plain, index: int) -> None:
    if text(entry, "operation") not in {APPLY, UPDATE}:
        raise _invalid("operation must be `Apply` or `Update`")
    if not text(entry, "apiVersion"):
        raise _invalid("apiVersion must not be empty")
    fields_type = text(entry, "fieldsType")
    if not fields_type:
        raise _invalid(f"missing fieldsType in managed fields entry {index}")
    if fields_type != _FIELDS_V1:
        raise _invalid(f"invalid fieldsType {quoted(fields_type)} in managed fields entry {index}")


def _add(found: ManagedFields, entry: Plain, fields: FieldSet) -> ManagerKey:
    operation, api_version = entry["operation"], entry["apiVersion"]
    # A manager has one entry for apply, whatever the version; of two entries of one manager, the last one counts.
    version = "" if operation == APPLY else api_version
    key = ManagerKey(text(entry, "manager"), operation, version, text(entry, "subresource"))
    found.managers[key] = ManagedSet(fields, api_version)
    found.times[key] = entry.get("time")
    return key


def _entry(fields: ManagedFields, key: ManagerKey) -> Plain:
    managed, time = fields.managers[key], fields.times.get(key)
    if key in fields.stored:
        before, entry = fields.stored[key]
        # An unchanged set is written back without encoding, which is the costly part of a status update.
        if managed.fields is before.fields and time and "time" in entry:
            return entry if entry["time"] == time else {**entry, "time": time}
    entry = {
        "manager": key.manager,
        "operation": key.operation,
        "apiVersion": managed.api_version,
        "time": time,
        "fieldsType": _FIELDS_V1,
        "fieldsV1": managed.fields.to_fields_v1(),
        "subresource": key.subresource,
    }
    return {name: value for name, value in entry.items() if value or name == "fieldsV1"}


def _order(entry: Plain) -> tuple[str, str, str, str, str]:
    return (
        entry["operation"],
        text(entry, "time") or _EPOCH,
        text(entry, "manager"),
        entry["apiVersion"],
        text(entry, "subresource"),
    )


def _invalid(problem: str) -> DecodeError:
    return DecodeError(problem, path="metadata.managedFields")
