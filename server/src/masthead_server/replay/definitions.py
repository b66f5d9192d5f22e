"""Definitions of recorded kinds whose own definitions were not recorded."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from masthead_server import scheme
from masthead_server.resources.custom.installer import DEFINITIONS
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead._recording.recording import Recording
    from masthead._recording.states import RecordedKind
    from masthead_server.cluster import ClusterState
    from masthead_server.wire.plain import Plain

__all__ = ["missing_definitions"]

_log: Final = logging.getLogger("masthead.server")
_KIND: Final = "CustomResourceDefinition"


def missing_definitions(cluster: ClusterState, recording: Recording) -> Iterator[Plain]:
    """Yield definitions for the recorded kinds that neither the server nor the recording defines.

    They have no schema, and preserve all fields.
    """
    recorded = _recorded_names(recording)
    wanted: dict[str, list[RecordedKind]] = {}
    for kind in recording.kinds:
        if cluster.catalog.find(kind.resource) is not None:
            continue
        if kind.gvk.group in scheme.VERSIONS:
            _log.warning("%s is a built-in kind that this server does not have: it is not replayed", kind.gvk)
            continue
        name = f"{kind.resource.resource}.{kind.resource.group}"
        if name not in recorded:
            wanted.setdefault(name, []).append(kind)
    for name, kinds in wanted.items():
        _log.warning("%s was not recorded: its objects are served without a schema", name)
        yield _define(cluster, name, kinds)


def _recorded_names(recording: Recording) -> set[str]:
    found: set[str] = set()
    for kind in recording.kinds:
        if f"{kind.resource.group}/{kind.resource.resource}" == DEFINITIONS:
            for change in recording.changes(kind.gvk):
                spec = part(change.plain(), "spec")
                found.add(f"{text(part(spec, 'names'), 'plural')}.{text(spec, 'group')}")
    return found


def _define(cluster: ClusterState, name: str, kinds: list[RecordedKind]) -> Plain:
    first = kinds[0]
    now, kind, plural = cluster.now(), first.gvk.kind, first.resource.resource
    names = {
        "plural": plural,
        "singular": kind.lower(),
        "kind": kind,
        "listKind": f"{kind}List",
        **({"shortNames": list(first.short_names)} if first.short_names else {}),
    }
    versions: list[Plain] = [
        {
            "name": each.gvk.version,
            "served": True,
            "storage": each is first,
            "schema": {"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": True}},
            # As most have it; a controller could not write the status otherwise.
            "subresources": {"status": {}},
        }
        for each in kinds
    ]
    conditions = [
        {"type": each, "status": "True", "reason": "Replay", "message": "", "lastTransitionTime": now}
        for each in ("NamesAccepted", "Established")
    ]
    return {
        "metadata": {"name": name, "uid": cluster.new_uid(), "creationTimestamp": now, "generation": 1},
        "spec": {
            "group": first.gvk.group,
            "scope": "Namespaced" if first.namespaced else "Cluster",
            "names": names,
            "versions": versions,
            "conversion": {"strategy": "None"},
        },
        "status": {
            "acceptedNames": names,
            "conditions": conditions,
            "storedVersions": [first.gvk.version],
        },
    }
