"""Defaults of Namespaces."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import shape
from masthead_server.wire.plain import metadata, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill
    from masthead_server.wire.plain import Plain


def _label_by_name(namespace: Plain) -> None:
    meta = metadata(namespace)
    name = text(meta, "name")
    if name:
        if meta.get("labels") is None:
            meta["labels"] = {}
        meta["labels"]["kubernetes.io/metadata.name"] = name


DEFAULTS: Final[Fill] = shape(always={"status": shape(blank={"phase": "Active"})}, then=_label_by_name)
