"""Behavior of Ingresses."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.resources.behavior import Behavior, StrategyHooks, SubresourceBehavior, WarningHooks
from masthead_server.resources.builtin.networking.ingress.validation import (
    CLASS_ANNOTATION,
    ingress_errors,
    new_ingress_errors,
)
from masthead_server.resources.builtin.networking.ingress.warnings import ingress_warnings
from masthead_server.resources.validation.load_balancer_status import ingress_status_errors
from masthead_server.resources.warnings.load_balancer_status import load_balancer_status_warnings
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from masthead_server.resources.allocator import Allocator
    from masthead_server.wire.plain import Plain


def _prepare_ingress(ingress: Plain, allocate: Allocator) -> None:
    """Choose the default class for an ingress that names none."""
    annotated = part(metadata(ingress), "annotations").get(CLASS_ANNOTATION)
    spec = ingress.setdefault("spec", {})
    if annotated is not None or spec.get("ingressClassName") is not None:
        return
    key = "ingressclass.kubernetes.io/is-default-class"
    marked = [
        metadata(each)
        for each in allocate.listed("networking.k8s.io", "ingressclasses")
        if part(metadata(each), "annotations").get(key) == "true"
    ]
    # Sorts are stable: the newest class comes first, and of equally old ones the first by name.
    ranked = sorted(marked, key=lambda meta: text(meta, "name"))
    ranked.sort(key=lambda meta: text(meta, "creationTimestamp"), reverse=True)
    if ranked:
        spec["ingressClassName"] = text(ranked[0], "name")


BEHAVIOR: Final = Behavior(
    hooks=StrategyHooks(
        prepare_create=_prepare_ingress,
        validate_create=new_ingress_errors,
        validate_update=lambda new, _old: ingress_errors(new),
        validate_status=ingress_status_errors,
    ),
    warnings=WarningHooks(ingress_warnings),
    subresources={"status": SubresourceBehavior(warnings=WarningHooks(on_update=load_balancer_status_warnings))},
)
