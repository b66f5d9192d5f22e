"""Volumes of pods that no longer work, or whose files get in each other's way."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from masthead.server.failures import quoted
from masthead.server.kinds.warnings.amounts import claim_warnings
from masthead.server.plain import items, part, text

if TYPE_CHECKING:
    from masthead.server.plain import Plain

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
"""What is said of a volume's source; the name in the text is not always the field's."""


class _Source(NamedTuple):
    """What files come from: its kind, and the name of the object if it is one."""

    kind: str
    name: str | None = None

    def __str__(self) -> str:
        return self.kind if self.name is None else f"{self.kind} {quoted(self.name)}"


class _File(NamedTuple):
    """Where a file goes, and what it comes from if that needs to be said."""

    path: str
    source: _Source | None = None

    def __str__(self) -> str:
        return f"{quoted(self.path)} ({self.source})" if self.source else quoted(self.path)


def source_warnings(path: str, spec: Plain) -> list[str]:
    """Say what is questionable about where a pod's volumes come from."""
    found: list[str] = []
    for index, volume in enumerate(items(spec, "volumes")):
        if not REMOVED.keys().isdisjoint(volume):
            found += [f"{path}[{index}].{REMOVED[name]}" for name in volume if name in REMOVED]
        if "ephemeral" in volume:
            claim = part(part(volume, "ephemeral"), "volumeClaimTemplate")
            at = f"{path}[{index}].ephemeral.volumeClaimTemplate.spec"
            found += claim_warnings(at, part(claim, "spec"))
    return found


def overlap_warnings(_path: str, spec: Plain) -> list[str]:
    """Say which files of a volume cannot be where they should be."""
    found: list[str] = []
    for volume in items(spec, "volumes"):
        if "projected" in volume:
            found += _projected(volume)
            continue
        for name, source in _SOURCES.items():
            if name in volume and (files := volume[name].get("items")):
                of_volume = _Source(source.kind, source.name and text(volume[name], source.name))
                found += _overlaps(volume, of_volume, [_File(_path_of(each)) for each in files], [])
    return found


_SOURCES: Final = {
    "configMap": _Source("ConfigMap", "name"),
    "secret": _Source("Secret", "secretName"),
    "downwardAPI": _Source("DownwardAPI"),
}
"""The kinds of volumes that are made of files, and the field that has an object's name."""


def _projected(volume: Plain) -> list[str]:
    found: list[str] = []
    before: list[_File] = []
    for source in items(part(volume, "projected"), "sources"):
        files = _files(source)
        if files is None:
            found.append(f"volume {quoted(text(volume, 'name'))} (Projected) has no sources provided")
        elif files:
            found += _overlaps(volume, _Source("Projected"), files, before)
    return found


def _files(source: Plain) -> list[_File] | None:
    """List the files of a part of a projected volume; None if it is of no kind that is known."""
    if "serviceAccountToken" in source:
        return [_File(_path_of(source["serviceAccountToken"]), _Source("ServiceAccountToken"))]
    for name, kind in _SOURCES.items():
        if name in source:
            # Here, unlike in a volume, a Secret's name is just its name.
            of_file = _Source(kind.kind, kind.name and text(source[name], "name"))
            return [_File(_path_of(each), of_file) for each in items(source[name], "items")]
    # A real server drops the kinds that are behind feature gates, and then finds nothing there.
    return None


def _path_of(file: Plain) -> str:
    return text(file, "path").rstrip("/")


def _overlaps(volume: Plain, source: _Source, files: list[_File], before: list[_File]) -> list[str]:
    """Compare files with those before them, to which they are then added."""
    found: list[str] = []
    for each in files:
        for other in before:
            if _collide(each.path, other.path):
                where = f"volume {quoted(text(volume, 'name'))} ({source})"
                found.append(f"{where}: overlapping paths: {each} with {other}")
        before.append(each)
    return found


def _collide(first: str, second: str) -> bool:
    if not first or not second:
        return False
    return f"{first}/".startswith(f"{second}/") or f"{second}/".startswith(f"{first}/")
