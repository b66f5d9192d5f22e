"""Strategic merge patches, applied as kube-apiserver applies them."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from masthead._schema.errors import invalid
from masthead._schema.go_format import go_value
from masthead._schema.merge_errors import StrategicMergeError
from masthead._schema.strategic_merge import apply_strategic_merge
from masthead_server.wire.failures import StatusFailure, bad_request, refused_fields
from masthead_server.wire.go_json import JsonError, decode, type_name

if TYPE_CHECKING:
    from masthead._schema.merge_rules import MergeRules
    from masthead_server.wire.plain import Plain

__all__ = ["merge_strategically", "read_strategic_patch", "refused_strategic_patch"]


def read_strategic_patch(body: bytes) -> Plain:
    """Decode a strategic merge patch; null is an empty one.

    Raises:
        StatusFailure: If it is malformed, or no object.
    """
    try:
        patch = decode(body)
    except JsonError as problem:
        raise bad_request(str(problem)) from None
    if patch is None:
        return {}
    if not isinstance(patch, dict):
        found = type_name(patch)
        message = f"json: cannot unmarshal {found} into Go value of type map[string]interface {{}}"
        raise bad_request(message)
    return cast("Plain", patch)


def merge_strategically(document: Plain, patch: Plain, rules: MergeRules) -> Plain:
    """Apply a patch to an object; both are changed.

    Raises:
        StatusFailure: If it does not apply.
    """
    try:
        return apply_strategic_merge(document, patch, rules)
    except StrategicMergeError as error:
        reason = {400: "BadRequest", 422: "Invalid"}.get(error.code, "")
        raise StatusFailure(error.code, reason, str(error)) from None


def refused_strategic_patch(patch: Plain, problem: str) -> StatusFailure:
    """The result of a patch is not an object of its kind."""
    return refused_fields("", "", "", [invalid("patch", go_value(patch), problem)])
