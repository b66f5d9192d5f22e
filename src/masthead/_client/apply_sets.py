"""Apply sets: objects that are applied together, with the labels and annotations of KEP-3659.

::

    parent  Secret shop/web       label       applyset.kubernetes.io/id: applyset-…-v1
                                  annotations applyset.kubernetes.io/tooling: masthead/v0.1.0
                                              applyset.kubernetes.io/contains-group-kinds: ConfigMap,Deployment.apps
                                              applyset.kubernetes.io/additional-namespaces: cache
    member  Deployment shop/web   label       applyset.kubernetes.io/part-of: applyset-…-v1

The annotations of the parent list the kinds and namespaces of its members. This module does no I/O.
"""

from __future__ import annotations

import base64
import hashlib
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final, cast

from masthead._meta import names
from masthead._meta.gvk import GroupKind
from masthead._module import set_module
from masthead._version import __version__
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterable

    from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
    from masthead._meta.unstructured import Unstructured

__all__ = [
    "IS_PARENT_TYPE",
    "ApplySet",
    "ApplySetParent",
    "Membership",
    "apply_set_of",
    "parent_name",
    "parent_resource",
    "with_member_label",
]

ID: Final = "applyset.kubernetes.io/id"
PART_OF: Final = "applyset.kubernetes.io/part-of"
TOOLING: Final = "applyset.kubernetes.io/tooling"
GROUP_KINDS: Final = "applyset.kubernetes.io/contains-group-kinds"
GROUP_RESOURCES: Final = "applyset.kubernetes.io/contains-group-resources"
NAMESPACES: Final = "applyset.kubernetes.io/additional-namespaces"
IS_PARENT_TYPE: Final = "applyset.kubernetes.io/is-parent-type"

_BUILTIN_PARENTS: Final = frozenset({"secrets", "configmaps"})
_DEFAULT_PARENT: Final = "secrets"


@set_module("masthead.manifests")
@dataclass(frozen=True, slots=True)
class ApplySet:
    """A set of objects that are applied together, so that objects that leave the set can be pruned.

    ::

        await client.apply_manifests(
            Path("deploy/"), namespace="default", apply_set="configmaps/web", prune=True, field_manager="me"
        )

    A parent object in the cluster represents the set; a ConfigMap or a Secret is created if it does not exist. The
    format is that of ``kubectl apply --prune --applyset``. A set that another tool manages is refused, as by kubectl;
    to continue one of kubectl's sets, pass ``kubectl/v1.36`` as `tooling`.

    Attributes:
        parent: The parent object: ``configmaps/web``, ``secrets/web``, ``widgets.example.com/web``; a name alone is a
            Secret. A custom resource must exist, and its definition must have the label
            ``applyset.kubernetes.io/is-parent-type``.
        namespace: The namespace of the parent; None for the `namespace` of the call.
        tooling: The tool that manages the set, as ``name/version``.
    """

    parent: str
    namespace: str | None = None
    tooling: str = f"masthead/v{__version__}"

    def __post_init__(self) -> None:
        """Check the arguments.

        Raises:
            ArgumentError: If the parent has no name, or the tooling is not a name and a version.
        """
        if not parent_name(self):
            raise ArgumentError(
                f"apply set: parent is {self.parent!r}; name it as in 'configmaps/web'", value=self.parent
            )
        name, _, version = self.tooling.rpartition("/")
        if not name or not version:
            raise ArgumentError(
                f"apply set: tooling is {self.tooling!r}; it must be a name and a version, such as 'kubectl/v1.36'",
                value=self.tooling,
            )


def parent_resource(apply_set: ApplySet) -> str:
    """The resource of the parent."""
    resource, slash, _ = apply_set.parent.partition("/")
    return resource if slash else _DEFAULT_PARENT


def parent_name(apply_set: ApplySet) -> str:
    """The name of the parent."""
    _, slash, name = apply_set.parent.partition("/")
    return name if slash else apply_set.parent


def apply_set_of(given: str | ApplySet) -> ApplySet:
    """The apply set that a caller passes, as an `ApplySet` or as the name of its parent.

    Raises:
        ArgumentError: If it is neither, or the parent has no name.
    """
    found = ApplySet(given) if isinstance(given, str) else given
    if not isinstance(cast("object", found), ApplySet):
        raise ArgumentError(
            f"apply_set is of type {type(given).__name__}; use an ApplySet, or its parent, such as 'configmaps/web'",
            value=given,
        )
    return found


@dataclass(frozen=True, slots=True)
class Membership:
    """The kinds and namespaces in which a set may have members.

    Attributes:
        kinds: The kinds of members.
        namespaces: The namespaces of members.
    """

    kinds: frozenset[GroupKind] = frozenset()
    namespaces: frozenset[str] = frozenset()

    @classmethod
    def of(cls, objects: Iterable[Unstructured]) -> Membership:
        """The membership of objects."""
        given = list(objects)
        return cls(
            frozenset(obj.gvk.group_kind for obj in given),
            frozenset(obj.metadata.namespace for obj in given if obj.metadata.namespace),
        )

    def __or__(self, other: Membership) -> Membership:
        return Membership(self.kinds | other.kinds, self.namespaces | other.namespaces)


