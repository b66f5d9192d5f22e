"""Type checking of validating policies: warnings about expressions that do not fit the kinds that they are for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._cel.types import DYN, Type
from masthead._meta.gvk import GroupVersion, GroupVersionKind, GroupVersionResource
from masthead_server.admission.policies.declared_types import declare_resource
from masthead_server.resources.builtin.admissionregistration.expressions import (
    VARIABLE,
    CompositeType,
    Declarations,
    compile_expression,
)
from masthead_server.resources.validation.checks import words
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.resources.catalog import Catalog
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["check_types"]

_MAX_TYPES: Final = 10
"""The most kinds of one rule that are checked."""
_FAILED: Final = "compilation failed: "


def check_types(catalog: Catalog, policy: Plain) -> list[Plain]:
    """Return the warnings about a policy, as its status has them.

    Args:
        catalog: The served resources.
        policy: The policy.
    """
    spec = part(policy, "spec")
    kinds = _kinds_of(catalog, spec)
    params = _params_type(catalog, spec)
    warnings: list[Plain] = []
    for index, validation in enumerate(items(spec, "validations")):
        for field in ("expression", "messageExpression"):
            source = text(validation, field)
            if source and (found := _check(source, spec, kinds, params)):
                warnings.append({"fieldRef": f"spec.validations[{index}].{field}", "warning": found})
    return warnings


def _check(source: str, spec: Plain, kinds: dict[GroupVersionKind, Type], params: Type) -> str:
    """Return the problems of an expression, for each kind that has any."""
    problems: list[str] = []
    for kind, type_ in kinds.items():
        composite = CompositeType()
        declarations = Declarations(
            has_params=spec.get("paramKind") is not None,
            has_request_resource=False,
            variables=composite.type,
            object=type_,
            params=params,
        )
        for variable in items(spec, "variables"):
            compiled = compile_expression(text(variable, "expression"), declarations, VARIABLE)
            composite.add(text(variable, "name"), compiled)
        # Only errors of types count: the real controller does not instantiate programs.
        problem = compile_expression(source, declarations, VARIABLE).error
        if problem.startswith(_FAILED):
            problems.append(f"{kind.group}/{kind.version}, Kind={kind.kind}: {problem.removeprefix(_FAILED)}\n")
    return "\n".join(problems)


def _kinds_of(catalog: Catalog, spec: Plain) -> dict[GroupVersionKind, Type]:
    """Return the kinds that the rules name, in order, with their types."""
    found: dict[GroupVersionKind, Type] = {}
    for rule in items(part(spec, "matchConstraints"), "resourceRules"):
        for count, served in enumerate(_resources_of(catalog, rule), start=1):
            declared = declare_resource(served)
            if declared is not None:
                found[served.gvk] = declared
            if count == _MAX_TYPES:
                return dict(sorted(found.items()))
    return dict(sorted(found.items()))


def _resources_of(catalog: Catalog, rule: Plain) -> Iterator[ServedResource]:
    """Yield the resources that a rule names; none if it names all groups or versions."""
    groups, versions = sorted(words(rule, "apiGroups")), sorted(words(rule, "apiVersions"))
    if any("*" in name for name in (*groups, *versions)):
        return
    resources = sorted(name for name in words(rule, "resources") if "*" not in name and "/" not in name)
    for group in groups:
        for version in versions:
            for resource in resources:
                # As kube-apiserver's mapper does: the empty group means any.
                for candidate in (group,) if group else catalog.groups():
                    served = catalog.find(GroupVersionResource(candidate, version, resource))
                    if served is not None:
                        yield served


def _params_type(catalog: Catalog, spec: Plain) -> Type:
    kind = part(spec, "paramKind")
    if not kind:
        return DYN
    parsed = GroupVersion.parse(text(kind, "apiVersion")).kind(text(kind, "kind"))
    served = catalog.by_kind(parsed)
    return (declare_resource(served) if served is not None else None) or DYN
