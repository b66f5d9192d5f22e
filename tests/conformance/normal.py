"""Responses without what differs from run to run, so that two servers can be compared.

A response keeps its shape: what cannot be the same is replaced by a placeholder in angle brackets.
Versions and uids become numbers, so that it still shows which of them are the same and which is the newer one.
Fields that a manager owned in an earlier step are named by that step, because most steps leave them as they are.
"""

from __future__ import annotations

import base64
import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator

    from tests.conformance.api import Plain, Step

_UID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# Cases that send times send those of the year 2001, and messages about times show one of 2006: these are compared.
_TIME = re.compile(r"(?!2001|2006)\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d(\.\d+)?Z")
_SUFFIX = re.compile(r"[bcdfghjklmnpqrstvwxz2456789]{5}")
_VERSIONS_IN_TEXT = re.compile(
    r"(?P<before>resource ?version(?:: | in the precondition \(| in record \(| in object meta: ))(?P<version>\d+)"
    r"(?:(?P<between> \(|, current: )(?P<newest>\d+))?",
    re.IGNORECASE,
)
# The response to a rejected patch contains the whole object that it would have made.
_OBJECT_IN_TEXT = re.compile(r'"\{\\".*\}"(?=: )')
# A refused change of what is immutable is shown as a difference between structures that only the real server has.
_DIFFERENCE_IN_TEXT = re.compile(r"\n+@@ .*", re.DOTALL)
_OWN_ADDRESS = re.compile(r"(?:127\.0\.0\.[12]|\[::1\]):\d+")
# The port of a scripted webhook behind a Service.
_SERVICE_PORT = re.compile(r"(?<=\.svc:)\d{5}\b")
_CLUSTER_ADDRESS = re.compile(r"10\.\d+\.\d+\.\d+")
# The hash of an OpenAPI document, whose prose only the real server has.
_HASH = re.compile(r"\b[0-9A-F]{128}\b")
# The parts of a signed token, whose claims a case shows where they matter.
_SIGNED_TOKEN = re.compile(r"(?:\beyJ|(?<=\.))[\w-]{60,}")
# Ages of what exists; durations of what has ended are compared.
_AGE = re.compile(r"(?:\d+[dhmsy]){1,2}")
_AGO = re.compile(r"\((?:\d+[dhmsy]){1,2} ago\)")
_AGE_COLUMNS = {"Age", "Completed", "First Seen", "Last Schedule", "Last Seen", "TimeAdded"}
# The real server describes its own columns with prose of the API's documentation, which the embedded one leaves out.
_COMPARED_DESCRIPTIONS = ("Custom resource definition column", "A description of a case")
_OF_ONE_BUILD = {"gitVersion", "gitCommit", "gitTreeState", "buildDate", "goVersion", "compiler", "platform"}


def normalised(steps: list[Step], namespace: str) -> list[Plain]:
    """Return what is recorded and compared of a case's requests and responses."""
    words = _Words(steps, namespace)
    return [words.step(step) for step in steps]


