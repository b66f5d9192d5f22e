"""Behavior of CronJobs."""

from __future__ import annotations

from typing import Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, WarningHooks, when_changed
from masthead_server.resources.builtin.batch.cronjob.defaults import DEFAULTS
from masthead_server.resources.builtin.batch.cronjob.validation import cron_errors
from masthead_server.resources.builtin.batch.cronjob.warnings import cron_job_warnings
from masthead_server.resources.warnings.pod_controllers import name_warnings

BEHAVIOR: Final = Behavior(
    defaults=DEFAULTS,
    hooks=StrategyHooks(validate_create=cron_errors, validate_update=lambda new, _old: cron_errors(new)),
    warnings=WarningHooks(lambda new: name_warnings(new) + cron_job_warnings(new), when_changed(cron_job_warnings)),
)
