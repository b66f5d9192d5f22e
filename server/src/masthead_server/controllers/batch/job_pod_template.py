"""The pods of Jobs, built from the pod template."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Final

from masthead_server.controllers.batch.job_backoff import FAILURE_COUNT, IGNORED_COUNT, index_failures
from masthead_server.controllers.batch.job_pods import INDEX, TRACKING_FINALIZER
from masthead_server.controllers.workloads.ownership import controller_reference
from masthead_server.wire.plain import items, metadata, part, text

if TYPE_CHECKING:
    from masthead_server.controllers.batch.job_pods import JobPod
    from masthead_server.controllers.batch.job_spec import JobSpec
    from masthead_server.wire.plain import Plain

__all__ = ["build_pod"]

_ENV: Final = "JOB_COMPLETION_INDEX"
_MAX_PREFIX_LENGTH: Final = 58
_MAX_NAME_LENGTH: Final = 253


def build_pod(job: Plain, spec: JobSpec, index: int | None, replaced: JobPod | None) -> Plain:
    """Build a pod of a Job.

    Args:
        job: The Job.
        spec: Its spec.
        index: The completion index of the pod; None if the Job is not indexed.
        replaced: The failed pod of the same index whose failure count the new pod continues; None for a first pod.
    """
    template = deepcopy(part(part(job, "spec"), "template"))
    origin = part(template, "metadata")
    meta: Plain = {key: origin[key] for key in ("labels", "annotations", "finalizers") if origin.get(key)}
    finalizers: list[str] = meta.get("finalizers", [])
    if TRACKING_FINALIZER not in finalizers:
        meta["finalizers"] = [*finalizers, TRACKING_FINALIZER]
    name = text(metadata(job), "name")
    prefix = f"{name}-"
    meta["generateName"] = prefix if len(prefix) <= _MAX_NAME_LENGTH else name
    meta["ownerReferences"] = [controller_reference(job, "batch/v1", "Job")]
    pod_spec = part(template, "spec")
    if index is not None:
        suffix = f"-{index}-"
        # Truncate the Job's name rather than the index.
        meta["generateName"] = name[: _MAX_PREFIX_LENGTH - len(suffix)] + suffix
        meta["labels"] = {**meta.get("labels", {}), INDEX: str(index)}
        meta["annotations"] = {**meta.get("annotations", {}), INDEX: str(index)}
        if spec.per_index_limit is not None:
            meta["annotations"] |= _count_failures(spec, replaced)
        pod_spec["hostname"] = f"{name}-{index}"
    if spec.is_indexed:
        _add_env(pod_spec)
    return {"metadata": meta, "spec": pod_spec}


def _count_failures(spec: JobSpec, replaced: JobPod | None) -> dict[str, str]:
    """Return the annotations that count the failures of an index."""
    if replaced is None:
        return {FAILURE_COUNT: "0"}
    is_counted = spec.is_counted(replaced)
    failures = index_failures(replaced) + is_counted
    ignored = index_failures(replaced, IGNORED_COUNT) + (not is_counted)
    return {FAILURE_COUNT: str(failures), **({IGNORED_COUNT: str(ignored)} if ignored else {})}


def _add_env(pod_spec: Plain) -> None:
    source = {"fieldRef": {"fieldPath": f"metadata.labels['{INDEX}']"}}
    for container in (*items(pod_spec, "initContainers"), *items(pod_spec, "containers")):
        env = items(container, "env")
        if not any(variable.get("name") == _ENV for variable in env):
            container["env"] = [*env, {"name": _ENV, "valueFrom": source}]
