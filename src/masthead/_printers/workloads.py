"""Workloads: controllers of pods, their templates and revisions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.plain import entries, flag, integer, part, text
from masthead._printers.formats import (
    container_names_and_images,
    group_resource,
    label_selector,
    label_set,
)
from masthead._printers.printer import AGE, NAME, Column, Printer, age_of, name_of, wide

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["PRINTERS"]

_CONTAINERS: Final = (wide("Containers"), wide("Images"))
_SELECTOR: Final = wide("Selector")
_REPLICAS: Final = (
    NAME,
    Column("Desired", "integer"),
    Column("Current", "integer"),
    Column("Ready", "integer"),
    AGE,
    *_CONTAINERS,
    _SELECTOR,
)


def _template(obj: Plain) -> Plain:
    return part(obj, "spec", "template", "spec")


def _replicas(obj: Plain, now: datetime) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    return [
        name_of(obj),
        integer(spec, "replicas"),
        integer(status, "replicas"),
        integer(status, "readyReplicas"),
        age_of(obj, now),
        *container_names_and_images(_template(obj)),
    ]


def _replication_controller(obj: Plain, now: datetime) -> list[Cell]:
    return [*_replicas(obj, now), label_set(part(obj, "spec"), "selector")]


def _replica_set(obj: Plain, now: datetime) -> list[Cell]:
    return [*_replicas(obj, now), label_selector(part(obj, "spec"), "selector")]


def _deployment(obj: Plain, now: datetime) -> list[Cell]:
    spec, status = part(obj, "spec"), part(obj, "status")
    return [
        name_of(obj),
        f"{integer(status, 'readyReplicas')}/{integer(spec, 'replicas')}",
        integer(status, "updatedReplicas"),
        integer(status, "availableReplicas"),
        age_of(obj, now),
        *container_names_and_images(_template(obj)),
        label_selector(spec, "selector", invalid="<invalid>", empty=""),
    ]


def _stateful_set(obj: Plain, now: datetime) -> list[Cell]:
    ready = integer(part(obj, "status"), "readyReplicas")
    return [
        name_of(obj),
        f"{ready}/{integer(part(obj, 'spec'), 'replicas')}",
        age_of(obj, now),
        *container_names_and_images(_template(obj)),
    ]


def _daemon_set(obj: Plain, now: datetime) -> list[Cell]:
    status = part(obj, "status")
    return [
        name_of(obj),
        integer(status, "desiredNumberScheduled"),
        integer(status, "currentNumberScheduled"),
        integer(status, "numberReady"),
        integer(status, "updatedNumberScheduled"),
        integer(status, "numberAvailable"),
        label_set(_template(obj), "nodeSelector"),
        age_of(obj, now),
        *container_names_and_images(_template(obj)),
        label_selector(part(obj, "spec"), "selector"),
    ]


def _pod_template(obj: Plain, _: datetime) -> list[Cell]:
    names, images = container_names_and_images(part(obj, "template", "spec"))
    return [name_of(obj), names, images, label_set(part(obj, "template", "metadata"), "labels")]


def _controller_revision(obj: Plain, now: datetime) -> list[Cell]:
    return [name_of(obj), _controller(obj), integer(obj, "revision"), age_of(obj, now)]


def _controller(obj: Plain) -> str:
    for owner in entries(part(obj, "metadata"), "ownerReferences"):
        if flag(owner, "controller"):
            # kubectl prints kinds of other groups with their group.
            group = text(owner, "apiVersion").rpartition("/")[0]
            kind = group_resource(group, text(owner, "kind")).lower()
            return f"{kind}/{text(owner, 'name')}" if kind else text(owner, "name")
    return "<none>"


_DEPLOYMENT: Final = Printer(
    (NAME, Column("Ready"), Column("Up-to-date"), Column("Available"), AGE, *_CONTAINERS, _SELECTOR),
    _deployment,
)
_REPLICA_SET: Final = Printer(_REPLICAS, _replica_set)
_DAEMON_SET: Final = Printer(
    (
        NAME,
        Column("Desired", "integer"),
        Column("Current", "integer"),
        Column("Ready", "integer"),
        Column("Up-to-date", "integer"),
        Column("Available", "integer"),
        Column("Node Selector"),
        AGE,
        *_CONTAINERS,
        _SELECTOR,
    ),
    _daemon_set,
)

PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {
    ("", "ReplicationController"): Printer(_REPLICAS, _replication_controller),
    ("", "PodTemplate"): Printer((NAME, Column("Containers"), Column("Images"), Column("Pod Labels")), _pod_template),
    ("apps", "Deployment"): _DEPLOYMENT,
    ("apps", "ReplicaSet"): _REPLICA_SET,
    ("apps", "DaemonSet"): _DAEMON_SET,
    ("apps", "StatefulSet"): Printer((NAME, Column("Ready"), AGE, *_CONTAINERS), _stateful_set),
    ("apps", "ControllerRevision"): Printer(
        (NAME, Column("Controller"), Column("Revision"), AGE), _controller_revision
    ),
    # Where these kinds began.
    ("extensions", "Deployment"): _DEPLOYMENT,
    ("extensions", "ReplicaSet"): _REPLICA_SET,
    ("extensions", "DaemonSet"): _DAEMON_SET,
}
"""The printers, by group and kind."""
