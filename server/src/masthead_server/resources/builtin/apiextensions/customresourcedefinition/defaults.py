"""Defaults of CustomResourceDefinitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.defaulting.fill import SERVICE_REFERENCE, shape
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Fill
    from masthead_server.wire.plain import Plain


def _fill_names(names: Plain) -> None:
    kind = text(names, "kind")
    if kind and not names.get("singular"):
        names["singular"] = kind.lower()
    if kind and not names.get("listKind"):
        names["listKind"] = f"{kind}List"


def _fill_stored_versions(definition: Plain) -> None:
    status = part(definition, "status")
    if not status.get("storedVersions"):
        stored = [version["name"] for version in items(definition["spec"], "versions") if version.get("storage")]
        if stored:
            status["storedVersions"] = stored[:1]
            definition["status"] = status


_CONVERSION: Final = shape(
    inside={"webhook": shape(inside={"clientConfig": shape(inside={"service": SERVICE_REFERENCE})})}
)
DEFAULTS: Final[Fill] = shape(
    always={
        "spec": shape(
            unset={"conversion": {"strategy": "None"}},
            always={"names": _fill_names},
            inside={"conversion": _CONVERSION},
        )
    },
    then=_fill_stored_versions,
)
