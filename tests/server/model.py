"""A minimal model of an API server for ConfigMaps: a dict, and a list of events."""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import Any

Plain = dict[str, Any]
Key = tuple[str, str]
"""Namespace and name."""
GROUP = "configmaps"
MODIFIED = "the object has been modified; please apply your changes to the latest version and try again"
SYSTEM_FIELDS = ("uid", "creationTimestamp", "deletionTimestamp", "deletionGracePeriodSeconds", "namespace")


class Refused(Exception):  # noqa: N818 - it is an answer
    """Code, reason and message of a Status."""

    def __init__(self, code: int, reason: str, message: str) -> None:
        super().__init__(message)
        self.failure = code, reason, message


@dataclass(frozen=True)
class Happening:
    """One write: the object before and after it; after a deletion None."""

    version: int
    key: Key
    before: Plain | None
    after: Plain | None


class Model:
    """A server with nothing but ConfigMaps.

    Args:
        version: Where the real one stands.
        now: The time, which stands still.
    """

    def __init__(self, version: int, now: str) -> None:
        self.version = version
        self.compacted = 0
        self.now = now
        self.objects: dict[Key, Plain] = {}
        self.history: list[Happening] = []

    def find(self, key: Key) -> Plain:
        found = self.objects.get(key)
        if found is None:
            raise Refused(404, "NotFound", f'{GROUP} "{key[1]}" not found')
        return found

    def create(self, key: Key, sent: Plain, uid: str) -> Plain:
        present = self.objects.get(key)
        if present is not None:
            prefix = "object is being deleted: " if is_deleting(present) else ""
            raise Refused(409, "AlreadyExists", f'{prefix}{GROUP} "{key[1]}" already exists')
        made = copy.deepcopy(sent)
        made["metadata"] |= {"namespace": key[0], "uid": uid, "creationTimestamp": self.now}
        return self._store(key, tidy(self._managed(made)))

    def update(self, key: Key, sent: Plain) -> Plain:
        old = self.find(key)
        version = sent["metadata"].get("resourceVersion")
        if version is not None and version != old["metadata"]["resourceVersion"]:
            problem = f'Operation cannot be fulfilled on {GROUP} "{key[1]}": {MODIFIED}'
            raise Refused(409, "Conflict", problem)
        new = copy.deepcopy(sent)
        meta, kept = new["metadata"], old["metadata"]
        meta |= {field: kept[field] for field in SYSTEM_FIELDS if field in kept}
        meta["resourceVersion"] = kept["resourceVersion"]
        # Whether the object is tracked does not change: what begins without managers stays so.
        new = tidy(self._managed(new) if "managedFields" in kept else new)
        if is_deleting(old):
            self._check_finalizers(key, new, old)
            if not meta.get("finalizers"):
                self._remove(key)
                return new
        return old if new == old else self._store(key, new)

    def patch(self, key: Key, patch: Plain) -> Plain:
        return self.update(key, merged(self.find(key), patch))

    def delete(self, key: Key, *, uid: str | None = None, version: str | None = None) -> Plain | None:
        """Delete an object; returns it if it is still there."""
        found = self.find(key)
        meta = found["metadata"]
        for word, wanted, field, guess in (
            ("UID", uid, "uid", "deleted and then recreated"),
            ("ResourceVersion", version, "resourceVersion", "modified"),
        ):
            if wanted is not None and wanted != meta[field]:
                raise Refused(
                    409,
                    "Conflict",
                    f'Operation cannot be fulfilled on ConfigMap "{key[1]}": the {word} in the precondition '
                    f"({wanted}) does not match the {word} in record ({meta[field]}). "
                    f"The object might have been {guess}",
                )
        if not meta.get("finalizers"):
            self._remove(key)
            return None
        if is_deleting(found):
            return found
        marked = copy.deepcopy(found)
        marked["metadata"] |= {"deletionTimestamp": self.now, "deletionGracePeriodSeconds": 0}
        return self._store(key, marked)

    def at(self, version: int) -> dict[Key, Plain]:
        """Everything as it was."""
        state: dict[Key, Plain] = {}
        for each in self.history:
            if each.version <= version:
                state.pop(each.key, None)
                if each.after is not None:
                    state[each.key] = each.after
        return state

    def select(self, namespace: str, selector: str, version: int, *, after: str = "") -> list[Plain]:
        """A list as it was, from behind a name on."""
        return [
            found
            for key, found in sorted(self.at(version).items())
            if key[0] == namespace and key[1] > after and matches(found, selector)
        ]

    def events(self, namespace: str, selector: str, version: int) -> list[tuple[str, Plain]]:
        """The events of a watch from a version."""
        events = (event(each, selector) for each in self.history if each.version > version and each.key[0] == namespace)
        return [each for each in events if each is not None]

    def _managed(self, made: Plain) -> Plain:
        """An object with its managed fields. All clients of the model are one and the same manager, which has no
        name."""
        entry = {
            "manager": "unknown",
            "operation": "Update",
            "apiVersion": "v1",
            "time": self.now,
            "fieldsType": "FieldsV1",
        }
        made["metadata"].pop("managedFields", None)
        if fields := fields_of(made):
            made["metadata"]["managedFields"] = [{**entry, "fieldsV1": fields}]
        return made

    def _store(self, key: Key, made: Plain) -> Plain:
        self.version += 1
        made["metadata"]["resourceVersion"] = str(self.version)
        self.history.append(Happening(self.version, key, self.objects.get(key), made))
        self.objects[key] = made
        return made

    def _remove(self, key: Key) -> None:
        self.version += 1
        self.history.append(Happening(self.version, key, self.objects.pop(key), None))

    def _check_finalizers(self, key: Key, new: Plain, old: Plain) -> None:
        added = sorted(set(new["metadata"].get("finalizers", ())) - set(old["metadata"].get("finalizers", ())))
        if added:
            listed = ", ".join(f'"{each}"' for each in added)
            problem = "no new finalizers can be added if the object is being deleted, found new finalizers"
            message = f"metadata.finalizers: Forbidden: {problem} []string{{{listed}}}"
            raise Refused(422, "Invalid", f'ConfigMap "{key[1]}" is invalid: {message}')


