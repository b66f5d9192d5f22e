"""Which informer of a factory is meant: equal wishes are one informer, different ones are side by side."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, Literal, TypeAlias, cast

from masthead._client.options import list_query
from masthead._client.target import typed
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
    "ListSelectors",
    "Tweak",
    "Wanted",
    "checked",
    "named",
    "namespaces_of",
    "resource_of",
    "tweaked",
    "wanted",
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
"""What is put before selectors in names, because they may look alike."""

Form: TypeAlias = Literal["typed", "untyped", "metadata"]
"""What the objects become: their class, `Unstructured`, or their metadata alone."""


@set_module("masthead.cache")
@dataclass(frozen=True, slots=True, kw_only=True)
class ListSelectors:
    """Which objects of a resource are kept; None for what is not said.

    Attributes:
        label_selector: Only objects with such labels.
        field_selector: Only objects with such fields.
        shard_selector: Only the objects of one shard, where the server has them.
    """

    label_selector: LabelSelection | None = None
    field_selector: FieldSelection | None = None
    shard_selector: str | None = None


# differs from client-go: it is called once for each informer, with its kind; versions and limits are the reflector's.
Tweak: TypeAlias = Callable[[type[Object] | GroupVersionResource, ListSelectors], ListSelectors]
"""Has the last word on what is selected, for lists and watches alike: ``tweak(Pod, selection)``.

::

    def only_here(what, selection):
        return replace(selection, field_selector=f"spec.nodeName={NODE}") if what is Pod else selection
"""


@dataclass(frozen=True, slots=True)
class Wanted:
    """What an informer is to hold.

    Attributes:
        form: What its objects become.
        what: The class of its objects; or the resource, where they have none.
        namespaces: Whose objects; none for all namespaces, and for what lives in none.
        selectors: What they are selected by, under the API's names.
    """

    form: Form
    what: type[Object] | GroupVersionResource
    namespaces: tuple[str, ...]
    selectors: tuple[tuple[str, str], ...]

    @property
    def resource(self) -> GroupVersionResource:
        """The resource."""
        return resource_of(self.what)

    @property
    def name(self) -> str:
        """The name, which differs from those of its neighbours: ``pods``, ``pods[shop/*;labels app=web]``.

        Versions are named as kubectl does, ``horizontalpodautoscalers.v2.autoscaling``, where they are not ``v1``.
        """
        parts: list[str] = [] if self.form == "typed" else [self.form]
        parts += [",".join(f"{namespace}/*" for namespace in self.namespaces)] if self.namespaces else []
        parts += [f"{_TITLES[option]}{value}" for option, value in self.selectors]
        details = f"[{';'.join(parts)}]" if parts else ""
        resource, version, group = self.resource.resource, self.resource.version, self.resource.group
        return ".".join(filter(None, (resource, version if version != "v1" else "", group))) + details


def resource_of(what: type[Object] | GroupVersionResource) -> GroupVersionResource:
    """The resource of a class, or itself.

    Raises:
        UnknownKindError: If the class does not say where it is served.
        ArgumentError: If it is neither.
    """
    given = cast("object", what)
    if isinstance(given, GroupVersionResource):
        return given
    # isinstance() first: issubclass() raises TypeError for what is no class.
    if not isinstance(given, type) or not issubclass(given, Object):
        raise ArgumentError(
            f"{what!r} is neither a class of objects nor a resource, such as "
            "masthead.GroupVersionResource('apps', 'v1', 'deployments')",
            value=what,
        )
    return typed(given).resource


def named(what: type[Object] | GroupVersionResource | str, resource: str | None) -> type[Object] | GroupVersionResource:
    """What is meant by a class, a resource, or an API version and a plural; nothing is looked up on the cluster.

    Raises:
        ArgumentError: If something is missing, or there is too much of it.
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
    # A kind such as "Deployment" in place of the plural would only show as a 404 of the first list.
    if names.problem_with_dns1123_label(resource):
        raise ArgumentError(f"{resource!r} is no resource; give its plural, such as 'deployments'", value=resource)
    return GroupVersion.parse(what).resource(resource)


def namespaces_of(namespace: str | Sequence[str] | None) -> tuple[str, ...]:
    """One namespace, or several, in order; none for all of them.

    Raises:
        ArgumentError: If the sequence is empty, or a namespace is invalid.
    """
    # An empty string means all namespaces, as client-go's NamespaceAll; an empty list is rather a mistake.
    if not namespace and (namespace is None or isinstance(namespace, str)):
        return ()
    given = [namespace] if isinstance(namespace, str) else list(namespace)
    if not given:
        raise ArgumentError("there is no namespace in the list; give some, or None for all", value=namespace)
    for each in given:
        if not isinstance(cast("object", each), str):
            raise ArgumentError(f"{each!r} is no namespace", value=each)
        names.check_dns1123_label(each)
    # The same namespaces in another order, or twice, are the same informer.
    return tuple(sorted({*given}))


def checked(selection: ListSelectors) -> ListSelectors:
    """A selection whose selectors are some.

    Raises:
        SelectorError: If one is invalid.
        ArgumentError: If one is of a type that no selector has.
    """
    _selectors(selection)
    return selection


def tweaked(tweak: Tweak | None, what: type[Object] | GroupVersionResource, selection: ListSelectors) -> ListSelectors:
    """What a tweak makes of a selection.

    Raises:
        ArgumentError: If that is something else.
        Exception: Whatever the tweak raises.
    """
    found = selection if tweak is None else tweak(what, selection)
    if not isinstance(cast("object", found), ListSelectors):
        raise ArgumentError(
            f"the tweak of {resource_of(what).group_resource} returned a {type(found).__name__}; it must return a "
            "ListSelectors, such as dataclasses.replace(selection, field_selector=...)",
            value=found,
        )
    return found


def wanted(
    form: Form,
    what: type[Object] | GroupVersionResource,
    namespaces: tuple[str, ...],
    selection: ListSelectors,
    *,
    is_explicit: bool,
) -> Wanted:
    """Put together which informer is meant.

    Args:
        form: What the objects become.
        what: Their class, or the resource.
        namespaces: Whose objects.
        selection: Which of them.
        is_explicit: Whether the namespaces were asked for with this resource, and not for all in general: then they must
            make sense for it.

    Raises:
        UnknownKindError: If the class does not say where it is served.
        ArgumentError: If a namespace is asked for of what lives in none.
        SelectorError: If a selector is invalid.
    """
    resource = resource_of(what)
    if namespaces and _is_namespaced(what) is False:
        if is_explicit:
            raise ArgumentError(
                f"{resource.group_resource} live in no namespace; leave out namespace", value=namespaces
            )
        namespaces = ()
    # Of metadata, a class and its resource are the same.
    return Wanted(form, what if form == "typed" else resource, namespaces, _selectors(selection))


def _selectors(selection: ListSelectors) -> tuple[tuple[str, str], ...]:
    """What is selected by, so that what means the same is the same."""
    query = list_query(
        label_selector=selection.label_selector,
        field_selector=selection.field_selector,
        shard_selector=selection.shard_selector,
    )
    return tuple((option, str(_SELECTORS[option](value))) for option, value in query)


def _is_namespaced(what: type[Object] | GroupVersionResource) -> bool | None:
    """Whether the resource is namespaced; None if that is unknown here."""
    if not isinstance(what, GroupVersionResource):
        return typed(what).namespaced
    try:
        return typed(registry.object_class(registry.kind_of(what))).namespaced
    except UnknownKindError:
        return None
