"""Admission: webhooks, policies and their bindings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._meta.plain import entries, has, labels, part, text, texts
from masthead._printers.printer import AGE, NAME, Column, Printer, age_of, name_of

if TYPE_CHECKING:
    from collections.abc import Mapping
    from datetime import datetime

    from masthead._meta.plain import Plain
    from masthead._printers.printer import Cell

__all__ = ["PRINTERS"]

_GROUP: Final = "admissionregistration.k8s.io"


def _webhooks(obj: Plain, now: datetime) -> list[Cell]:
    return [name_of(obj), len(entries(obj, "webhooks")), age_of(obj, now)]


def _validating_policy(obj: Plain, now: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    return [name_of(obj), len(entries(spec, "validations")), _param_kind(spec), age_of(obj, now)]


def _mutating_policy(obj: Plain, now: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    return [name_of(obj), len(entries(spec, "mutations")), _param_kind(spec), age_of(obj, now)]


def _param_kind(spec: Plain) -> str:
    if not has(spec, "paramKind"):
        return "<unset>"
    kind = part(spec, "paramKind")
    return f"{text(kind, 'apiVersion')}/{text(kind, 'kind')}"


def _binding(obj: Plain, now: datetime) -> list[Cell]:
    spec = part(obj, "spec")
    return [name_of(obj), text(spec, "policyName"), _params(part(spec, "paramRef")), age_of(obj, now)]


def _params(reference: Plain) -> str:
    if name := text(reference, "name"):
        # Without a namespace the parameters may be of the cluster, or of the namespace of each request.
        return f"{text(reference, 'namespace') or '*'}/{name}"
    return _go_selector(part(reference, "selector")) if has(reference, "selector") else "<unset>"


def _go_selector(selector: Plain) -> str:
    """Format a LabelSelector as Go's generated code does, which is what kube-apiserver shows."""
    pairs = "".join(f"{key}: {value}," for key, value in sorted(labels(selector, "matchLabels").items()))
    expressions = "".join(f"{_go_requirement(entry)}," for entry in entries(selector, "matchExpressions"))
    return (
        f"&LabelSelector{{MatchLabels:map[string]string{{{pairs}}},"
        f"MatchExpressions:[]LabelSelectorRequirement{{{expressions}}},}}"
    )


def _go_requirement(requirement: Plain) -> str:
    values = " ".join(texts(requirement, "values"))
    key, operator = text(requirement, "key"), text(requirement, "operator")
    return f"LabelSelectorRequirement{{Key:{key},Operator:{operator},Values:[{values}],}}"


_WEBHOOKS: Final = Printer((NAME, Column("Webhooks", "integer"), AGE), _webhooks)
_BINDING: Final = Printer((NAME, Column("PolicyName"), Column("ParamRef"), AGE), _binding)

PRINTERS: Final[Mapping[tuple[str, str], Printer]] = {
    (_GROUP, "MutatingWebhookConfiguration"): _WEBHOOKS,
    (_GROUP, "ValidatingWebhookConfiguration"): _WEBHOOKS,
    (_GROUP, "ValidatingAdmissionPolicy"): Printer(
        (NAME, Column("Validations", "integer"), Column("ParamKind"), AGE), _validating_policy
    ),
    (_GROUP, "ValidatingAdmissionPolicyBinding"): _BINDING,
    (_GROUP, "MutatingAdmissionPolicy"): Printer(
        (NAME, Column("Mutations", "integer"), Column("ParamKind"), AGE), _mutating_policy
    ),
    (_GROUP, "MutatingAdmissionPolicyBinding"): _BINDING,
}
"""The printers, by group and kind."""
