"""Warnings about Jobs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.warnings.pod_spec import template_warnings
from masthead_server.wire.plain import part

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain

_MANY_COMPLETIONS: Final = 100_000
_MUCH_PARALLELISM: Final = 10_000
_MANY_INDEXES: Final = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4,"
    " Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
)


def job_spec_warnings(path: str, spec: Plain) -> list[str]:
    """Return the warnings about the spec of a Job, or of the template in a CronJob."""
    is_large = (
        spec.get("completionMode") == "Indexed"
        and (spec.get("completions") or 0) > _MANY_COMPLETIONS
        and (spec.get("parallelism") or 0) > _MUCH_PARALLELISM
    )
    found = [f"{path}: {_MANY_INDEXES}"] if is_large else []
    return found + template_warnings(f"{path}.template", part(spec, "template"))


def job_warnings(obj: Plain) -> list[str]:
    """Return the warnings about a Job."""
    return job_spec_warnings("spec", part(obj, "spec"))