class _Words:
    """The placeholders of one case."""

    def __init__(self, steps: list[Step], namespace: str) -> None:
        self._namespace = namespace
        self._uids: dict[str, str] = {}
        self._object_versions: dict[str, str] = {}
        self._list_versions: set[str] = set()
        self._generated: dict[str, str] = {}
        self._tokens: dict[str, str] = {}
        self._newest = 0
        self._is_own_group = False
        self._number = 0
        self._field_sets: dict[str, int] = {}
        self._sent = {value for step in steps for values in step.query.values() for value in values}
        self._etags = {value for step in steps for value in step.headers.get("ETag", ())}
        self._learn(steps)

    def _learn(self, steps: list[Step]) -> None:
        versions: set[int] = set()
        for step in steps:
            self._learn_generated(_prefix_sent(step), _refused_name(step))
        for found in (found for step in steps for found in _objects_of(step)):
            meta = found["metadata"]
            version = meta.get("resourceVersion")
            if isinstance(version, str) and version.isdecimal():
                if _is_a_moment(found):
                    self._list_versions.add(version)
                else:
                    versions.add(int(version))
            self._learn_generated(str(meta.get("generateName") or ""), str(meta.get("name") or ""))
        self._object_versions = {
            str(version): f"<version {number}>" for number, version in enumerate(sorted(versions), 1)
        }

    def _learn_generated(self, prefix: str, name: str) -> None:
        if prefix and name[:-5] == prefix[:58] and _SUFFIX.fullmatch(name[-5:]):
            self._generated.setdefault(name, f"{name[:-5]}<suffix {len(self._generated) + 1}>")

    def step(self, step: Step) -> Plain:
        """Return a request and its response; what is empty is left out."""
        # The hash depends on the name of the group, and so on that of the case.
        self._is_own_group = step.path.startswith(f"/apis/{self._namespace}.")
        self._number += 1
        result: Plain = {
            "request": f"{step.method} {self._text(step.path)}",
            "query": {name: [self._query_value(name, each) for each in step.query[name]] for name in step.query},
            "sent headers": {name: self._header(value) for name, value in step.sent_headers.items()},
            "sent": self._sent_body(step.sent),
            "status": step.status,
            "headers": {name: [self._header(value) for value in step.headers[name]] for name in step.headers},
            "body": self._value(step.body),
            "error": step.error,
        }
        result = {name: value for name, value in result.items() if value not in (None, {}, "")}
        if step.events is not None:
            result["events"] = [self._value(event) for event in step.events]
        self._newest = max([self._newest, *self._versions_of(step)])
        return result

    def _versions_of(self, step: Step) -> list[int]:
        found = (each["metadata"].get("resourceVersion") for each in _objects_of(step) if not _is_a_moment(each))
        return [int(version) for version in found if version in self._object_versions]

    def _query_value(self, name: str, value: str) -> object:
        if name == "continue":
            return self._token(value, "")
        if name == "resourceVersion" and self._is_known(value):
            return "<a version>"
        return self._text(value)

    def _sent_body(self, sent: object) -> object:
        if isinstance(sent, dict):
            return {key: self._sent_field(key, value) for key, value in sorted(sent.items())}
        if isinstance(sent, list):
            return [self._sent_body(value) for value in sent]
        if isinstance(sent, str):
            return "<a version>" if self._is_known(sent) else self._text(sent)
        return sent

    def _sent_field(self, key: str, value: object) -> object:
        return self._managed_fields(value) if key == "managedFields" else self._sent_body(value)

    def _header(self, value: str) -> str:
        return "<etag>" if value in self._etags else self._text(value)

    def _value(self, value: object) -> Any:
        if isinstance(value, dict):
            return self._object(value)
        if isinstance(value, list):
            return [self._value(item) for item in value]
        return self._text(value) if isinstance(value, str) else value

    def _object(self, found: Plain) -> Plain:
        if found.get("kind") == "Table" and "columnDefinitions" in found:
            found = _without_ages_and_prose(found)
        made: Plain = {}
        # In order, because uids are numbered as they are met.
        for key, value in sorted(found.items()):
            if key == "metadata" and isinstance(value, dict):
                made[key] = self._metadata(value)
            elif key == "storageVersionHash" and self._is_own_group:
                made[key] = "<hash>"
            elif key == "nodePort" and isinstance(value, int):
                made[key] = "<node port>"
            elif key == "resourceVersion" and self._is_known(value):
                made[key] = "<a version>"
            elif key in _OF_ONE_BUILD and "gitVersion" in found:
                made[key] = "<text>"
            elif key == "causes" and isinstance(value, list):
                made[key] = [self._value(cause) for cause in _in_order_of_managers(value)]
            elif key in {"clusterIP", "clusterIPs"}:
                made[key] = _without_addresses(value)
            else:
                made[key] = self._value(value)
        return made

    def _metadata(self, meta: Plain) -> Plain:
        made = self._object({key: value for key, value in meta.items() if key != "managedFields"})
        if "managedFields" in meta:
            made["managedFields"] = self._managed_fields(meta["managedFields"])
        version = meta.get("resourceVersion")
        if isinstance(version, str) and version in self._list_versions and "uid" not in meta:
            old = int(version) < self._newest
            made["resourceVersion"] = f"<list version{' older than the newest object' if old else ''}>"
        elif isinstance(version, str) and version in self._object_versions:
            made["resourceVersion"] = self._object_versions[version]
        if isinstance(meta.get("continue"), str):
            made["continue"] = self._token(meta["continue"], str(version))
        return dict(sorted(made.items()))

    def _managed_fields(self, entries: object) -> object:
        """Return the entries in an order that does not depend on the clock, if they stand in the order of their
        times."""
        if not isinstance(entries, list) or not all(isinstance(entry, dict) for entry in entries):
            return self._value(entries)
        made = [self._managed_entry(entry) for entry in entries]
        return sorted(made, key=_place_of_entry) if entries == sorted(entries, key=_place_of_entry) else made

    def _managed_entry(self, entry: Plain) -> Plain:
        made = self._object({key: value for key, value in entry.items() if key != "fieldsV1"})
        if "fieldsV1" in entry:
            made["fieldsV1"] = self._fields_or_step(self._fields(entry["fieldsV1"]))
        return dict(sorted(made.items()))

    def _fields_or_step(self, fields: object) -> object:
        first = self._field_sets.setdefault(json.dumps(fields), self._number)
        return f"<as in step {first}>" if fields and first < self._number else fields

    def _fields(self, fields: object) -> object:
        """Return a set of fields, whose keys may contain uids and the name of the case."""
        if not isinstance(fields, dict):
            return self._value(fields)
        made = {self._text(key): self._fields(below) for key, below in fields.items()}
        if "f:type" not in made:
            # Whether the time of a condition that another has made changes with it depends on the clock.
            made.pop("f:lastTransitionTime", None)
        return dict(sorted(made.items()))

    def _is_known(self, value: object) -> bool:
        return isinstance(value, str) and (value in self._object_versions or value in self._list_versions)

    def _token(self, token: str, version: str) -> object:
        try:
            parts = json.loads(base64.urlsafe_b64decode(token + "=" * (-len(token) % 4)))
        except ValueError:
            return self._text(token)
        if not isinstance(parts, dict):
            return self._text(token)
        if isinstance(parts.get("rv"), int) and parts["rv"] > 1:
            parts["rv"] = "<list version>" if str(parts["rv"]) == version else "<a version>"
        return {key: self._value(value) for key, value in sorted(parts.items())}

    def _text(self, text: str) -> str:
        for name, word in self._generated.items():
            text = text.replace(name, word)
        text = _OBJECT_IN_TEXT.sub('"<object>"', text)
        text = _DIFFERENCE_IN_TEXT.sub("", text)
        text = text.replace(self._namespace, "<namespace>")
        text = _OWN_ADDRESS.sub("<address of the server>", text)
        text = _SERVICE_PORT.sub("<port>", text)
        text = _HASH.sub("<hash>", text)
        text = _SIGNED_TOKEN.sub(lambda found: self._signed_token(found[0]), text)
        text = _UID.sub(lambda found: self._uid(found[0]), text)
        text = _TIME.sub(lambda found: "<time with a fraction>" if found[1] else "<time>", text)
        return _VERSIONS_IN_TEXT.sub(self._versions_in_text, text)

    def _uid(self, uid: str) -> str:
        return self._uids.setdefault(uid, f"<uid {len(self._uids) + 1}>")

    def _signed_token(self, token: str) -> str:
        return self._tokens.setdefault(token, f"<part {len(self._tokens) + 1} of tokens>")

    def _versions_in_text(self, found: re.Match[str]) -> str:
        version = found["version"]
        is_sent = version in self._sent and not self._is_known(version)
        text = found["before"] + (version if is_sent or version == "0" else "<number>")
        return f"{text}{found['between']}<number>" if found["between"] else text


