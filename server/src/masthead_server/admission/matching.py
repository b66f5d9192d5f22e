"""Matching of requests: the rules and selectors that webhooks and policies share."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._meta.gvk import GroupVersionResource
from masthead_server.admission.attributes import Operation
from masthead_server.resources.validation.checks import words
from masthead_server.resources.validation.label_selectors import selects
from masthead_server.wire.failures import not_found
from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from masthead._meta.gvk import GroupVersionKind
    from masthead_server.admission.attributes import AdmissionAttributes
    from masthead_server.cluster import ClusterState
    from masthead_server.resources.resource import ServedResource
    from masthead_server.wire.plain import Plain

__all__ = ["Match", "RequestMatcher", "is_admission_configuration"]

_GROUP: Final = "admissionregistration.k8s.io"
_CONFIGURATIONS: Final = frozenset(
    {
        "MutatingAdmissionPolicy",
        "MutatingAdmissionPolicyBinding",
        "MutatingWebhookConfiguration",
        "ValidatingAdmissionPolicy",
        "ValidatingAdmissionPolicyBinding",
        "ValidatingWebhookConfiguration",
    }
)
_NAMESPACES: Final = GroupVersionResource("", "v1", "namespaces")
_WRITES: Final = frozenset({Operation.CREATE, Operation.UPDATE})


def is_admission_configuration(served: ServedResource) -> bool:
    """Tell whether a resource configures admission; webhooks and policies never decide about those."""
    return served.group == _GROUP and served.kind in _CONFIGURATIONS


class Match(NamedTuple):
    """The resource and the kind by which a rule matches a request.

    Attributes:
        served: The resource; another version of the requested one if the rule names only that version.
        kind: The kind in that version.
    """

    served: ServedResource
    kind: GroupVersionKind


class _Rule(NamedTuple):
    """A rule, prepared for lookups; ``*`` is among the values of a field that matches everything."""

    operations: frozenset[str]
    groups: frozenset[str]
    versions: frozenset[str]
    resources: tuple[tuple[str, str], ...]
    scope: str
    names: frozenset[str]

    def matches(self, attributes: AdmissionAttributes, gvr: GroupVersionResource) -> bool:
        """Tell whether the rule matches a request, if its resource were `gvr`."""
        return (
            _allows(self.operations, attributes.operation.value)
            and _allows(self.groups, gvr.group)
            and _allows(self.versions, gvr.version)
            and self._matches_scope(attributes, gvr)
            and any(
                name in {"*", gvr.resource} and subresource in {"*", attributes.subresource}
                for name, subresource in self.resources
            )
        )

    def _matches_scope(self, attributes: AdmissionAttributes, gvr: GroupVersionResource) -> bool:
        if self.scope in {"", "*"}:
            return True
        # A request about a Namespace has its name as the namespace, but the object is cluster-scoped.
        is_cluster_scoped = gvr == _NAMESPACES or not attributes.namespace
        return is_cluster_scoped == (self.scope == "Cluster")

    def matches_name(self, name: str) -> bool:
        """Tell whether the rule is for objects of that name."""
        return not self.names or name in self.names


class RequestMatcher:
    """Decides whether a webhook, a policy or a binding applies to a request.

    Args:
        cluster: The cluster state: its namespaces and served versions.
        criteria: A webhook, or the ``matchConstraints`` or ``matchResources`` of a policy or binding, after defaulting.
        rules: The name of the field with the rules: ``rules`` of a webhook, ``resourceRules`` of the others.
        matches_without_rules: Whether no rule at all matches everything, as in ``matchResources``.
    """

    def __init__(
        self,
        cluster: ClusterState,
        criteria: Plain,
        *,
        rules: str = "resourceRules",
        matches_without_rules: bool = True,
    ) -> None:
        self._cluster = cluster
        self._rules = [_prepare(rule) for rule in items(criteria, rules)]
        self._excluded = [_prepare(rule) for rule in items(criteria, "excludeResourceRules")]
        self._is_equivalent = text(criteria, "matchPolicy") == "Equivalent"
        self._namespace_selector = part(criteria, "namespaceSelector")
        self._object_selector = part(criteria, "objectSelector")
        self._matches_everything = matches_without_rules and not self._rules

    def match(self, attributes: AdmissionAttributes) -> Match | None:
        """Return what a request matches as; None if it does not match.

        Raises:
            StatusFailure: If the rules match, but the namespace does not exist, whose labels decide.
        """
        if self._excluded and self._find(self._excluded, attributes) is not None:
            return None
        found = (
            Match(attributes.served, attributes.kind)
            if self._matches_everything
            else self._find(self._rules, attributes)
        )
        # The rules first: they exclude nearly all requests, and a namespace has to be decoded for its labels.
        if found is None or not self._selects_object(attributes) or not self._selects_namespace(attributes):
            return None
        return found

    def _find(self, rules: Sequence[_Rule], attributes: AdmissionAttributes) -> Match | None:
        served = attributes.served
        for rule in rules:
            if rule.matches(attributes, served.gvr) and rule.matches_name(attributes.name):
                return Match(served, attributes.kind)
        if not self._is_equivalent:
            return None
        equivalents = list(self._equivalents(attributes))
        # By rule first: the version of the earliest rule that fits is the one that its owner gets.
        for rule in rules:
            for equivalent in equivalents:
                if rule.matches(attributes, equivalent.gvr) and rule.matches_name(attributes.name):
                    return Match(equivalent, _kind_in(equivalent, attributes))
        return None

    def _equivalents(self, attributes: AdmissionAttributes) -> Iterator[ServedResource]:
        """Yield the other versions of a resource; events are served by two groups."""
        served, catalog = attributes.served, self._cluster.catalog
        groups = ("", "events.k8s.io") if served.table == "events" else (served.group,)
        for group in groups:
            for version in catalog.versions(group):
                found = catalog.find(GroupVersionResource(group, version, served.name))
                if found is None or found.gvr == served.gvr:
                    continue
                if not attributes.subresource or found.resource.subresource(attributes.subresource) is not None:
                    yield found

    def _selects_object(self, attributes: AdmissionAttributes) -> bool:
        selector = self._object_selector
        if not _has_requirements(selector):
            return True
        return any(
            # Options of a connection have no metadata, and match no selector.
            found is not None and "metadata" in found and selects(selector, part(found["metadata"], "labels"))
            for found in (attributes.object, attributes.old)
        )

    def _selects_namespace(self, attributes: AdmissionAttributes) -> bool:
        selector = self._namespace_selector
        is_namespace = attributes.served.name == "namespaces"
        # Selectors never exempt cluster-scoped objects, except namespaces.
        if not _has_requirements(selector) or (not attributes.namespace and not is_namespace):
            return True
        return selects(selector, self._namespace_labels(attributes))

    def _namespace_labels(self, attributes: AdmissionAttributes) -> Plain:
        found = attributes.object
        writes_namespace = attributes.served.name == "namespaces" and not attributes.subresource
        # A new namespace is not stored yet, and an update may change its labels.
        if not writes_namespace or attributes.operation not in _WRITES or found is None:
            served = self._cluster.catalog.require(_NAMESPACES)
            record = self._cluster.storage.table(served.table).get(attributes.namespace)
            if record is None:
                raise not_found("", "namespaces", attributes.namespace)
            found = served.load(record)
        return part(part(found, "metadata"), "labels")


def _prepare(rule: Plain) -> _Rule:
    resources = [name.partition("/") for name in words(rule, "resources")]
    return _Rule(
        operations=frozenset(words(rule, "operations")),
        groups=frozenset(words(rule, "apiGroups")),
        versions=frozenset(words(rule, "apiVersions")),
        resources=tuple((name, subresource) for name, _, subresource in resources),
        scope=text(rule, "scope"),
        names=frozenset(words(rule, "resourceNames")),
    )


def _allows(values: frozenset[str], value: str) -> bool:
    return value in values or "*" in values


def _has_requirements(selector: Plain) -> bool:
    return bool(selector.get("matchLabels") or selector.get("matchExpressions"))


def _kind_in(served: ServedResource, attributes: AdmissionAttributes) -> GroupVersionKind:
    """Return the kind of the request in another version; Scale and its kin have one version of their own."""
    return served.gvk if attributes.kind == attributes.served.gvk else attributes.kind
