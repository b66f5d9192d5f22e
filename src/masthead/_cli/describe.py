"""The text of ``describe`` for an object of any kind. Pure: ``now`` is an argument."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from datetime import timedelta
from typing import TYPE_CHECKING, Final

from masthead._cli.describe_pods import pod_sections, template_sections
from masthead._cli.document import Line, Span, fields, heading, line, outline, table
from masthead._cli.object_events import last_seen
from masthead._cli.selected_pods import SelectedPods, selected_pods_section
from masthead._errors.base import counted
from masthead._meta.plain import entries, integer, part, text, texts
from masthead._printers.ages import age, human_duration, moment
from masthead._printers.formats import label_selector
from masthead._printers.kinds import printer_for
from masthead._printers.layout import cell_text
from masthead._printers.status import status_style

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    from masthead._meta.plain import Plain

__all__ = ["Described", "describe"]

_LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_HEAD: Final = frozenset({"apiVersion", "kind", "metadata", "status"})
_SUMMARY: Final = frozenset({"Ready", "Status", "Phase", "Available", "Completions"})
_BETTER_FALSE: Final = re.compile(
    "(Pressure|Unavailable|Fail|Degraded|Stalled|Error|Conflict|Terminating|Disruption|Problem|Deadlock)"
)
_REPLICAS: Final = (
    ("desired", "spec", "replicas"),
    ("current", "status", "replicas"),
    ("updated", "status", "updatedReplicas"),
    ("ready", "status", "readyReplicas"),
    ("available", "status", "availableReplicas"),
    ("unavailable", "status", "unavailableReplicas"),
)


@dataclass(frozen=True, slots=True)
class Described:
    """An object, and what else was found about it.

    Attributes:
        obj: The object.
        events: Its events, newest last.
        problem: Why the events are not known; empty if they are.
        selected: The pods that it selects; None if it does not select pods.
    """

    obj: Plain
    events: Sequence[Plain] = field(default_factory=list["Plain"])
    problem: str = ""
    selected: SelectedPods | None = None


def describe(found: Described, now: datetime) -> list[Line]:
    """Return the lines that describe an object.

    Args:
        found: The object, its events, and its pods.
        now: The time that ages refer to.
    """
    obj = found.obj
    sections = [
        [_title(obj, now)],
        [heading("Metadata"), *_metadata(obj, now)],
        *_body(obj, now),
        selected_pods_section(obj, found.selected, now),
        _conditions(obj, now),
        _events(found, now),
    ]
    lines: list[Line] = []
    for section in filter(None, sections):
        lines += [*([line()] if lines else []), *section]
    return lines


def _title(obj: Plain, now: datetime) -> Line:
    """Kind and name, and the state of the object according to its printer."""
    metadata = part(obj, "metadata")
    where = f"{text(metadata, 'namespace')}/" if text(metadata, "namespace") else ""
    printer = printer_for(text(obj, "apiVersion").rpartition("/")[0], text(obj, "kind"))
    spans = [("  ", ""), (f"{text(obj, 'apiVersion')}", "dim")]
    for column, cell in zip(printer.columns, printer.cells(obj, now), strict=True):
        if column.name in _SUMMARY and (shown := cell_text(cell)):
            label = "" if column.name == "Status" else f"{column.name.lower()} "
            spans += [("  ", ""), (f"{label}{shown}", status_style(shown))]
    return line((f"{text(obj, 'kind')} {where}{text(metadata, 'name')}", "bold"), *spans)


def _metadata(obj: Plain, now: datetime) -> list[Line]:
    metadata = part(obj, "metadata")
    created = text(metadata, "creationTimestamp")
    lines = fields(
        [
            ("created", f"{age(created, now)} ago ({created})" if created else ""),
            ("deleting", _deleting(metadata, now)),
            ("owned by", ", ".join(_owner(entry) for entry in entries(metadata, "ownerReferences"))),
            ("finalizers", ", ".join(texts(metadata, "finalizers"))),
            ("uid", text(metadata, "uid")),
            ("generation", _generation(obj)),
        ]
    )
    # The annotation repeats the whole object as JSON.
    annotations = {key: value for key, value in part(metadata, "annotations").items() if key != _LAST_APPLIED}
    for name, values in (("labels", part(metadata, "labels")), ("annotations", annotations)):
        if values:
            lines += outline({name: values})
    return lines


def _deleting(metadata: Plain, now: datetime) -> str:
    at = moment(metadata.get("deletionTimestamp"))
    if at is None:
        return ""
    left = at - now
    if left > timedelta():
        return f"in {human_duration(left.total_seconds())}"
    return f"overdue for {human_duration(-left.total_seconds())}"


def _owner(reference: Plain) -> str:
    by = f"{text(reference, 'kind')}/{text(reference, 'name')}"
    return f"{by} (its controller)" if reference.get("controller") is True else by


def _generation(obj: Plain) -> str:
    wanted, seen = part(obj, "metadata").get("generation"), part(obj, "status").get("observedGeneration")
    # Equal numbers are the normal case, and many kinds have no `observedGeneration`.
    if wanted is None or seen is None or wanted == seen:
        return ""
    return f"{wanted}, of which its controller has seen {seen}"


def _body(obj: Plain, now: datetime) -> list[list[Line]]:
    """The section that is particular to the kind; for most kinds, their fields."""
    if text(obj, "kind") == "Pod" and text(obj, "apiVersion") == "v1":
        return pod_sections(obj, now)
    if text(obj, "kind") == "Secret" and text(obj, "apiVersion") == "v1":
        return [_secret(obj)]
    template = part(obj, "spec", "template")
    # Recognised by its shape rather than by its kind, so that custom workloads are described as well.
    if part(template, "spec").get("containers"):
        return [_workload(obj), *template_sections(template), _rest_of_status(obj)]
    return _generic(obj)


def _workload(obj: Plain) -> list[Line]:
    """Replicas and their update strategy; then the rest of the spec."""
    spec = dict(part(obj, "spec"))
    counts = [(name, integer(part(obj, where), key)) for name, where, key in _REPLICAS if key in part(obj, where)]
    shown = ", ".join(f"{count} {name}" for name, count in counts)
    selector = label_selector(spec, "selector") if "selector" in spec else ""
    for key in ("template", "replicas", "selector"):
        spec.pop(key, None)
    return [heading("Spec"), *fields([("replicas", shown), ("selector", selector)]), *outline(spec)]


def _rest_of_status(obj: Plain) -> list[Line]:
    known = {"conditions", "observedGeneration", *(key for _, where, key in _REPLICAS if where == "status")}
    return _add_title("Status", {key: value for key, value in part(obj, "status").items() if key not in known})


def _secret(obj: Plain) -> list[Line]:
    """The keys of a Secret, and how long their values are, but never the values."""
    encoded = {**part(obj, "data")}
    # From the length of the base64 text: no value is decoded.
    sizes = [(key, counted(len(str(value).rstrip("=")) * 3 // 4, "byte")) for key, value in encoded.items()]
    return [heading("Data"), *fields([("type", text(obj, "type"))]), *fields(sizes)]


def _generic(obj: Plain) -> list[list[Line]]:
    """Every field but the metadata."""
    # Objects without a spec, such as ConfigMaps and RBAC roles, have their fields at the top.
    rest = {key: value for key, value in obj.items() if key not in _HEAD and value not in (None, {}, [])}
    spec = rest.pop("spec", None)
    plain = {key: value for key, value in rest.items() if not isinstance(value, dict | list)}
    status = {key: value for key, value in part(obj, "status").items() if key != "conditions"}
    return [
        _add_title("Fields", plain),
        _add_title("Spec", spec),
        *(_add_title(key[:1].upper() + key[1:], value) for key, value in rest.items() if key not in plain),
        _add_title("Status", status),
    ]


def _add_title(title: str, value: object) -> list[Line]:
    return [heading(title), *outline(value)] if value not in (None, {}, []) else []


def _conditions(obj: Plain, now: datetime) -> list[Line]:
    found = entries(part(obj, "status"), "conditions")
    rows: list[list[str | Span]] = [
        [
            text(condition, "type"),
            (text(condition, "status"), _condition_style(condition)),
            text(condition, "reason"),
            age(since, now) if (since := _since(condition)) else "",
            " ".join(text(condition, "message").split()),
        ]
        for condition in found
    ]

    return [heading("Conditions"), *table(_CONDITION, rows)] if rows else []


_CONDITION: Final = ("TYPE", "STATUS", "REASON", "SINCE", "MESSAGE")


def _condition_style(condition: Plain) -> str:
    """How good it is that a condition has its status: some are better if they are not true."""
    status = text(condition, "status")
    if not _BETTER_FALSE.search(text(condition, "type")):
        return status_style(status)
    return {"True": "red", "False": "green"}.get(status, status_style(status))


def _since(condition: Plain) -> str:
    return text(condition, "lastTransitionTime") or text(condition, "lastUpdateTime")


def _events(found: Described, now: datetime) -> list[Line]:
    if found.problem:
        return [heading("Events"), line((f"not known: {found.problem}", "yellow"), indent=1)]
    rows: list[list[str | Span]] = [
        [
            (text(event, "type"), status_style(text(event, "type"))),
            text(event, "reason"),
            human_duration((now - last_seen(event)).total_seconds()),
            _count(event),
            text(part(event, "source"), "component") or text(event, "reportingComponent"),
            " ".join(text(event, "message").split()),
        ]
        for event in found.events
    ]

    return [heading("Events"), *table(_EVENT, rows)] if rows else []


_EVENT: Final = ("TYPE", "REASON", "AGE", "TIMES", "FROM", "MESSAGE")


def _count(event: Plain) -> str:
    # New events count in `series`; those of the core API in `count`.
    count = integer(part(event, "series"), "count") or integer(event, "count")
    return str(count) if count > 1 else ""
