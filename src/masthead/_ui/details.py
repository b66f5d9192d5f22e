"""All about one object at a position, a change, the difference of two positions, or a reconcile."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, cast

import msgspec
import yaml

from masthead._meta.plain import entries, part, text
from masthead._printers.ages import age, moment
from masthead._printers.layout import cell_text
from masthead._printers.status import status_style
from masthead._recording.differences import FieldChange, compare_objects
from masthead._ui.digests import moment_of
from masthead._ui.masking import is_secret, mask_changes, mask_object

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._ui.digests import Digests
    from masthead._ui.history import History

__all__ = ["Details"]

_MAX_TEXT: Final = 400_000
"""Characters of YAML that are sent: a browser becomes slow with more."""
_MAX_EVENTS: Final = 200
_MAX_VERSIONS: Final = 2_000
_MAX_OBJECTS: Final = 500
_MAX_FIELDS: Final = 200
_MAX_VALUE: Final = 2_000
"""Characters of one value in a difference."""
_dumper: Final = getattr(yaml, "CSafeDumper", yaml.SafeDumper)


class Details:
    """Answers questions about single objects of a history."""

    def __init__(self, history: History, digests: Digests) -> None:
        self._history = history
        self._digests = digests

    async def whole(self, number: int, position: int, now: datetime, *, is_whole: bool) -> dict[str, object] | None:
        """All about an object; None for an unknown one.

        Args:
            number: The number of the object.
            position: The position.
            now: The time that ages refer to.
            is_whole: Whether the YAML has the managed fields as well.
        """
        history, key = self._history, self._history.key(number)
        if key is None:
            return None
        kind, state = history.kinds[key.kind], history.state(number, position)
        versions = history.versions(number)
        found: dict[str, object] = {
            "id": number,
            "kind": kind.kind,
            "kindNumber": key.kind,
            "namespace": key.namespace,
            "name": key.name,
            "state": state,
            "versionCount": len(versions),
            "versions": [[each.position, each.time, each.operation] for each in versions[-_MAX_VERSIONS:]],
        }
        # The history is of use even for an object that did not exist at the moment.
        if state is None:
            return found
        obj = mask_object(history.plain(number, state))
        metadata = part(obj, "metadata")
        found["yaml"] = _yaml(_in_order(obj if is_whole else _without_managers(obj)))
        found["uid"] = text(metadata, "uid")
        found["created"] = text(metadata, "creationTimestamp")
        found["conditions"] = [_condition(each, now) for each in entries(part(obj, "status"), "conditions")]
        found["containers"] = _containers(obj)
        found["owners"] = [[text(owner, "kind"), text(owner, "name")] for owner in entries(metadata, "ownerReferences")]
        found["events"] = await self._events(kind.kind, key.namespace, key.name, text(metadata, "uid"), position, now)
        return found

    async def _events(
        self, kind: str, namespace: str, name: str, uid: str, position: int, now: datetime
    ) -> list[list[str]]:
        """The events of an object, the newest first."""
        found: list[tuple[str, list[str]]] = []
        for number, held in enumerate(self._history.kinds):
            if held.plural != "events":
                continue
            present = self._history.present(position, number)
            await self._digests.prepare(present)
            for event, state in present:
                about = self._digests.of(event, state).about
                if about is None or not (about[0] == uid if about[0] and uid else about[1:] == (kind, namespace, name)):
                    continue
                obj = self._history.plain(event, state)
                found.append(_event(obj, now))
        found.sort(reverse=True)
        return [row for _, row in found[:_MAX_EVENTS]]

    def change(self, position: int) -> dict[str, object]:
        """What one change changed."""
        history = self._history
        number, version = history.number(position), history.version(position)
        before = history.before(position)
        fields: Sequence[FieldChange] = ()
        if before is not None and version.operation not in {"DELETED", "STATE"}:
            fields = self._fields(number, before, position)
        return {
            **self._title(number),
            "position": position,
            "time": version.time,
            "operation": version.operation,
            **_as_data(fields),
        }

    def difference(self, first: int, second: int, number: int | None = None) -> dict[str, object]:
        """What differs between two positions.

        Args:
            first: The earlier position.
            second: The later position.
            number: The only object; None for all.
        """
        history = self._history
        numbers = [number] if number is not None else history.numbers()
        changes: list[dict[str, object]] = []
        hidden = 0
        for each in numbers:
            old, new = history.state(each, first), history.state(each, second)
            # The same position is the same state: most objects are not even read.
            if old == new:
                continue
            if len(changes) >= _MAX_OBJECTS:
                hidden += 1
                continue
            changes += self._object_change(each, old, new)
        changes.sort(key=lambda change: (str(change["kind"]), str(change["namespace"]), str(change["name"])))
        times = [history.version(position).time for position in (first, second)]
        return {"objects": changes, "hidden": hidden, "times": times, "positions": [first, second]}

    def _object_change(self, number: int, old: int | None, new: int | None) -> list[dict[str, object]]:
        title = self._title(number)
        if old is None:
            return [{**title, "type": "added", **_as_data(())}]
        if new is None:
            return [{**title, "type": "removed", **_as_data(())}]
        fields = self._fields(number, old, new)
        return [{**title, "type": "changed", **_as_data(fields)}] if fields else []

    def _fields(self, number: int, old: int, new: int) -> Sequence[FieldChange]:
        before, after = self._history.plain(number, old), self._history.plain(number, new)
        fields = compare_objects(before, after)
        # Compared before they are masked: another password of the same length is a change.
        return mask_changes(fields) if is_secret(after) or is_secret(before) else fields

    def _title(self, number: int) -> dict[str, object]:
        key = self._history.key(number)
        # It may have been forgotten since the page read about it.
        if key is None:
            return {"id": number, "kind": "", "namespace": "", "name": ""}
        kind = self._history.kinds[key.kind].kind
        return {"id": number, "kind": kind, "namespace": key.namespace, "name": key.name}

    def reconcile(self, number: int) -> dict[str, object]:
        """A reconcile: why it ran, what it read and wrote, and how it ended."""
        line = self._history.reconcile(number)
        found = cast("dict[str, object]", msgspec.to_builtins(line))
        # Lines leave out defaults, and "done" is one.
        always = {"time": line.time, "began": line.began, "queued": line.queued, "outcome": line.outcome}
        return {**found, **always, "number": number}


def _as_data(fields: Sequence[FieldChange]) -> dict[str, object]:
    shown = [[each.path, _value(each.before), _value(each.after), each.manager] for each in fields[:_MAX_FIELDS]]
    return {"fields": shown, "hiddenFields": max(0, len(fields) - _MAX_FIELDS)}


def _value(value: object) -> str | None:
    if value is None:
        return None
    # Whole parts come and go with new objects: as JSON, they would be unreadable.
    if isinstance(value, dict | list):
        shown = _yaml(cast("object", value)).rstrip()
    else:
        shown = value if isinstance(value, str) else msgspec.json.encode(value).decode()
    return shown if len(shown) <= _MAX_VALUE else f"{shown[:_MAX_VALUE]}…"


def _yaml(obj: object) -> str:
    shown = str(cast("Any", yaml.dump(obj, Dumper=_dumper, sort_keys=False, allow_unicode=True, width=1_000)))
    return shown if len(shown) <= _MAX_TEXT else f"{shown[:_MAX_TEXT]}\n# … {len(shown) - _MAX_TEXT} more characters"


def _in_order(obj: Plain) -> Plain:
    """An object with its fields in the order of manifests."""
    names = ["apiVersion", "kind", "metadata", *(name for name in obj if name != "status"), "status"]
    return {name: obj[name] for name in names if name in obj}


def _without_managers(obj: Plain) -> Plain:
    metadata = {name: value for name, value in part(obj, "metadata").items() if name != "managedFields"}
    return {**obj, "metadata": metadata}


def _condition(condition: Plain, now: datetime) -> list[str]:
    status = text(condition, "status")
    since = condition.get("lastTransitionTime") or condition.get("lastUpdateTime")
    return [
        text(condition, "type"),
        status,
        text(condition, "reason"),
        age(since, now) if since else "",
        text(condition, "message"),
        status_style(status),
    ]


def _containers(obj: Plain) -> list[str]:
    spec = part(obj, "spec")
    # The main containers first: their logs are what people look for.
    found = [*entries(spec, "containers"), *entries(spec, "initContainers"), *entries(spec, "ephemeralContainers")]
    return [text(each, "name") for each in found] if text(obj, "kind") == "Pod" else []


def _event(obj: Plain, now: datetime) -> tuple[str, list[str]]:
    """When an event occurred last, and its row: type, reason, age, count and message."""
    stamps = (
        part(obj, "series").get("lastObservedTime"),
        obj.get("lastTimestamp"),
        obj.get("eventTime"),
        obj.get("firstTimestamp"),
        part(obj, "metadata").get("creationTimestamp"),
    )
    # Recorders fill different fields.
    at = next((found for stamp in stamps if (found := moment(stamp)) is not None), moment_of(0))
    count = part(obj, "series").get("count") or obj.get("count") or 1
    message = text(obj, "message") or text(obj, "note")
    shown = age(at.isoformat().replace("+00:00", "Z"), now)
    row = [text(obj, "type"), text(obj, "reason"), shown, str(count), cell_text(message)]
    return at.isoformat(), [*row, status_style(text(obj, "type"))]
