"""The classes and fields of the API with their docstrings, read from the source as an editor does."""

from __future__ import annotations

import ast
from dataclasses import dataclass
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Final, NamedTuple

import masthead.api

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["POPULAR", "ClassSource", "FieldSource", "Name", "reachable", "read_classes", "undocumented"]

POPULAR: Final[tuple[str, ...]] = (
    "apiextensions.v1.CustomResourceDefinition",
    "apps.v1.ControllerRevision",
    "apps.v1.DaemonSet",
    "apps.v1.Deployment",
    "apps.v1.ReplicaSet",
    "apps.v1.StatefulSet",
    "authentication.v1.TokenRequest",
    "autoscaling.v1.Scale",
    "autoscaling.v2.HorizontalPodAutoscaler",
    "batch.v1.CronJob",
    "batch.v1.Job",
    "coordination.v1.Lease",
    "core.v1.ConfigMap",
    "core.v1.Endpoints",
    "core.v1.Event",
    "core.v1.LimitRange",
    "core.v1.Namespace",
    "core.v1.Node",
    "core.v1.PersistentVolume",
    "core.v1.PersistentVolumeClaim",
    "core.v1.Pod",
    "core.v1.PodTemplate",
    "core.v1.ReplicationController",
    "core.v1.ResourceQuota",
    "core.v1.Secret",
    "core.v1.Service",
    "core.v1.ServiceAccount",
    "discovery.v1.EndpointSlice",
    "events.v1.Event",
    "networking.v1.Ingress",
    "networking.v1.IngressClass",
    "networking.v1.NetworkPolicy",
    "policy.v1.Eviction",
    "policy.v1.PodDisruptionBudget",
    "rbac.v1.ClusterRole",
    "rbac.v1.ClusterRoleBinding",
    "rbac.v1.Role",
    "rbac.v1.RoleBinding",
    "scheduling.v1.PriorityClass",
    "storage.v1.StorageClass",
    "storage.v1.VolumeAttachment",
)
"""The kinds that most programs use: every field of them and of their parts has a docstring."""

_API: Final = Path(masthead.api.__file__).parent
_META: Final = _API.parent / "_meta"


class Name(NamedTuple):
    """The name of a class: that of the module from which others import it, and its own."""

    module: str
    name: str


@dataclass(frozen=True, slots=True)
class FieldSource:
    """What the source of a field says.

    Attributes:
        doc: Its docstring; empty if there is none.
        annotation: Its type, as the source writes it.
        uses: The classes in the annotation, by the names that the source has for them.
    """

    doc: str
    annotation: str
    uses: Mapping[str, Name]


@dataclass(frozen=True, slots=True)
class ClassSource:
    """What the source of a class says.

    Attributes:
        doc: Its docstring.
        fields: Its fields, by attribute.
    """

    doc: str
    fields: Mapping[str, FieldSource]

    @property
    def uses(self) -> set[Name]:
        """The classes in the annotations of its fields."""
        return {name for field in self.fields.values() for name in field.uses.values()}


@cache
def read_classes() -> Mapping[Name, ClassSource]:
    """Read the source of every class in `masthead.api`, and of the shared types in `masthead.meta`."""
    classes: dict[Name, ClassSource] = {}
    # Without the indexes, which have no classes.
    for path in sorted(_API.glob("*/v*.py")):
        classes |= _read_module(f"masthead.api.{path.parent.name}.{path.stem}", path)
    # Both names lead to the same types, and generated modules use both.
    for module in ("masthead.meta", "masthead.meta.v1"):
        for stem in ("object", "metadata", "v1"):
            classes |= _read_module(module, _META / f"{stem}.py")
    return classes


def reachable(kinds: Iterable[str] = POPULAR) -> Mapping[Name, ClassSource]:
    """The classes of some kinds, with the types of their fields and of the fields of these."""
    classes = read_classes()
    found: dict[Name, ClassSource] = {}
    waiting = [Name("masthead.meta", "Object")]
    waiting += [Name(f"masthead.api.{kind.rpartition('.')[0]}", kind.rpartition(".")[2]) for kind in kinds]
    while waiting:
        name = waiting.pop()
        # Types refer to each other in circles: JSONSchemaProps to itself.
        if name not in found:
            found[name] = classes[name]
            waiting += [used for used in classes[name].uses if used in classes]
    return found


def undocumented() -> Iterator[str]:
    """Yield the public classes without a docstring, and the fields of the popular kinds without one."""
    for name, source in read_classes().items():
        if not source.doc and not name.name.startswith("_"):
            yield ".".join(name)
    for name, source in reachable().items():
        yield from (f"{'.'.join(name)}.{attribute}" for attribute, field in source.fields.items() if not field.doc)


def _read_module(module: str, path: Path) -> Mapping[Name, ClassSource]:
    tree = ast.parse(path.read_text("utf-8"))
    definitions = [node for node in tree.body if isinstance(node, ast.ClassDef)]
    homes = {definition.name: Name(module, definition.name) for definition in definitions}
    for node in tree.body:
        if isinstance(node, ast.ImportFrom) and node.module:
            homes |= {alias.asname or alias.name: Name(node.module, alias.name) for alias in node.names}
    return {homes[definition.name]: _read_class(definition, homes) for definition in definitions}


def _read_class(definition: ast.ClassDef, homes: Mapping[str, Name]) -> ClassSource:
    fields: dict[str, FieldSource] = {}
    # The docstring of an attribute is the expression behind it.
    for statement, following in pairwise([*definition.body, ast.Pass()]):
        if isinstance(statement, ast.AnnAssign) and (attribute := _attribute(statement)):
            uses = {name: homes[name] for name in _names(statement.annotation) if name in homes}
            # Quotes are an artefact of the order of definitions.
            annotation = ast.unparse(statement.annotation).replace("'", "")
            fields[attribute] = FieldSource(_docstring(following), annotation, uses)
    return ClassSource(ast.get_docstring(definition) or "", fields)


def _attribute(statement: ast.AnnAssign) -> str:
    """The field that a statement of a class declares; empty for constants and private names."""
    name = statement.target.id if isinstance(statement.target, ast.Name) else ""
    # Facts of a class are in capital letters: GVK, MERGE.
    return "" if name.startswith("_") or name.isupper() else name


def _docstring(statement: ast.stmt) -> str:
    value = statement.value if isinstance(statement, ast.Expr) else None
    return value.value if isinstance(value, ast.Constant) and isinstance(value.value, str) else ""


def _names(annotation: ast.expr) -> Iterator[str]:
    for node in ast.walk(annotation):
        if isinstance(node, ast.Name):
            yield node.id
        # Only annotations have names in quotes here.
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):  # names a class that comes later
            yield from _names(ast.parse(node.value, mode="eval").body)
