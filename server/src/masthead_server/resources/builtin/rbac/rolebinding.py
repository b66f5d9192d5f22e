"""RoleBindings: defaults and validation."""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, required
from masthead_server.resources import names
from masthead_server.resources.behavior import Behavior, StrategyHooks
from masthead_server.resources.defaulting.fill import for_each, shape
from masthead_server.resources.validation.checks import follows, given, same, unsupported
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.wire.plain import Plain

_RBAC_GROUP: Final = {"apiGroup": "rbac.authorization.k8s.io"}


def _fill_subject(subject: Plain) -> None:
    if subject.get("kind") in {"User", "Group"} and not subject.get("apiGroup"):
        subject.update(_RBAC_GROUP)


ROLE_BINDING: Final = shape(always={"roleRef": shape(blank=_RBAC_GROUP)}, inside={"subjects": for_each(_fill_subject)})

_GROUP: Final = "rbac.authorization.k8s.io"


def _subject_errors(subject: Plain, path: str, *, namespaced: bool) -> Errors:
    kind, name, group = text(subject, "kind"), text(subject, "name"), text(subject, "apiGroup")
    errors: Errors = [] if name else [required(f"{path}.name")]
    if kind == "ServiceAccount":
        # Users and groups are names of an outside system, and may have any form.
        errors += follows(f"{path}.name", name, names.SUBDOMAIN) if name else []
        if group:
            errors.append(unsupported(f"{path}.apiGroup", group, ("",)))
        # In a RoleBinding, a subject without a namespace is in that of the binding.
        if not namespaced and not subject.get("namespace"):
            errors.append(required(f"{path}.namespace"))
    elif kind not in {"User", "Group"}:
        errors.append(unsupported(f"{path}.kind", kind, ("ServiceAccount", "User", "Group")))
    elif group != _GROUP:
        errors.append(unsupported(f"{path}.apiGroup", group, (_GROUP,)))
    return errors


def binding_errors(binding: Plain, *, namespaced: bool) -> Errors:
    """Return the errors of a RoleBinding."""
    reference = part(binding, "roleRef")
    errors: Errors = []
    if reference.get("apiGroup") != _GROUP:
        errors.append(unsupported("roleRef.apiGroup", text(reference, "apiGroup"), (_GROUP,)))
    kinds = ("Role", "ClusterRole") if namespaced else ("ClusterRole",)
    if reference.get("kind") not in kinds:
        errors.append(unsupported("roleRef.kind", text(reference, "kind"), kinds))
    errors += given("roleRef.name", reference.get("name"), names.path_segment)
    for index, subject in enumerate(items(binding, "subjects")):
        errors += _subject_errors(subject, f"subjects[{index}]", namespaced=namespaced)
    return errors


def binding_changes(new: Plain, old: Plain, *, namespaced: bool) -> Errors:
    """Return the errors of a change of a RoleBinding."""
    errors = binding_errors(new, namespaced=namespaced)
    # A binding could otherwise be turned to a stronger role by someone allowed to edit subjects only.
    if not same(new.get("roleRef"), old.get("roleRef")):
        reference = part(new, "roleRef")
        shown = {field[0].upper() + field[1:]: text(reference, field) for field in ("kind", "name")}
        shown = {"APIGroup": text(reference, "apiGroup"), **shown}
        errors.append(invalid("roleRef", shown, "cannot change roleRef"))
    return errors


BEHAVIOR: Final = Behavior(
    defaults=ROLE_BINDING,
    hooks=StrategyHooks(
        validate_create=partial(binding_errors, namespaced=True),
        validate_update=partial(binding_changes, namespaced=True),
    ),
)
