"""The approval of APIs in the groups that belong to Kubernetes."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple
from urllib.parse import urlsplit

from masthead._meta.quoting import quoted
from masthead._schema.errors import invalid, required
from masthead_server.wire.plain import Plain, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors

__all__ = ["Approval", "approval_errors", "approval_of"]

_ANNOTATION: Final = "api-approved.kubernetes.io"
_DOMAINS: Final = ("k8s.io", "kubernetes.io")
_SEE: Final = "see https://github.com/kubernetes/enhancements/pull/1111"


class Approval(NamedTuple):
    """The meaning of the approval annotation of a definition in a protected group.

    Attributes:
        condition_reason: The reason of the condition: which of the four cases it is.
        message: The case in words.
    """

    condition_reason: str
    message: str

    @property
    def is_approved(self) -> bool:
        """Whether the annotation names the pull request that approved the API."""
        return self.condition_reason == "ApprovedAnnotation"


def approval_of(definition: Plain) -> Approval | None:
    """Return the approval of an API; None if its group is not protected."""
    group = text(part(definition, "spec"), "group")
    if not any(group == domain or group.endswith(f".{domain}") for domain in _DOMAINS):
        return None
    annotation = _annotation(definition)
    must = f"protected groups must have approval annotation {quoted(_ANNOTATION)}"
    if not annotation:
        return Approval("MissingAnnotation", f"{must}, {_SEE}")
    if annotation.startswith("unapproved"):
        return Approval("UnapprovedAnnotation", f"not approved: {quoted(annotation)}")
    if _is_url(annotation):
        return Approval("ApprovedAnnotation", f"approved in {annotation}")
    form = 'with either a URL or a reason starting with "unapproved"'
    return Approval("InvalidAnnotation", f"{must} {form}, {_SEE}")


def approval_errors(definition: Plain, old: Plain | None = None) -> Errors:
    """Return the errors of the annotation; an update that does not change the approval has none."""
    approval = approval_of(definition)
    if approval is None:
        return []
    before = approval_of(old) if old is not None else None
    if before is not None and before.condition_reason == approval.condition_reason:
        return []
    path = f"metadata.annotations[{_ANNOTATION}]"
    if approval.condition_reason == "InvalidAnnotation":
        return [invalid(path, _annotation(definition), approval.message)]
    return [required(path, approval.message)] if approval.condition_reason == "MissingAnnotation" else []


def _annotation(definition: Plain) -> str:
    return text(part(part(definition, "metadata"), "annotations"), _ANNOTATION)


def _is_url(value: str) -> bool:
    try:
        url = urlsplit(value)
    except ValueError:
        return False
    return bool(url.scheme and url.netloc)
