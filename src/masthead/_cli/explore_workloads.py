"""The workload of ``masthead explore``: of a module, or generated from the schema of a custom resource."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._cli.targets import TargetError, load_workload_attribute, parse_target
from masthead._client.documents import load_manifests
from masthead._customresource.resource import CustomResource
from masthead.testing import generate_workload
from masthead.testing._explore.app_modules import as_factory

if TYPE_CHECKING:
    import argparse
    from collections.abc import Iterator

    from masthead._meta.object import Object
    from masthead.testing import Workload

__all__ = ["load_workload"]


def load_workload(chosen: argparse.Namespace, operator: object) -> object:
    """Return the workload that the arguments name.

    Raises:
        TargetError: If there is none.
        BrokenTargetError: If its module raises when it is imported.
    """
    if chosen.generate is not None:
        return _generate(chosen, operator)
    target = parse_target(chosen.workload)
    if not target.name:
        raise TargetError(f"{chosen.workload} names no workload; write package.module:workload")
    return load_workload_attribute(target)


def _generate(chosen: argparse.Namespace, operator: object) -> Workload:
    resources = dict(_resources(chosen, operator))
    kind = chosen.generate or (next(iter(resources)) if len(resources) == 1 else "")
    if kind not in resources:
        known = (
            f"it has {', '.join(resources)}: write --generate KIND" if resources else "name its definition with --crd"
        )
        raise TargetError(f"there is no custom resource {kind!r} of {chosen.target}; {known}".replace(" ''", ""))
    examples = [obj for file in chosen.example for obj in load_manifests(file)]
    return generate_workload(resources[kind], examples=examples, seed=chosen.seed, steps=chosen.steps)


def _resources(chosen: argparse.Namespace, operator: object) -> Iterator[tuple[str, type[Object] | Object]]:
    """Return the custom resources by kind: those of ``--crd``, and the kinds of the operator."""
    for file in chosen.crd:
        for definition in load_manifests(file):
            plain = definition.to_dict()
            yield plain.get("spec", {}).get("names", {}).get("kind", ""), definition
    for controller in as_factory(operator)().controllers:
        kind = controller.primary.kind
        if isinstance(kind, type) and issubclass(kind, CustomResource):
            yield kind.GVK.kind, kind
