"""The pods that a workload or a service selects, or that run on a node, as ``describe`` lists them."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from masthead._cli.document import Line, Span, heading, line, table
from masthead._cli.pods import selector_of
from masthead._meta.plain import entries, part, text
from masthead._printers.kinds import printer_for
from masthead._printers.layout import cell_text
from masthead._printers.status import status_style

if TYPE_CHECKING:
    from collections.abc import Sequence
    from datetime import datetime

    import masthead
    from masthead._meta.object import ObjectList
    from masthead._meta.plain import Plain
    from masthead._meta.unstructured import Unstructured

__all__ = ["SelectedPods", "fetch_selected_pods", "selected_pods_section", "selector_in"]

_SELECTING: Final = frozenset(
    {
        ("", "ReplicationController"),
        ("", "Service"),
        ("apps", "DaemonSet"),
        ("apps", "Deployment"),
        ("apps", "ReplicaSet"),
        ("apps", "StatefulSet"),
        ("batch", "Job"),
    }
)
"""Kinds whose ``spec.selector`` selects pods; that of a claim, for example, selects volumes."""
_SHOWN: Final = 20
_PAGE: Final = 500
_COLUMNS: Final = ("Name", "Ready", "Status", "Restarts", "Age", "Node")
_COLUMNS_ON_NODE: Final = ("Namespace", "Name", "Ready", "Status", "Restarts", "Age")


@dataclass(frozen=True, slots=True)
class SelectedPods:
    """The pods that an object selects, or that run on a node.

    Attributes:
        pods: The pods; of very many, the first page.
        has_more: Whether there are further pages.
        problem: Why the pods are not known; empty if they are.
    """

    pods: Sequence[Plain] = field(default_factory=list["Plain"])
    has_more: bool = False
    problem: str = ""


def selector_in(obj: Plain) -> str:
    """The label selector by which an object selects pods; empty if it does not select any. Pure."""
    group = text(obj, "apiVersion").rpartition("/")[0]
    return selector_of(obj) if (group, text(obj, "kind")) in _SELECTING else ""


def fetch_selected_pods(client: masthead.Client, obj: Plain) -> SelectedPods | None:
    """Fetch the pods that an object selects, or those of a node, in one request.

    Args:
        client: The client.
        obj: The object.

    Returns:
        The pods; None if the object has none to list.

    Raises:
        MastheadError: As any call.
    """
    if _is_node(obj):
        on_node = {"spec.nodeName": text(part(obj, "metadata"), "name")}
        return _first_page(client.dynamic("v1", "pods").list(field_selector=on_node, limit=_PAGE))
    selector = selector_in(obj)
    if not selector:
        return None
    namespace = text(part(obj, "metadata"), "namespace")
    return _first_page(client.dynamic("v1", "pods", namespace=namespace).list(label_selector=selector, limit=_PAGE))


def _first_page(found: ObjectList[Unstructured]) -> SelectedPods:
    return SelectedPods([pod.to_dict() for pod in found], bool(found.metadata.continue_))


def _is_node(obj: Plain) -> bool:
    return (text(obj, "apiVersion"), text(obj, "kind")) == ("v1", "Node")


def selected_pods_section(obj: Plain, selected: SelectedPods | None, now: datetime) -> list[Line]:
    """The section with the pods that an object selects, pods that are not ready first. Pure.

    Args:
        obj: The object that selects them.
        selected: The pods; None if the object does not select pods.
        now: The time that ages refer to.
    """
    if selected is None:
        return []
    title = heading("Pods")
    if selected.problem:
        return [title, line((f"not known: {selected.problem}", "yellow"), indent=1)]
    ordered = sorted(selected.pods, key=_order)
    columns = _COLUMNS_ON_NODE if _is_node(obj) else _COLUMNS
    rows = [_row(pod, now, columns) for pod in ordered[:_SHOWN]]
    lines = [title, *_summary(obj, selected), *table([column.upper() for column in columns], rows)]
    # The first page of a large list: the exact number would need all pages.
    hidden = len(ordered) - _SHOWN
    if hidden > 0 or selected.has_more:
        count = f"at least {max(hidden, 0) + 1}" if selected.has_more else str(hidden)
        lines.append(line((f"... and {count} more", "dim"), indent=1))
    return lines


def _summary(obj: Plain, selected: SelectedPods) -> list[Line]:
    """That there are no pods; and for a service, whether a request has a pod to go to."""
    is_service = text(obj, "kind") == "Service"
    if not selected.pods:
        why = f": no pod has the labels {selector_in(obj)}" if is_service else ""
        return [line((f"none{why}", "yellow" if is_service else "dim"), indent=1)]
    if not is_service:
        return []
    ready, count = sum(map(_is_ready, selected.pods)), len(selected.pods)
    if not ready:
        return [line(("none of them is ready, so the service cannot be reached", "red"), indent=1)]
    more = " or more" if selected.has_more else ""
    return [line((f"{ready} of {count}{more} ready", "green" if ready == count else "yellow"), indent=1)]


def _is_ready(pod: Plain) -> bool:
    """Whether a service sends requests to a pod."""
    conditions = entries(part(pod, "status"), "conditions")
    is_ready = any(
        text(condition, "type") == "Ready" and text(condition, "status") == "True" for condition in conditions
    )
    # Endpoints leave out terminating pods, though they may still report Ready.
    return is_ready and "deletionTimestamp" not in part(pod, "metadata")


def _is_fine(pod: Plain) -> bool:
    # A finished pod of a Job is never ready.
    return _is_ready(pod) or text(part(pod, "status"), "phase") == "Succeeded"


def _order(pod: Plain) -> tuple[bool, str, str]:
    metadata = part(pod, "metadata")
    return _is_fine(pod), text(metadata, "namespace"), text(metadata, "name")


def _row(pod: Plain, now: datetime, columns: Sequence[str]) -> list[str | Span]:
    """The cells of a pod, as ``get pods -A -o wide`` has them."""
    printer = printer_for("", "Pod")
    cells = {
        column.name: cell_text(cell) for column, cell in zip(printer.columns, printer.cells(pod, now), strict=True)
    }
    cells["Namespace"] = text(part(pod, "metadata"), "namespace")
    row: list[str | Span] = []
    for name in columns:
        shown = cells[name].replace("<none>", "")
        row.append((shown, status_style(shown)) if name in {"Ready", "Status"} else shown)
    return row