def event(happening: Happening, selector: str) -> tuple[str, Plain] | None:
    """The watch event of a write, for a selector."""
    before, after = happening.before, happening.after
    was_in = before is not None and matches(before, selector)
    if after is not None and matches(after, selector):
        return ("MODIFIED" if was_in else "ADDED"), after
    if before is None or not was_in:
        return None
    last = copy.deepcopy(before)
    last["metadata"]["resourceVersion"] = str(happening.version)
    return "DELETED", last


def matches(found: Plain, selector: str) -> bool:
    name, _, value = selector.partition("=")
    return not selector or found["metadata"].get("labels", {}).get(name) == value


def is_deleting(found: Plain) -> bool:
    return "deletionTimestamp" in found["metadata"]


def tidy(found: Plain) -> Plain:
    """Drop empty values, as the server does."""
    found["metadata"] = {key: value for key, value in found["metadata"].items() if value or value == 0}
    return {key: value for key, value in found.items() if value}


def fields_of(found: Plain) -> Plain:
    """The fields of a ConfigMap that someone manages."""
    meta: Plain = {}
    if labels := found["metadata"].get("labels"):
        meta["f:labels"] = {".": {}} | {f"f:{label}": {} for label in labels}
    if finalizers := found["metadata"].get("finalizers"):
        meta["f:finalizers"] = {".": {}} | {f'v:"{finalizer}"': {} for finalizer in finalizers}
    fields: Plain = {"f:metadata": meta} if meta else {}
    if data := found.get("data"):
        fields["f:data"] = {".": {}} | {f"f:{each}": {} for each in data}
    return fields


def merged(found: Plain, patch: Plain) -> Plain:
    """Apply a merge patch."""
    result = dict(found)
    for key, value in patch.items():
        if value is None:
            result.pop(key, None)
        elif isinstance(value, dict):
            result[key] = merged(result.get(key) or {}, value)
        else:
            result[key] = value
    return result
