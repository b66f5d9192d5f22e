"""The key of a factory's informer: resource, form, namespaces and selectors. Equal keys share one informer."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from masthead._client.options import list_query
from masthead._client.resource_target import typed_target
from masthead._meta import fields, labels, names
from masthead._meta.gvk import GroupVersion, GroupVersionResource
from masthead._meta.object import Object
from masthead._meta.registry import registry
from masthead._module import set_module
from masthead.errors import ArgumentError, UnknownKindError

if TYPE_CHECKING:
    from masthead._client.options import FieldSelection, LabelSelection

__all__ = [
    "Form",
    "InformerKey",
    "ListSelectors",
    "Tweak",
    "apply_tweak",
    "check_selectors",
    "informer_key",
    "is_namespaced",
    "namespaces_of",
    "parse_resource",
    "resource_of",
]

_SELECTORS: Final[Mapping[str, Callable[[str], object]]] = {
    "labelSelector": labels.parse,
    "fieldSelector": fields.parse,
    "shardSelector": str,
}
_TITLES: Final[Mapping[str, str]] = {
    "labelSelector": "labels ",
    "fieldSelector": "fields ",
    "shardSelector": "shard ",
}
"""Prefixes of selectors in names, because label and field selectors may look alike."""

Form: TypeAlias = Literal["typed", "untyped", "metadata"]
"""The form of the objects: typed, `Unstructured`, or metadata only."""


@set_module("masthead.cache")
@dataclass(frozen=True, slots=True, kw_only=True)
class ListSelectors:
    """The selectors of lists and watches; None for no selector.

    Attributes:
        label_selector: Labels that objects must have.
        field_selector: Fields that objects must have.
        shard_selector: The shard that objects must belong to, on servers with sharded list and watch.
    """

    label_selector: LabelSelection | None = None
    field_selector: FieldSelection | None = None
    shard_selector: str | None = None


# differs from client-go: called once per informer, with its kind; versions and limits belong to the reflector.
Tweak: TypeAlias = Callable[[type[Object] | GroupVersionResource, ListSelectors], ListSelectors]
"""Changes the selectors of a kind, for lists and watches alike: ``tweak(Pod, selectors)``.

::

    def only_this_node(kind, selectors):
        return replace(selectors, field_selector=f"spec.nodeName={NODE}") if kind is Pod else selectors
