"""Warnings about removed volume plugins and overlapping files."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._meta.quoting import quoted
from masthead_server.resources.warnings.headers import MAX_PAIRS
from masthead_server.resources.warnings.quantities import claim_warnings
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

REMOVED: Final = {
    "photonPersistentDisk": "photonPersistentDisk: deprecated in v1.11, non-functional in v1.16+",
    "gitRepo": "gitRepo: deprecated in v1.11, and disabled by default in v1.33+",
    "scaleIO": "scaleIO: deprecated in v1.16, non-functional in v1.22+",
    "flocker": "flocker: deprecated in v1.22, non-functional in v1.25+",
    "storageos": "storageOS: deprecated in v1.22, non-functional in v1.25+",
    "quobyte": "quobyte: deprecated in v1.22, non-functional in v1.25+",
    "glusterfs": "glusterfs: deprecated in v1.25, non-functional in v1.26+",
    "cephfs": "cephfs: deprecated in v1.28, non-functional in v1.31+",
    "rbd": "rbd: deprecated in v1.28, non-functional in v1.31+",
}
"""The warnings about a volume's source; the name in the text is not always the field's."""


class _File(NamedTuple):
    """Where a file goes, and what it comes from: a kind, and a name if the kind is of objects.

    The kind is empty where everything comes from the same.
    """

    path: str
    kind: str = ""
    name: str | None = None

    def __str__(self) -> str:
        return f"{quoted(self.path)} ({_format_source(self.kind, self.name)})" if self.kind else quoted(self.path)


def _format_source(kind: str, name: str | None) -> str:
    return kind if name is None else f"{kind} {quoted(name)}"


def source_warnings(path: str, spec: Plain) -> list[str]:
    """Return the warnings about the sources of a pod's volumes."""
    found: list[str] = []
    volumes: list[Plain] = spec["volumes"] or []
    for index, volume in enumerate(volumes):
        found += [f"{path}[{index}].{REMOVED[name]}" for name in volume if name in REMOVED]
        if "ephemeral" in volume:
            claim = part(part(volume, "ephemeral"), "volumeClaimTemplate")
            at = f"{path}[{index}].ephemeral.volumeClaimTemplate.spec"
            found += claim_warnings(at, part(claim, "spec"))
    return found


def overlap_warnings(_path: str, spec: Plain) -> list[str]:
    """Return which files of a volume cannot be where they should be."""
    found: list[str] = []
    for volume in spec["volumes"] or ():
        if "projected" in volume:
            found += _check_projected(volume)
            continue
        for source, (kind, key) in _SOURCES.items():
            if source in volume and (listed := volume[source].get("items")):
                name = text(volume[source], key) if key else None
                files = [_File(_path_of(item)) for item in listed]
                found += _overlaps(volume, _format_source(kind, name), files, [])
    return found


_SOURCES: Final = {
    "configMap": ("ConfigMap", "name"),
    "secret": ("Secret", "secretName"),
    "downwardAPI": ("DownwardAPI", ""),
}
"""The kinds of volumes that are made of files, and the field that has an object's name."""


def _check_projected(volume: Plain) -> list[str]:
    found: list[str] = []
    before: list[_File] = []
    for source in volume["projected"].get("sources") or ():
        files = _files(source)
        if files is None:
            found.append(f"volume {quoted(text(volume, 'name'))} (Projected) has no sources provided")
        elif files:
            found += _overlaps(volume, "Projected", files, before)
    return found


def _files(part_of_volume: Plain) -> list[_File] | None:
    """List the files of a part of a projected volume; None if it is of no kind that is known."""
    if token := part_of_volume.get("serviceAccountToken"):
        return [_File(_path_of(token), "ServiceAccountToken")]
    for source, (kind, key) in _SOURCES.items():
        if source in part_of_volume:
            found = part_of_volume[source]
            # Here, unlike in a volume, a Secret's name is just its name.
            name = text(found, "name") if key else None
            return [_File(_path_of(item), kind, name) for item in found.get("items") or ()]
    # kube-apiserver drops the kinds that are behind feature gates, and then finds nothing there.
    return None


def _path_of(file: Plain) -> str:
    return text(file, "path").rstrip("/")


def _overlaps(volume: Plain, source: str, files: list[_File], before: list[_File]) -> list[str]:
    """Compare files with those before them, to which they are then added."""
    found: list[str] = []
    for file in files:
        # Of all pairs: the number of the files before is how many have been compared with each of them.
        for other in before if len(before) ** 2 < 2 * MAX_PAIRS else ():
            if _collide(file.path, other.path):
                where = f"volume {quoted(text(volume, 'name'))} ({source})"
                found.append(f"{where}: overlapping paths: {file} with {other}")
        before.append(file)
    return found


def _collide(first: str, second: str) -> bool:
    if not first or not second:
        return False
    shorter, longer = (first, second) if len(first) <= len(second) else (second, first)
    return longer.startswith(shorter) and (len(longer) == len(shorter) or longer[len(shorter)] == "/")