def _objects_of(step: Step) -> Iterator[Plain]:
    """Everything in a response that has metadata."""
    yield from _within(step.body)
    for event in step.events or ():
        yield from _within(event)


def _prefix_sent(step: Step) -> str:
    meta = step.sent.get("metadata") if isinstance(step.sent, dict) else None
    return str(meta.get("generateName") or "") if isinstance(meta, dict) else ""


def _refused_name(step: Step) -> str:
    details = step.body.get("details") if isinstance(step.body, dict) else None
    return str(details.get("name") or "") if isinstance(details, dict) else ""


def _within(value: object) -> Iterator[Plain]:
    if isinstance(value, dict):
        if isinstance(value.get("metadata"), dict):
            yield value
        for each in value.values():
            yield from _within(each)
    elif isinstance(value, list):
        for each in value:
            yield from _within(each)


def _in_order_of_managers(causes: list[Plain]) -> list[Plain]:
    """Return the causes of a Status with conflicts sorted by manager, whose order the real server leaves to chance."""
    if all(cause.get("reason") == "FieldManagerConflict" for cause in causes):
        return sorted(causes, key=lambda cause: str(cause.get("message")))
    return causes


def _place_of_entry(entry: Plain) -> tuple[str, ...]:
    """Return what the server sorts the entries of managed fields by."""
    return tuple(str(entry.get(key, "")) for key in ("operation", "time", "manager", "apiVersion", "subresource"))


def _is_a_moment(found: Plain) -> bool:
    """Whether a version belongs to a list or a bookmark, which have no uid, instead of an object."""
    return "uid" not in found["metadata"]


def _without_ages_and_prose(table: Plain) -> Plain:
    """Return a Table whose ages, and whose columns' descriptions, do not differ from run to run and server to
    server."""
    columns = table["columnDefinitions"] or []
    names = [column["name"] for column in columns]
    return {
        **table,
        "columnDefinitions": table["columnDefinitions"] and [_without_prose(column) for column in columns],
        "rows": table["rows"] and [{**row, "cells": _without_ages(row["cells"], names)} for row in table["rows"]],
    }


def _without_prose(column: Plain) -> Plain:
    is_compared = str(column.get("description")).startswith(_COMPARED_DESCRIPTIONS)
    return column if is_compared else {**column, "description": "<prose>"}


def _without_ages(cells: list[object], columns: list[str]) -> list[object]:
    """Replace ages in the columns that have them, and in cells of which the column is not known; and addresses."""
    named = zip(cells, columns + [""] * len(cells), strict=False)
    return [
        _without_age(cell)
        if isinstance(cell, str) and (not column or column in _AGE_COLUMNS | {"Restarts"})
        else _without_cluster_address(cell, column)
        for cell, column in named
    ]


def _without_cluster_address(cell: object, column: str) -> object:
    return _without_addresses(cell) if column == "Cluster-IP" else cell


def _without_age(cell: str) -> str:
    return "<age>" if _AGE.fullmatch(cell) else _AGO.sub("(<age> ago)", cell)


def _without_addresses(value: object) -> object:
    if isinstance(value, list):
        return [_without_addresses(each) for each in value]
    return "<cluster address>" if isinstance(value, str) and _CLUSTER_ADDRESS.fullmatch(value) else value
