"""The rules of roles: which verbs, on which resources."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from masthead._cli.creating import refuse
from masthead._cli.terminal import say

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    import masthead
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = [
    "PolicyResource",
    "check_resource_verbs",
    "check_urls",
    "find_resources",
    "make_rules",
    "parse_resources",
    "unique_verbs",
]

_VERBS: Final = frozenset(
    {"*", "get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "proxy"}
    | {"use", "bind", "escalate", "impersonate"}
)
_URL_VERBS: Final = frozenset({"*", "get", "head", "options", "post", "put", "patch", "delete"})
_ROLES: Final = (("rbac.authorization.k8s.io", "roles"), ("rbac.authorization.k8s.io", "clusterroles"))
_SPECIAL_VERBS: Final = {
    "use": (("policy", "podsecuritypolicies"), ("extensions", "podsecuritypolicies")),
    "bind": _ROLES,
    "escalate": _ROLES,
    "impersonate": (("", "users"), ("", "serviceaccounts"), ("", "groups"), ("authentication.k8s.io", "userextras")),
}
"""Verbs that exist for some resources only, which need not be served."""


@dataclass(frozen=True, slots=True)
class PolicyResource:
    """A resource of a rule.

    Attributes:
        name: Its plural; another form of its name before it is looked up.
        group: Its group.
        subresource: Its subresource; empty for the resource itself.
    """

    name: str
    group: str = ""
    subresource: str = ""


def unique_verbs(verbs: Iterable[str]) -> list[str]:
    """The verbs without repetitions; ``*`` covers all others."""
    found = list(dict.fromkeys(verbs))
    return ["*"] if "*" in found else found


def parse_resources(texts: Sequence[str]) -> list[PolicyResource]:
    """Parse ``RESOURCE[.GROUP][/SUBRESOURCE]``; ``*`` covers all others.

    Raises:
        CommandError: If one has no name.
    """
    if "*" in texts:
        return [PolicyResource("*")]
    found: list[PolicyResource] = []
    for text in texts:
        resource, _, subresource = text.partition("/")
        name, _, group = resource.partition(".")
        if not name:
            raise refuse(f"--resource: {text!r} has no name")
        found.append(PolicyResource(name, group, subresource))
    return found


def check_resource_verbs(verbs: Sequence[str]) -> None:
    """Warn of verbs that only extensions of the API have."""
    for verb in verbs:
        if verb not in _VERBS:
            say(f"Warning: {verb!r} is not a standard resource verb")


def check_urls(urls: Sequence[str], verbs: Sequence[str]) -> None:
    """Check paths that are no resources.

    Raises:
        CommandError: If a path or a verb is invalid.
    """
    for verb in verbs if urls else ():
        if verb not in _URL_VERBS:
            raise refuse(f"--non-resource-url: there is no verb {verb!r}")
    for url in urls:
        if url != "*" and not url.startswith("/"):
            raise refuse(f"--non-resource-url: {url!r} does not begin with /")
        if "*" in url[:-1]:
            raise refuse(f"--non-resource-url: {url!r} has a * before its end")


def find_resources(
    state: State, resources: Sequence[PolicyResource], verbs: Sequence[str], *, is_local: bool
) -> list[PolicyResource]:
    """Look resources up, so that each has its plural and its group.

    Args:
        state: The shared options.
        resources: The resources as users name them.
        verbs: The allowed verbs.
        is_local: Whether resources of Kubernetes itself are known without a server.

    Raises:
        CommandError: If a verb is not for a resource.
        UnknownKindError: If the server does not have a resource.
        MastheadError: As any call.
    """
    # The star allows everything, whatever else is named.
    names_all = any(resource.name == "*" for resource in resources)
    known = {resource: _find_locally(resource, verbs) for resource in resources} if is_local else {}
    needs_server = not all(known.get(resource) or resource.name == "*" for resource in resources)
    found: list[PolicyResource] = []
    with state.connect() if needs_server else nullcontext() as client:
        for resource in resources:
            plural = known.get(resource) or _find_served(client, resource, verbs, is_required=not names_all)
            _refuse_special_verbs(plural, verbs)
            found.append(plural)
    return found


def _find_served(
    client: masthead.Client | None, resource: PolicyResource, verbs: Sequence[str], *, is_required: bool
) -> PolicyResource:
    from masthead.errors import UnknownKindError

    if resource.name == "*" or client is None:
        return resource
    try:
        gvr = client.mapper.find(resource.name, **({"group": resource.group} if resource.group else {})).gvr
    except UnknownKindError:
        # Users and groups are no resources of the server; * leaves the other ones unchecked.
        if not is_required or any(_is_special(resource, verb) for verb in verbs):
            return resource
        raise
    return replace(resource, name=gvr.resource, group=gvr.group)


def _is_special(resource: PolicyResource, verb: str) -> bool:
    return (resource.group, resource.name) in _SPECIAL_VERBS.get(verb, ())


def _refuse_special_verbs(resource: PolicyResource, verbs: Sequence[str]) -> None:
    for verb in verbs:
        if resource.name != "*" and verb in _SPECIAL_VERBS and not _is_special(resource, verb):
            group = f" in group {resource.group}" if resource.group else ""
            raise refuse(f"the verb {verb!r} is not for {resource.name}{group}")


def _find_locally(resource: PolicyResource, verbs: Sequence[str]) -> PolicyResource | None:
    """Find a built-in resource by its plural, singular or short name; None for an unknown one."""
    from masthead._meta.object import Object
    from masthead._meta.registry import registry

    if any(_is_special(resource, verb) for verb in verbs):
        return resource
    wanted = resource.name.lower()
    # In the order of groups, in which the core group is the first.
    for gvk in registry.kinds():
        if resource.group and gvk.group != resource.group:
            continue
        cls = registry.class_of(gvk)
        served = cls.RESOURCE if issubclass(cls, Object) else None
        if served is not None and wanted in {served.name, served.singular, *served.short_names}:
            return replace(resource, name=served.name, group=gvk.group)
    return None


def make_rules(
    verbs: Sequence[str], resources: Sequence[PolicyResource], names: Sequence[str] = (), urls: Sequence[str] = ()
) -> list[Plain]:
    """The rules: one for each group, and one for paths that are no resources.

    Args:
        verbs: The allowed verbs.
        resources: The resources.
        names: The names of the objects; empty for all.
        urls: The paths.
    """
    # A rule allows its resources in all of its groups, so that each group has its own.
    groups: dict[str, list[str]] = {}
    for resource in resources:
        name = f"{resource.name}/{resource.subresource}" if resource.subresource else resource.name
        found = groups.setdefault(resource.group, [])
        if name not in found:
            found.append(name)
    only = {"resourceNames": list(dict.fromkeys(names))} if names else {}
    rules: list[Plain] = [
        {"verbs": list(verbs), "apiGroups": [group], "resources": groups[group], **only} for group in sorted(groups)
    ]
    if urls:
        # The API refuses paths and resources in one rule.
        rules.append({"verbs": list(verbs), "nonResourceURLs": list(dict.fromkeys(urls))})
    return rules
