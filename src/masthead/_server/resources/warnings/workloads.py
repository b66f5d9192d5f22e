"""What is questionable about pods, and about the kinds that make them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._server.resources.names import label
from masthead._server.resources.behavior import WarningHooks, has_changed, when_changed
from masthead._server.resources.warnings.pod_spec import pod_warnings, template_warnings
from masthead._server.resources.warnings.quantities import claim_warnings
from masthead._server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead._server.wire.plain import Plain

_USED_IN_PODS: Final = (
    "metadata.name: this is used in Pod names and hostnames, which can result in surprising behavior;"
    " a DNS label is recommended"
)
_MANY_COMPLETIONS: Final = 100_000
_MUCH_PARALLELISM: Final = 10_000
_MANY_INDEXES: Final = (
    "In Indexed Jobs with a number of completions higher than 10^5 and a parallelism higher than 10^4,"
    " Kubernetes might not be able to track completedIndexes when a big number of indexes fail"
)
_DAEMONS_GENERATION: Final = "deprecated.daemonset.template.generation"


def _name(obj: Plain) -> list[str]:
    said = label(text(part(obj, "metadata"), "name"))
    return [f"{_USED_IN_PODS}: [{' '.join(said)}]"] if said else []


def _template(obj: Plain) -> list[str]:
    return template_warnings("spec.template", part(part(obj, "spec"), "template"))


def _named_with_template(obj: Plain) -> list[str]:
    return _name(obj) + _template(obj)


def _bare_template(obj: Plain) -> list[str]:
    return template_warnings("template", part(obj, "template"))


def _template_of_before(new: Plain, old: Plain) -> list[str]:
    # A ReplicationController's update is told what was questionable before it.
    return _template(old) if has_changed(new, old) else []


def _daemons(new: Plain, old: Plain) -> list[str]:
    def generation(obj: Plain) -> object:
        return part(part(obj, "metadata"), "annotations").get(_DAEMONS_GENERATION)

    return _template(new) if generation(new) != generation(old) else []


def _new_stateful_set(obj: Plain) -> list[str]:
    return _template(obj) + _claims(obj, "") + _history(obj)


def _stateful_set(new: Plain, old: Plain) -> list[str]:
    # The path of a claim's spec is spelled differently in an update, and wrongly in both cases.
    return when_changed(_template)(new, old) + _claims(new, ".Spec") + _history(new)


def _claims(obj: Plain, tail: str) -> list[str]:
    found: list[str] = []
    for index, claim in enumerate(items(part(obj, "spec"), "volumeClaimTemplates")):
        found += claim_warnings(f"spec.volumeClaimTemplates[{index}]{tail}", part(claim, "spec"))
    return found


def _history(obj: Plain) -> list[str]:
    limit = part(obj, "spec").get("revisionHistoryLimit")
    if not isinstance(limit, int) or limit >= 0:
        return []
    why = "a negative value retains all historical revisions; a value >= 0 is recommended"
    return [f"spec.revisionHistoryLimit: {why}"]


def _job_spec(path: str, spec: Plain) -> list[str]:
    is_large = (
        spec.get("completionMode") == "Indexed"
        and (spec.get("completions") or 0) > _MANY_COMPLETIONS
        and (spec.get("parallelism") or 0) > _MUCH_PARALLELISM
    )
    found = [f"{path}: {_MANY_INDEXES}"] if is_large else []
    return found + template_warnings(f"{path}.template", part(spec, "template"))


def _job(obj: Plain) -> list[str]:
    return _job_spec("spec", part(obj, "spec"))


def _cron_job(obj: Plain) -> list[str]:
    spec = part(part(part(obj, "spec"), "jobTemplate"), "spec")
    return _job_spec("spec.jobTemplate.spec", spec)


WARNINGS: Final = {
    # Pods change too often, and too seldom by hand, for updates to be looked at.
    "pods": WarningHooks(pod_warnings),
    "podtemplates": WarningHooks(_bare_template, when_changed(_bare_template)),
    "replicationcontrollers": WarningHooks(_named_with_template, _template_of_before),
    "deployments": WarningHooks(_named_with_template, when_changed(_template)),
    "replicasets": WarningHooks(_named_with_template, when_changed(_template)),
    "daemonsets": WarningHooks(_template, _daemons),
    "statefulsets": WarningHooks(_new_stateful_set, _stateful_set),
    "jobs": WarningHooks(lambda new: _name(new) + _job(new), when_changed(_job)),
    "cronjobs": WarningHooks(lambda new: _name(new) + _cron_job(new), when_changed(_cron_job)),
}
"""What is said of each kind, by its resource."""
