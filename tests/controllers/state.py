"""The state of a scenario's namespace, without what differs from run to run."""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from tests.controllers.moments import Moments

_UID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_GENERATED = re.compile(r"\b([a-z][a-z0-9.{}-]*)-[bcdfghjklmnpqrstvwxz2456789]{5}\b(?!-)")
"""A generated name: its suffix has no vowels, and all names of scenarios do."""
_HASH = re.compile(r"(?<=[-\"])[bcdfghjklmnpqrstvwxz0-9]{8,10}(?=[-\\\" ,])")
"""The hash of a template, which each server computes its own way."""
_VOLATILE = ("uid", "resourceVersion", "managedFields", "selfLink", "creationTimestamp")
_REPEATED = frozenset(
    {
        "CalculateExpectedPodCountFailed",
        "FailedCreate",
        "FailedResourceClaimCreation",
        "FailedToUpdateEndpoint",
        "FailedToUpdateEndpointSlices",
        "JobAlreadyActive",
        "MissSchedule",
        "NoControllers",
        "NoPods",
        "TooManyMissedTimes",
        "UnexpectedJob",
        "UnmanagedPods",
    }
)
"""Reasons of events of each attempt or sync; their number depends on time, and on how many writes a sync follows."""
_REPEATED_BY = frozenset({("SuccessfulDelete", "cronjob-controller")})
"""The same of one component: a Job that a finalizer holds is deleted by each sync."""

State = dict[str, list[Any]]
"""Normalised objects by resource, sorted; ``events`` are `[kind, name, type, reason, message, component, count]`."""


def normalised(objects: Mapping[str, Iterable[Any]], namespace: str, moments: Moments) -> State:
    """Normalise the objects of a namespace.

    Args:
        objects: The objects as the server returns them, by resource.
        namespace: The scenario's namespace.
        moments: The times of the scenario.
    """
    state: State = {}
    for resource, items in objects.items():
        if resource == "events":
            state[resource] = _events(items, namespace, moments)
        else:
            plain = [concealed(_stripped(item), namespace, moments) for item in items]
            state[resource] = sorted(plain, key=canonical)
    return state


def canonical(value: Any) -> str:
    """The text by which objects are sorted."""
    return json.dumps(value, sort_keys=True)


def concealed(value: Any, namespace: str, moments: Moments) -> Any:
    """Replace uids, times, generated names and the namespace in all texts."""
    text = moments.conceal(json.dumps(value)).replace(namespace, "{ns}")
    return json.loads(_GENERATED.sub(r"\1-*", _HASH.sub("{hash}", _UID.sub("{uid}", text))))


def _stripped(item: Any) -> Any:
    metadata = {name: value for name, value in item["metadata"].items() if name not in _VOLATILE}
    if "generateName" in metadata:
        metadata["name"] = f"{metadata['generateName']}*"
    item = {**item, "metadata": metadata}
    spec = item.get("spec") or {}
    if addresses := [address for address in spec.get("clusterIPs", ()) if address != "None"]:
        item["spec"] = {**spec, "clusterIP": "{ip}", "clusterIPs": ["{ip}"] * len(addresses)}
    if conditions := (item.get("status") or {}).get("conditions"):
        by_type = sorted(conditions, key=lambda condition: str(condition.get("type")))
        item["status"] = {**item["status"], "conditions": by_type}
    if "endpoints" in item:
        # The number of writes: a controller follows one or both of the writes of a deletion at once.
        metadata.pop("generation", None)
    # kube-controller-manager keeps endpoints in a map, and sorts ports by their hashes.
    for name in ("endpoints", "ports"):
        if item.get(name):
            item[name] = sorted(item[name], key=canonical)
    if subsets := item.get("subsets"):
        item["subsets"] = sorted((_with_sorted_ports(subset) for subset in subsets), key=canonical)
    if isinstance(active := (item.get("status") or {}).get("active"), list):
        # Of a CronJob; that of a Job is a number.
        known = [{name: value for name, value in job.items() if name != "resourceVersion"} for job in active]
        item["status"] = {**item["status"], "active": known}
    return item


def _with_sorted_ports(subset: Any) -> Any:
    return {**subset, "ports": sorted(subset["ports"], key=canonical)} if subset.get("ports") else subset


def _events(items: Iterable[Any], namespace: str, moments: Moments) -> list[Any]:
    counts: dict[str, int] = {}
    for event in items:
        key = canonical(concealed(list(_event_key(event)), namespace, moments))
        series = event.get("series") or {}
        counts[key] = counts.get(key, 0) + (event.get("count") or series.get("count") or 1)
    rows = [[*json.loads(key), count] for key, count in sorted(counts.items())]
    return [[*row[:-1], 0 if row[3] in _REPEATED or (row[3], row[5]) in _REPEATED_BY else row[-1]] for row in rows]


def _event_key(event: Any) -> Iterator[str]:
    yield event["involvedObject"].get("kind", "")
    yield event["involvedObject"].get("name", "")
    yield event.get("type", "")
    yield event.get("reason", "")
    yield _with_sorted_causes(event.get("message", ""))
    yield (event.get("source") or {}).get("component") or event.get("reportingComponent", "")


def _with_sorted_causes(message: str) -> str:
    """Sort the causes of a message: those about several pods come from a map, in random order."""
    start, bracket, causes = message.partition(": [")
    return f"{start}: [{', '.join(sorted(causes[:-1].split(', ')))}]" if bracket and causes.endswith("]") else message


def differences(real: State, embedded: State) -> list[str]:
    """How two states differ, one line for each difference."""
    return [line for resource in real for line in _differences(resource, real[resource], embedded[resource])]


def _differences(path: str, real: Any, embedded: Any) -> Iterator[str]:
    if isinstance(real, dict) and isinstance(embedded, dict):
        for name in sorted({*real, *embedded}):
            yield from _differences(f"{path}.{name}", real.get(name), embedded.get(name))
    elif isinstance(real, list) and isinstance(embedded, list) and (len(real) == len(embedded)) and path != "events":
        for index, pair in enumerate(zip(real, embedded, strict=True)):
            yield from _differences(f"{path}[{index}]", *pair)
    elif isinstance(real, list) and isinstance(embedded, list):
        ours, theirs = [canonical(item) for item in embedded], [canonical(item) for item in real]
        yield from (f"{path}: only real: {text}" for text in theirs if text not in ours)
        yield from (f"{path}: only embedded: {text}" for text in ours if text not in theirs)
        if sorted(set(ours)) == sorted(set(theirs)) and len(ours) != len(theirs):
            yield f"{path}: {len(theirs)} on the real server, {len(ours)} on the embedded one"
    elif real != embedded:
        yield f"{path}: real {json.dumps(real)}, embedded {json.dumps(embedded)}"