"""


@set_module("masthead.cache")
@dataclass(frozen=True, slots=True)
class InformerKey:
    """Identifies an informer of a factory.

    Attributes:
        form: The form of the objects.
        kind: The class of typed objects; otherwise the resource.
        namespaces: The namespaces; empty for all, and for cluster-scoped kinds.
        selectors: The selectors, by the API's names.
    """

    form: Form
    kind: type[Object] | GroupVersionResource
    namespaces: tuple[str, ...]
    selectors: tuple[tuple[str, str], ...]

    @property
    def resource(self) -> GroupVersionResource:
        """The resource."""
        return resource_of(self.kind)

    @property
    def name(self) -> str:
        """The informer's name, such as ``pods`` or ``pods[shop/*;labels app=web]``.

        Versions other than ``v1`` are written as in kubectl: ``horizontalpodautoscalers.v2.autoscaling``.
        """
        parts: list[str] = [] if self.form == "typed" else [self.form]
        parts += [",".join(f"{namespace}/*" for namespace in self.namespaces)] if self.namespaces else []
        parts += [f"{_TITLES[option]}{value}" for option, value in self.selectors]
        details = f"[{';'.join(parts)}]" if parts else ""
        resource, version, group = self.resource.resource, self.resource.version, self.resource.group
        return ".".join(filter(None, (resource, version if version != "v1" else "", group))) + details


def resource_of(what: type[Object] | GroupVersionResource) -> GroupVersionResource:
    """The resource of a class; a resource is returned unchanged.

    Raises:
        UnknownKindError: If the class does not declare its resource.
        ArgumentError: If it is neither.
    """
    given = cast("object", what)
    if isinstance(given, GroupVersionResource):
        return given
    # isinstance() first: issubclass() raises TypeError unless it gets a class.
    if not isinstance(given, type) or not issubclass(given, Object):
        raise ArgumentError(
            f"{what!r} is neither a class of objects nor a resource, such as "
            "masthead.GroupVersionResource('apps', 'v1', 'deployments')",
            value=what,
        )
    return typed_target(given).resource


def parse_resource(
    what: type[Object] | GroupVersionResource | str, resource: str | None
) -> type[Object] | GroupVersionResource:
    """Parse a class, a resource, or an API version and a plural, without asking the cluster.

    Raises:
        ArgumentError: If the plural is missing, superfluous or invalid.
    """
    if not isinstance(what, str):
        if resource is not None:
            raise ArgumentError(f"{what!r} says it all; leave out {resource!r}", value=resource)
        return what
    if resource is None:
        raise ArgumentError(
            f"a factory looks nothing up on the cluster, and {what!r} alone does not say which API version is meant; "
            "give that and the plural, such as 'apps/v1', 'deployments'",
            value=what,
        )
    # A kind such as "Deployment" instead of the plural would only fail with a 404 of the first list.
    if names.problem_with_dns1123_label(resource):
        raise ArgumentError(f"{resource!r} is no resource; give its plural, such as 'deployments'", value=resource)
    return GroupVersion.parse(what).resource(resource)


def namespaces_of(namespace: str | Sequence[str] | None) -> tuple[str, ...]:
    """The namespaces in order, without duplicates; empty for all of them.

    Raises:
        ArgumentError: If the sequence is empty, or a namespace is invalid.
    """
    # An empty string means all namespaces, as client-go's NamespaceAll; an empty list is rather a mistake.
    if not namespace and (namespace is None or isinstance(namespace, str)):
        return ()
    given = [namespace] if isinstance(namespace, str) else list(namespace)
    if not given:
        raise ArgumentError("there is no namespace in the list; give some, or None for all", value=namespace)
    for name in given:
        if not isinstance(cast("object", name), str):
            raise ArgumentError(f"{name!r} is no namespace", value=name)
        names.check_dns1123_label(name)
    # Sorted: the same namespaces in another order share one informer.
    return tuple(sorted({*given}))


def check_selectors(selectors: ListSelectors) -> ListSelectors:
    """Check selectors, and return them.

    Raises:
        SelectorError: If one is invalid.
        ArgumentError: If one has the wrong type.
    """
    _normalize(selectors)
    return selectors


def apply_tweak(
    tweak: Tweak | None, kind: type[Object] | GroupVersionResource, selectors: ListSelectors
) -> ListSelectors:
    """Return the selectors after a tweak.

    Raises:
        ArgumentError: If the tweak returns anything else.
        Exception: Any exception of the tweak.
    """
    tweaked = selectors if tweak is None else tweak(kind, selectors)
    if not isinstance(cast("object", tweaked), ListSelectors):
        raise ArgumentError(
            f"the tweak of {resource_of(kind).group_resource} returned a {type(tweaked).__name__}; it must return "
            "ListSelectors, such as dataclasses.replace(selectors, field_selector=...)",
            value=tweaked,
        )
    return tweaked


def informer_key(
    form: Form,
    kind: type[Object] | GroupVersionResource,
    namespaces: tuple[str, ...],
    selectors: ListSelectors,
    *,
    is_explicit: bool,
) -> InformerKey:
    """Build the key of an informer.

    Args:
        form: The form of the objects.
        kind: Their class, or the resource.
        namespaces: The namespaces; empty for all.
        selectors: The selectors.
        is_explicit: Whether the namespaces were passed with this kind, and not to the factory: then a cluster-scoped
            kind is an error.

    Raises:
        UnknownKindError: If the class does not declare its resource.
        ArgumentError: If a namespace is passed with a cluster-scoped kind.
        SelectorError: If a selector is invalid.
    """
    resource = resource_of(kind)
    if namespaces and is_namespaced(kind) is False:
        if is_explicit:
            raise ArgumentError(
                f"{resource.group_resource} live in no namespace; leave out namespace", value=namespaces
            )
        namespaces = ()
    # Metadata has one form, whether it is requested by class or by resource.
    return InformerKey(form, kind if form == "typed" else resource, namespaces, _normalize(selectors))


def _normalize(selectors: ListSelectors) -> tuple[tuple[str, str], ...]:
    """The selectors in canonical form, so that equivalent ones are equal."""
    # The client's own conversion, so that a factory accepts the same selectors as a list.
    query = list_query(
        label_selector=selectors.label_selector,
        field_selector=selectors.field_selector,
        shard_selector=selectors.shard_selector,
    )
    return tuple((option, str(_SELECTORS[option](value))) for option, value in query)


def is_namespaced(kind: type[Object] | GroupVersionResource) -> bool | None:
    """Whether a kind is namespaced; None for a resource without a class."""
    if not isinstance(kind, GroupVersionResource):
        return typed_target(kind).namespaced
    try:
        return typed_target(registry.object_class(registry.kind_of(kind))).namespaced
    except UnknownKindError:
        return None
