"""The revisions of Deployments, DaemonSets and StatefulSets, and the way back to one of them.

A Deployment has a ReplicaSet for each revision; the others have ControllerRevisions, whose data is the patch that
brings the revision back. Only `read_revisions` sends requests.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._cli.failures import CommandError
from masthead._cli.rollout_status import REVISION, arguments_for
from masthead._meta.owners import is_controlled_by
from masthead._meta.patch import Patch
from masthead._meta.plain import integer, labels, part, text
from masthead._printers.formats import label_selector
from masthead._printers.layout import cell_text

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import masthead
    from masthead._meta.plain import Plain
    from masthead._meta.unstructured import Unstructured

__all__ = [
    "LAST_APPLIED",
    "WorkloadRevision",
    "choose_revision",
    "find_revision",
    "has_template",
    "history_table",
    "read_revisions",
    "restoring_patch",
    "revision_object",
]

LAST_APPLIED: Final = "kubectl.kubernetes.io/last-applied-configuration"
_CHANGE_CAUSE: Final = "kubernetes.io/change-cause"
_HASH: Final = "pod-template-hash"
_NUMBER: Final = re.compile("[0-9]{1,18}")
_KEPT: Final = frozenset(
    {
        LAST_APPLIED,
        REVISION,
        "deployment.kubernetes.io/revision-history",
        "deployment.kubernetes.io/desired-replicas",
        "deployment.kubernetes.io/max-replicas",
        "deprecated.deployment.rollback.to",
    }
)
"""Annotations that describe the Deployment itself, rather than one of its revisions."""


@dataclass(frozen=True, slots=True)
class WorkloadRevision:
    """A revision of a workload.

    Attributes:
        number: Its number.
        source: The ReplicaSet or ControllerRevision.
    """

    number: int
    source: Plain

    @property
    def template(self) -> Plain:
        """Its pod template."""
        if text(self.source, "kind") == "ReplicaSet":
            return part(self.source, "spec", "template")
        # The data is a strategic merge patch, in which this key is an instruction.
        return {key: value for key, value in part(self.source, "data", "spec", "template").items() if key != "$patch"}

    @property
    def change_cause(self) -> str:
        """What its author noted as its cause; empty for nothing."""
        of_source = labels(part(self.source, "metadata"), "annotations").get(_CHANGE_CAUSE, "")
        return of_source or labels(part(self.template, "metadata"), "annotations").get(_CHANGE_CAUSE, "")

    @property
    def shown_template(self) -> Plain:
        """Its pod template, with the cause among the annotations."""
        metadata = part(self.template, "metadata")
        cause = {_CHANGE_CAUSE: self.change_cause} if self.change_cause else {}
        annotations = {**labels(metadata, "annotations"), **cause}
        return {**self.template, "metadata": {**metadata, "annotations": annotations}}


def read_revisions(client: masthead.Client, workload: Unstructured) -> list[WorkloadRevision]:
    """Read the revisions of a workload, the oldest first.

    Raises:
        MastheadError: As any call.
    """
    kind = "ReplicaSet" if workload.kind == "Deployment" else "ControllerRevision"
    resource = client.dynamic("apps/v1", kind, namespace=workload.metadata.namespace)
    selector = label_selector(part(workload.to_dict(), "spec"), "selector", invalid="", empty="")
    # The selector alone is not enough: an orphan, or the source of another workload, may have the same labels.
    owned = [
        source.to_dict() for source in resource.list(label_selector=selector) if is_controlled_by(source, workload)
    ]
    numbered = {number: source for source in owned if (number := _number(source)) is not None}
    # Items of a list may lack their kind, and -o prints them.
    return [
        WorkloadRevision(number, {**source, "apiVersion": "apps/v1", "kind": kind})
        for number, source in sorted(numbered.items())
    ]


def _number(source: Plain) -> int | None:
    """The number of a revision; None for a ReplicaSet with an invalid annotation."""
    # ControllerRevisions have a field.
    if "revision" in source:
        return integer(source, "revision")
    # As for kubectl, a ReplicaSet that its controller has not numbered yet is revision 0.
    written = labels(part(source, "metadata"), "annotations").get(REVISION, "0")
    return int(written) if _NUMBER.fullmatch(written) else None


def choose_revision(workload: Unstructured, revisions: Sequence[WorkloadRevision], number: int) -> WorkloadRevision:
    """Return the revision to go back to.

    Args:
        workload: The workload.
        revisions: Its revisions, the oldest first.
        number: The number of the revision; 0 for the one before the newest.

    Raises:
        CommandError: If the revision does not exist.
    """
    # The newest revision is the current one, so that the one before it is meant without a number.
    found = [revision for revision in revisions if revision.number == number] if number else revisions[-2:-1]
    if found:
        return found[0]
    if number:
        raise CommandError(f"unable to find specified revision {number} in history", hint=_list_hint(workload))
    raise CommandError(
        f'no rollout history found for deployment "{workload.metadata.name}"'
        if workload.kind == "Deployment"
        else "no last revision to roll back to"
    )


def find_revision(workload: Unstructured, revisions: Sequence[WorkloadRevision], number: int) -> WorkloadRevision:
    """Return the revision to show.

    Raises:
        CommandError: If the revision does not exist.
    """
    for revision in revisions:
        if revision.number == number:
            return revision
    raise CommandError("unable to find the specified revision", hint=_list_hint(workload))


def _list_hint(workload: Unstructured) -> str:
    return f"masthead rollout history {arguments_for(workload)} lists them"


def history_table(revisions: Sequence[WorkloadRevision]) -> str:
    """Lay out the revisions and their causes."""
    if not revisions:
        return "No rollout history found."
    # Only the first line of a cause: another one could pass for a revision.
    causes = [(str(revision.number), cell_text(revision.change_cause) or "<none>") for revision in revisions]
    rows = [("REVISION", "CHANGE-CAUSE"), *causes]
    # The tables of `rollout` have two blanks between columns, and no minimum width.
    width = max(len(number) for number, _ in rows) + 2
    return "".join(f"{number.ljust(width)}{cause}\n" for number, cause in rows)


def revision_object(workload: Unstructured, revision: WorkloadRevision) -> Plain:
    """The object that ``-o`` prints for a revision: the ReplicaSet, or the workload with its pod template."""
    # A ControllerRevision holds a patch, which is hard to read.
    if workload.kind == "Deployment":
        return revision.source
    plain = workload.to_dict()
    return {**plain, "spec": {**part(plain, "spec"), "template": revision.template}}


def has_template(workload: Unstructured, revision: WorkloadRevision) -> bool:
    """Whether the pod template of a workload is that of a revision already."""
    return _comparable(part(workload.to_dict(), "spec", "template")) == _comparable(revision.template)


def _comparable(template: Plain) -> Plain:
    """A template without the label of a ReplicaSet, and without empty metadata."""
    metadata = part(template, "metadata")
    own = {key: value for key, value in labels(metadata, "labels").items() if key != _HASH}
    # Removing the last annotation leaves an empty map, which means the same as none.
    return {**template, "metadata": {field: value for field, value in {**metadata, "labels": own}.items() if value}}


def restoring_patch(workload: Unstructured, revision: WorkloadRevision) -> Patch:
    """The patch that brings a revision back."""
    # The controller has stored the patch for this very purpose.
    if workload.kind != "Deployment":
        return Patch.strategic(part(revision.source, "data"))
    template = _comparable(revision.template)
    kept = _annotations_of(workload.to_dict(), of_revision=False)
    return Patch.json(
        [
            {"op": "replace", "path": "/spec/template", "value": template},
            # "replace" would fail without annotations; "add" replaces existing ones.
            {"op": "add", "path": "/metadata/annotations", "value": {**kept, **_annotations_of(revision.source)}},
        ]
    )


def _annotations_of(obj: Plain, *, of_revision: bool = True) -> Mapping[str, str]:
    """The annotations of a revision; or those of the Deployment itself, which survive a rollback."""
    found = labels(part(obj, "metadata"), "annotations")
    return {key: value for key, value in found.items() if (key not in _KEPT) is of_revision}