@dataclass(frozen=True, slots=True)
class ApplySetParent:
    """The parent of an apply set, in a cluster.

    Attributes:
        apply_set: The set.
        gvk: The kind of the parent.
        resource: Its resource.
        namespace: Its namespace; empty if it is cluster-scoped.
        id: The id of the set, which identifies its members.
    """

    apply_set: ApplySet
    gvk: GroupVersionKind
    resource: GroupVersionResource
    namespace: str
    id: str = field(init=False)

    def __post_init__(self) -> None:
        """Compute the id, which depends on name, namespace, kind and group."""
        # Prescribed by the specification, so that other tools compute the same id.
        identity = ".".join((self.name, self.namespace, self.gvk.kind, self.gvk.group))
        digest = hashlib.sha256(identity.encode()).digest()
        hashed = base64.urlsafe_b64encode(digest).rstrip(b"=").decode()
        # A label's value must begin and end with a letter or a digit.
        object.__setattr__(self, "id", f"applyset-{hashed}-v1")

    def __str__(self) -> str:
        return f"apply set parent {self.gvk.kind} {self.key}"

    @property
    def key(self) -> str:
        """Its namespace, if it has one, and its name, as in ``default/web``."""
        return f"{self.namespace}/{self.name}" if self.namespace else self.name

    @property
    def is_builtin(self) -> bool:
        """Whether it is a Secret or a ConfigMap, which is created if it does not exist."""
        return not self.gvk.group and self.resource.resource in _BUILTIN_PARENTS

    @property
    def tool(self) -> str:
        """The name of the tool that manages the set, without its version."""
        return _tool_of(self.apply_set.tooling)

    @property
    def name(self) -> str:
        """The parent's name."""
        return parent_name(self.apply_set)

    @property
    def field_manager(self) -> str:
        """The field manager of its labels and annotations."""
        return f"{self.tool}-applyset"

    @property
    def member_selector(self) -> dict[str, str]:
        """The labels of members."""
        return {PART_OF: self.id}

    def membership_of(self, found: Unstructured) -> Membership:
        """Read the annotations of the parent.

        Raises:
            ArgumentError: If it is not the parent of this set, or another tool manages it.
        """
        labels, annotations = found.metadata.labels, found.metadata.annotations
        self._check(labels.get(ID), annotations.get(TOOLING))
        kinds = annotations.get(GROUP_KINDS)
        # kubectl wrote resources instead of kinds in its first versions.
        if kinds is None:
            kinds = annotations.get(GROUP_RESOURCES) or None
        if kinds is None:
            raise self._refusal(f"has no annotation {GROUP_KINDS}, so its members cannot be found; add it")
        namespaces = _split(annotations.get(NAMESPACES, ""))
        # An empty namespace would mean all of them.
        if any(names.problem_with_dns1123_label(namespace) for namespace in namespaces):
            raise self._refusal(f"has an invalid annotation {NAMESPACES}: {annotations[NAMESPACES]!r}; correct it")
        if not all(_split(kinds)):
            raise self._refusal(f"has an invalid annotation {GROUP_KINDS}: {kinds!r}; correct it")
        own = {self.namespace} if self.namespace else set[str]()
        return Membership(frozenset(_parse_kind(kind) for kind in _split(kinds)), frozenset({*namespaces, *own}))

    def _check(self, id_: str | None, tooling: str | None) -> None:
        if tooling is None:
            raise self._refusal(
                f"exists without the annotation {TOOLING}, so it is not the parent of an apply set; name another"
            )
        if (other := _tool_of(tooling)) != self.tool:
            raise self._refusal(
                f"is managed by the tooling {other!r}, not {self.tool!r}; name another parent, or continue "
                f"that set with ApplySet({self.apply_set.parent!r}, tooling={tooling!r})"
            )
        if id_ is None:
            raise self._refusal(f"exists without the label {ID}; name another, or add it with {self.id!r}")
        if id_ != self.id:
            raise self._refusal(
                f"has the label {ID} of another object: {id_!r} instead of {self.id!r}; name another, or correct it"
            )

    def _refusal(self, problem: str) -> ArgumentError:
        return ArgumentError(f"{self} {problem}", value=self.apply_set.parent)

    def configuration(self, membership: Membership) -> dict[str, object]:
        """The parent's apply configuration. It leaves out the annotation of group-resources, which removes it."""
        metadata: dict[str, object] = {
            "name": self.name,
            "labels": {ID: self.id},
            "annotations": {
                TOOLING: self.apply_set.tooling,
                GROUP_KINDS: ",".join(sorted(map(str, membership.kinds))),
                NAMESPACES: ",".join(sorted(membership.namespaces - {self.namespace})),
            },
        }
        if self.namespace:
            metadata["namespace"] = self.namespace
        return {"apiVersion": self.gvk.api_version, "kind": self.gvk.kind, "metadata": metadata}


def with_member_label(obj: Unstructured, id_: str) -> Unstructured:
    """A copy with the label of a member.

    Raises:
        ArgumentError: If it has such a label already.
    """
    if PART_OF in obj.metadata.labels:
        raise ArgumentError(
            f"leave out the label {PART_OF}; the apply set assigns it",
            value=obj.metadata.labels[PART_OF],
        )
    made = obj.copy()
    made.metadata.labels = {**obj.metadata.labels, PART_OF: id_}
    return made


def _tool_of(tooling: str) -> str:
    name, slash, _ = tooling.rpartition("/")
    return name if slash else tooling


def _parse_kind(text: str) -> GroupKind:
    """Parse a kind of an annotation, such as ``Deployment.apps``; or a resource, from the old annotation."""
    kind, _, group = text.partition(".")
    return GroupKind(group, kind)


def _split(text: str) -> list[str]:
    return text.split(",") if text else []
