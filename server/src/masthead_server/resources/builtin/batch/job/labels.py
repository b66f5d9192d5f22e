"""Labels that a Job puts on its pods."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.wire.plain import metadata, text

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

NAME_LABELS: Final = ("job-name", "batch.kubernetes.io/job-name")
UID_LABELS: Final = ("controller-uid", "batch.kubernetes.io/controller-uid")


def expected_labels(job: Plain) -> dict[str, str]:
    """Return the labels that the pods of a Job have."""
    meta = metadata(job)
    return {
        **dict.fromkeys(NAME_LABELS, text(meta, "name")),
        **dict.fromkeys(UID_LABELS, text(meta, "uid")),
    }
