"""The resources of ``batch``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources import names
from masthead_server.resources.description import ResourceDescription, builtin_behavior
from masthead_server.resources.field_selectors import SelectableFields, count_at
from masthead_server.resources.strategy import (
    ORPHANS_DEPENDENTS,
    SPEC_GENERATION,
    WHOLE_THEN_UPDATE,
    Strategy,
    status,
)

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["RESOURCES"]

RESOURCES: Final[Mapping[str, ResourceDescription]] = {
    "cronjobs": ResourceDescription(
        strategy=Strategy.of(status(), SPEC_GENERATION, {"name_rule": names.as_cron_job}),
        behavior=builtin_behavior("batch.cronjob"),
    ),
    "jobs": ResourceDescription(
        strategy=Strategy.of(status(), SPEC_GENERATION, WHOLE_THEN_UPDATE, ORPHANS_DEPENDENTS),
        behavior=builtin_behavior("batch.job.behavior"),
        selectable=SelectableFields(
            readers={"status.successful": count_at("status.succeeded")},
            unsupported="field label {quoted} not supported for Job",
        ),
    ),
}
"""The resources of the group, by name."""
