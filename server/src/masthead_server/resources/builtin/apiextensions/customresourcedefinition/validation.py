"""Validation of CustomResourceDefinitions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._schema.errors import invalid, not_supported, required
from masthead._schema.schema import Schema
from masthead_server.resources import names
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.approval import approval_errors
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.conversion_webhook import (
    conversion_errors,
)
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.internal import (
    InternalSpec,
    shown_versions,
    tree_of,
)
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.ratchet import Ratchet
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.schemas import (
    unsupported_problem,
)
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.version_schemas import (
    schema_errors,
    spec_reports,
)
from masthead_server.resources.builtin.apiextensions.customresourcedefinition.versions import (
    column_errors,
    deprecation_errors,
    selectable_errors,
    subresource_errors,
)
from masthead_server.resources.validation.checks import immutable
from masthead_server.wire.plain import Plain, part, text

if TYPE_CHECKING:
    from masthead_server.resources.behavior import Errors
    from masthead_server.resources.builtin.apiextensions.customresourcedefinition.internal import Version

__all__ = ["definition_changes", "definition_errors", "status_changes"]

_SCOPES: Final = ("Cluster", "Namespaced")


def definition_errors(definition: Plain) -> Errors:
    """Return the errors of a new CustomResourceDefinition."""
    return _errors(definition, InternalSpec.of(definition), Ratchet(None), [], None)


def definition_changes(new: Plain, old: Plain) -> Errors:
    """Return the errors of a change of a CustomResourceDefinition."""
    spec, before = part(new, "spec"), part(old, "spec")
    ratchet = Ratchet(old)
    fixed: Errors = []
    # Before, no object can exist that another scope or kind would lose.
    if ratchet.is_established:
        fixed += immutable("spec.scope", text(spec, "scope"), text(before, "scope"))
        fixed += _immutable_name("kind", spec, before)
    # Group and plural make up the definition's own name, and so are fixed from the start.
    fixed += immutable("spec.group", text(spec, "group"), text(before, "group"))
    fixed += _immutable_name("plural", spec, before)
    return _errors(new, InternalSpec.of(new), ratchet, fixed, old)


def _immutable_name(name: str, spec: Plain, before: Plain) -> Errors:
    return immutable(f"spec.names.{name}", text(part(spec, "names"), name), text(part(before, "names"), name))


def status_changes(new: Plain, _old: Plain) -> Errors:
    """Return the errors of a new status."""
    # The controller writes acceptedNames; conditions and storedVersions of a status write are not validated.
    return _name_errors(part(part(new, "status"), "acceptedNames"), "status.acceptedNames")


def _errors(definition: Plain, spec: InternalSpec, ratchet: Ratchet, fixed: Errors, old: Plain | None) -> Errors:
    status = part(definition, "status")
    # The errors of immutable fields come after those of the spec, as kube-apiserver appends them.
    errors = [*_spec_errors(spec, ratchet), *fixed]
    errors += _name_errors(part(status, "acceptedNames"), "status.acceptedNames")
    errors += _stored_version_errors(status.get("storedVersions"), spec)
    errors += approval_errors(definition, old)
    # A stored definition may keep the setting, which v1beta1 allowed; no new one may get it.
    if spec.preserves_unknown and not ratchet.preserves_unknown:
        why = "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in spec.versions[*].schema instead"
        errors.append(invalid("spec.preserveUnknownFields", True, why))
    return errors


def _spec_errors(spec: InternalSpec, ratchet: Ratchet) -> Errors:
    plain = spec.plain
    errors = _group_errors(text(plain, "group"))
    scope = text(plain, "scope")
    if scope not in _SCOPES:
        errors.append(not_supported("spec.scope", scope, _SCOPES) if scope else required("spec.scope"))
    errors += _missing_schema_errors(spec, ratchet)
    reports = spec_reports(spec)
    # Without pruning, defaults could not be told from unknown fields.
    has_defaults = any(report.has_defaults for report in reports)
    if has_defaults and spec.preserves_unknown:
        why = "must be false in order to use defaults in the schema"
        errors.append(invalid("spec.preserveUnknownFields", True, why))
    # Pruning, defaults and extensions all stand on a structural schema.
    is_structural = not spec.preserves_unknown or has_defaults or any(report.has_extensions for report in reports)
    is_structural = is_structural or not ratchet.allows_non_structural
    for index, version in enumerate(spec.versions):
        path = f"spec.versions[{index}]"
        errors += _label_errors(version.name, f"{path}.name")
        errors += _version_errors(version, spec, path, ratchet, is_structural=is_structural)
    errors += _versions_errors(spec)
    errors += _required_name_errors(part(plain, "names"))
    errors += _name_errors(part(plain, "names"), "spec.names")
    errors += _shared_errors(spec, ratchet, is_structural=is_structural)
    strategy = text(part(plain, "conversion"), "strategy")
    if strategy != "None" and spec.preserves_unknown:
        why = "must be None if spec.preserveUnknownFields is true"
        errors.append(invalid("spec.conversion.strategy", strategy, why))
    return errors + conversion_errors(part(plain, "conversion"), "spec.conversion", ratchet)


def _group_errors(group: str) -> Errors:
    if not group:
        return [required("spec.group")]
    if problems := names.SUBDOMAIN(group):
        # All problems of a group are joined into one error, unlike those of most names.
        return [invalid("spec.group", group, ",".join(problems))]
    return [] if "." in group else [invalid("spec.group", group, "should be a domain with at least one dot")]


def _missing_schema_errors(spec: InternalSpec, ratchet: Ratchet) -> Errors:
    # A schema that all versions share is hoisted, and no version lacks it.
    if spec.shared.schema is not None:
        return []
    missing = [(index, version) for index, version in enumerate(spec.versions) if version.schema is None]
    if not ratchet.allows_missing_schema:
        return [required(f"spec.versions[{index}].schema.openAPIV3Schema") for index, _ in missing]
    # An old definition that preserves unknown fields works without any schema.
    if spec.preserves_unknown:
        return []
    return [
        required(f"spec.versions[{index}].schema.openAPIV3Schema", "because otherwise all fields are pruned")
        for index, item in missing
        if item.plain.get("served")
    ]


def _version_errors(
    version: Version, spec: InternalSpec, path: str, ratchet: Ratchet, *, is_structural: bool
) -> Errors:
    """Return the errors of what one version has for itself."""
    errors = deprecation_errors(version.plain, path)
    if version.schema is not None:
        # Subresources are hoisted as well, independently of the schema.
        # A version that has its own subresources rules out hoisted ones.
        subresources = version.subresources if _has_own_subresources(spec) else spec.shared.subresources
        errors += schema_errors(
            version.schema,
            f"{path}.schema",
            ratchet,
            has_status=_has_status(subresources),
            is_structural=is_structural,
            # Ratcheting: the cost limit of a single rule is not applied to a schema that was accepted before.
            is_unchanged=ratchet.has_schema(version.name, version.schema),
        )
    errors += subresource_errors(version.subresources, f"{path}.subresources")
    errors += column_errors(version.columns, path)
    if version.selectable:
        errors += _selectable_errors(version, spec, path, ratchet)
    return errors


def _selectable_errors(version: Version, spec: InternalSpec, path: str, ratchet: Ratchet) -> Errors:
    at = f"{path}.selectableFields"
    # Ratcheting: a list of selectable fields that exceeds the maximum stays valid while it is unchanged.
    may_be_many = ratchet.has_selectable(version.name, version.selectable)
    is_shared = version is spec.shared
    if version.schema is None:
        if is_shared:
            return [invalid(at, "", "may only be set when validations.schema is included")]
        # kube-apiserver's message says the opposite of what it means.
        why = "may only be set when `version.schema.openAPIV3Schema` is not included"
        return [invalid(at, "", why)]
    if problem := unsupported_problem(version.schema):
        error = invalid(f"{path}.schema.openAPIV3Schema", "", problem)
        # Without a structural schema every path is unknown; kube-apiserver reports that, too.
        return [error, *selectable_errors(version.selectable, Schema(), at, may_be_many=may_be_many)]
    return selectable_errors(version.selectable, tree_of(version.schema), at, may_be_many=may_be_many)


def _shared_errors(spec: InternalSpec, ratchet: Ratchet, *, is_structural: bool) -> Errors:
    """Return the errors of what all versions have in common."""
    shared = spec.shared
    errors: Errors = []
    if shared.schema is not None:
        errors += schema_errors(
            shared.schema,
            "spec.validation",
            ratchet,
            # The schema is shared, but the status subresource may belong to a single version.
            has_status=any(_has_status(item.subresources) for item in (shared, *spec.versions)),
            is_structural=is_structural,
            is_unchanged=ratchet.has_schema(spec.versions[0].name, shared.schema),
        )
    errors += subresource_errors(shared.subresources, "spec.subresources")
    errors += column_errors(shared.columns, "spec")
    if shared.selectable:
        errors += _selectable_errors(shared, spec, "spec", ratchet)
    return errors


def _has_own_subresources(spec: InternalSpec) -> bool:
    return any(version.subresources is not None for version in spec.versions)


def _has_status(subresources: Plain | None) -> bool:
    return subresources is not None and subresources.get("status") is not None


def _versions_errors(spec: InternalSpec) -> Errors:
    errors: Errors = []
    found = [version.name for version in spec.versions]
    if len(set(found)) < len(found):
        errors.append(invalid("spec.versions", shown_versions(spec), "must contain unique version names"))
    if sum(version.plain.get("storage") is True for version in spec.versions) != 1:
        why = "must have exactly one version marked as storage version"
        errors.append(invalid("spec.versions", shown_versions(spec), why))
    # kube-apiserver derives the old field spec.version from the first item, and validates that, too.
    if found and found[0]:
        errors += _label_errors(found[0], "spec.version")
    return errors


def _stored_version_errors(stored: list[str] | None, spec: InternalSpec) -> Errors:
    path = "status.storedVersions"
    # The server keeps this list itself; only a client of the status subresource can have emptied it.
    if not stored:
        return [invalid(path, stored, "must have at least one stored version")]
    # A version that may still be stored must stay readable.
    left = {name: index for index, name in enumerate(stored)}
    errors: Errors = []
    for version in spec.versions:
        # The storage version is recorded before validation, in `stored_versions`; a mismatch is a client's doing.
        if version.plain.get("storage") and version.name not in left:
            errors.append(invalid(path, stored, f"must have the storage version {version.name}"))
        left.pop(version.name, None)
    for name, index in left.items():
        why = (
            f"missing from spec.versions; {name} was previously a storage version, and must remain in spec.versions"
            f" until a storage migration ensures no data remains persisted in {name} and removes {name} from"
            " status.storedVersions"
        )
        errors.append(invalid(f"{path}[{index}]", name, why))
    return errors


def _required_name_errors(found: Plain) -> Errors:
    # A status need not have these names yet; a spec must.
    wanted = ("plural", "singular", "kind", "listKind")
    return [required(f"spec.names.{item}") for item in wanted if not text(found, item)]


def _name_errors(found: Plain, path: str) -> Errors:
    """Return the errors of the names in a spec or status."""
    errors: Errors = []
    for name in ("plural", "singular"):
        if value := text(found, name):
            errors += _label_errors(value, f"{path}.{name}")
    for name in ("kind", "listKind"):
        value = text(found, name)
        # Kinds are camel case in Go and label-like otherwise, hence the comparison in lower case.
        if value and (problems := names.LABEL_1035(value.lower())):
            why = f"may have mixed case, but should otherwise match: {','.join(problems)}"
            errors.append(invalid(f"{path}.{name}", value, why))
    for index, value in enumerate(found.get("shortNames") or ()):
        errors += _label_errors(value, f"{path}.shortNames[{index}]")
    if text(found, "kind") and text(found, "kind") == text(found, "listKind"):
        why = "kind and listKind may not be the same"
        errors.append(invalid(f"{path}.listKind", found["listKind"], why))
    for index, value in enumerate(found.get("categories") or ()):
        errors += _label_errors(value, f"{path}.categories[{index}]")
    return errors


def _label_errors(value: str, path: str) -> Errors:
    problems = names.LABEL_1035(value)
    return [invalid(path, value, ",".join(problems))] if problems else []
