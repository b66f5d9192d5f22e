"""A recording of a Deployment's rollout, with reconciles and hostile text, written from the changes of a server."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING, Any, Final, cast

import msgspec

import masthead
import masthead.server
from masthead._recording.entries import Change, KindLine, Listed, Reconcile
from masthead._recording.writer import RecordingWriter

if TYPE_CHECKING:
    from pathlib import Path

    from masthead._recording.entries import Entry

__all__ = ["HOSTILE", "deployment", "write_rollout"]

STEP: Final = 150_000
HOSTILE: Final = '<img src=x onerror="window.hacked=1">'
_PASSWORD: Final = "c2VjcmV0LXZhbHVl"


def deployment(name: str = "web", image: str = "nginx:1.27", replicas: int = 3) -> dict[str, Any]:
    """The manifest of a Deployment."""
    return {
        "apiVersion": "apps/v1",
        "kind": "Deployment",
        "metadata": {"name": name, "labels": {"app": name}, "annotations": {"example.com/note": HOSTILE}},
        "spec": {
            "replicas": replicas,
            "selector": {"matchLabels": {"app": name}},
            "template": {
                "metadata": {"labels": {"app": name}},
                "spec": {"containers": [{"name": "main", "image": image}]},
            },
        },
    }


def write_rollout(path: Path) -> None:
    """Write the recording."""
    with (
        masthead.server.run(record_changes=True, workloads=True) as server,
        masthead.Client(kubeconfig=server.kubeconfig()) as client,
    ):
        client.apply_manifests(
            [
                {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": "shop"}},
                _secret(_PASSWORD),
            ],
            field_manager="test",
        )
        server.block_until_idle()
        since = server.revision
        deployments = client.apps_v1.deployments("shop")
        for image in ("nginx:1.27", "nginx:1.28"):
            deployments.apply(deployment(image=image), field_manager="test")
            server.block_until_idle()
        client.apply_manifests([_secret("b3RoZXItdmFsdWU=")], field_manager="test")
        before = [change for change in server.changes() if change.revision <= since]
        after = server.changes(since)
        served = {str(each.gvr.group_resource): each for each in client.discovery.preferred_resources()}
    # Later than what the objects say about themselves, or their ages would be negative.
    start = round(after[-1].time.timestamp() * 1_000_000) + STEP
    times = itertools.count(start, STEP)
    writer = RecordingWriter(path, now=lambda: next(times))
    numbers: dict[str, int] = {}

    def put(change: Any, op: Any) -> None:
        if (resource := served.get(change.resource)) is None:
            return
        if change.resource not in numbers:
            numbers[change.resource] = len(numbers)
            gvr = resource.gvr
            writer.write(
                KindLine(
                    time=next(times),
                    number=numbers[change.resource],
                    group=gvr.group,
                    version=gvr.version,
                    kind=resource.kind,
                    plural=gvr.resource,
                    namespaced=resource.namespaced,
                    short_names=list(resource.short_names),
                )
            )
        writer.write(_change(change, op, numbers[change.resource], start if op == "STATE" else next(times)))

    # A recorder begins with a list of what there is, one state of each object.
    latest = {(change.resource, change.key): change for change in before}
    for change in latest.values():
        if change.type != "DELETED":
            put(change, "STATE")
    for number in list(numbers.values()):
        writer.write(Listed(time=start, kind=number))
    for change in after:
        put(change, change.type)
    for entry in _reconciles(start, next(times)):
        writer.write(entry)
    writer.close()


def _secret(password: str) -> dict[str, Any]:
    metadata = {"name": "login", "namespace": "shop"}
    return {"apiVersion": "v1", "kind": "Secret", "metadata": metadata, "data": {"password": password}}


def _change(change: Any, op: Any, kind: int, time: int) -> Entry:
    obj = cast("dict[str, Any]", change.object)
    metadata = obj["metadata"]
    return Change(
        time=time,
        kind=kind,
        op=op,
        namespace=metadata.get("namespace", ""),
        name=metadata["name"],
        uid=metadata.get("uid", ""),
        version=metadata.get("resourceVersion", ""),
        object=msgspec.Raw(msgspec.json.encode(obj)),
    )


def _reconciles(start: int, end: int) -> list[Entry]:
    trigger = {"kind": "Deployment", "namespace": "shop", "name": "web", "op": "MODIFIED", "fields": ["spec.replicas"]}
    write = {"verb": "apply", "kind": "ConfigMap", "namespace": "shop", "name": "web", "code": 200, "version": "9"}
    read = {"verb": "get", "kind": "Deployment", "namespace": "shop", "name": "web", "from": "cache"}
    outcomes = ("done", "failed")
    return [
        Reconcile(
            time=start + (end - start) * (at + 1) // 3 + STEP // 2,
            began=start + (end - start) * (at + 1) // 3,
            controller="websites",
            namespace="shop",
            name="web",
            id=f"reconcile-{at}",
            trigger=trigger,
            reads=[read],
            writes=[write],
            outcome=outcome,
            error="ValueError: no\n" if outcome == "failed" else "",
        )
        for at, outcome in enumerate(outcomes)
    ]
