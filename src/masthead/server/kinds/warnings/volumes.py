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


class _File(NamedTuple):
    """Where a file goes, and what it comes from if that needs to be said."""

    path: str
    source: str

    def __str__(self) -> str:
        return f"{quoted(self.path)} ({self.source})" if self.source else quoted(self.path)


def source_warnings(path: str, spec: Plain) -> list[str]:
    """Say what is questionable about where a pod's volumes come from."""
    found: list[str] = []
    for index, volume in enumerate(items(spec, "volumes")):
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
        if "configMap" in volume:
            source = part(volume, "configMap")
            found += _overlaps(volume, f"ConfigMap {quoted(text(source, 'name'))}", _files(source, ""))
        elif "secret" in volume:
            source = part(volume, "secret")
            found += _overlaps(volume, f"Secret {quoted(text(source, 'secretName'))}", _files(source, ""))
        elif "downwardAPI" in volume:
            found += _overlaps(volume, "DownwardAPI", _files(part(volume, "downwardAPI"), ""))
        elif "projected" in volume:
            found += _projected(volume)
    return found


def _projected(volume: Plain) -> list[str]:
    found: list[str] = []
    files: list[_File] = []
    for source in items(part(volume, "projected"), "sources"):
        projection = _projection(source)
        if projection is None:
            found.append(f"volume {quoted(text(volume, 'name'))} (Projected) has no sources provided")
            continue
        found += _overlaps(volume, "Projected", projection, files)
    return found


def _projection(source: Plain) -> list[_File] | None:
    """List the files of a source; None if it is of no kind that is known."""
    # A real server drops the kinds that are behind feature gates, and then finds nothing there.
    if "configMap" in source:
        projected = part(source, "configMap")
        return _files(projected, f"ConfigMap {quoted(text(projected, 'name'))}")
    if "secret" in source:
        projected = part(source, "secret")
        return _files(projected, f"Secret {quoted(text(projected, 'name'))}")
    if "downwardAPI" in source:
        return _files(part(source, "downwardAPI"), "DownwardAPI")
    if "serviceAccountToken" in source:
        return [_File(text(part(source, "serviceAccountToken"), "path").rstrip("/"), "ServiceAccountToken")]
    return None


def _files(source: Plain, name: str) -> list[_File]:
    return [_File(text(each, "path").rstrip("/"), name) for each in items(source, "items")]


def _overlaps(volume: Plain, kind: str, files: list[_File], before: list[_File] | None = None) -> list[str]:
    """Compare files with those before them, to which they are then added."""
    earlier = [] if before is None else before
    found: list[str] = []
    for each in files:
        for other in earlier:
            if _collide(each.path, other.path):
                where = f"volume {quoted(text(volume, 'name'))} ({kind})"
                found.append(f"{where}: overlapping paths: {each} with {other}")
        earlier.append(each)
    return found


def _collide(first: str, second: str) -> bool:
    if not first or not second:
        return False
    return f"{first}/".startswith(f"{second}/") or f"{second}/".startswith(f"{first}/")
