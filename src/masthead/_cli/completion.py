"""Completions of kinds, names, namespaces and contexts: asked of the cluster, quickly, and never with an error."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    import click

    import masthead
    from masthead._cli.kubeconfigs import Section
    from masthead._cli.shared_options import State
    from masthead._discovery.model import DiscoveryResult

__all__ = [
    "complete_clusters",
    "complete_conditions",
    "complete_contexts",
    "complete_namespaces",
    "complete_nodes",
    "complete_outputs",
    "complete_pods",
    "complete_references",
    "complete_workloads",
    "complete_users",
    "complete_verbs",
    "complete_service_accounts",
]

_TIMEOUT: Final = 2.0
"""Seconds that a request may take while a user waits at a prompt."""
_SHOWN: Final = 500
_WORKLOADS: Final = ("deployments", "daemonsets", "statefulsets")


def complete_conditions(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """What ``--for`` of ``wait`` takes."""
    return _beginning_with(incomplete, ("ready", "delete", "create", "condition=", "jsonpath="))


def complete_outputs(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """What ``-o`` of ``get`` takes."""
    forms = ("jsonpath", "jsonpath-as-json", "jsonpath-file", "go-template", "go-template-file")
    columns = ("custom-columns", "custom-columns-file")
    words = ("wide", "yaml", "json", "name", *(f"{form}=" for form in (*forms, *columns)))
    return _beginning_with(incomplete, words)


def complete_verbs(_: click.Context, __: click.Parameter, incomplete: str) -> list[str]:
    """What ``auth can-i`` takes as verb."""
    verbs = ("get", "list", "watch", "create", "update", "patch", "delete", "deletecollection", "impersonate")
    return _beginning_with(incomplete, verbs)


def _beginning_with(incomplete: str, words: Iterable[str]) -> list[str]:
    return [word for word in words if word.startswith(incomplete)]


def complete_contexts(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Contexts of the kubeconfig."""

    def find() -> Iterable[str]:
        from masthead._config.loader import list_contexts

        return [context.name for context in list_contexts(_state(ctx).kubeconfig)]

    return _quietly(find, incomplete)


def complete_clusters(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Clusters of the kubeconfig."""
    return _quietly(lambda: _entry_names(ctx, "clusters"), incomplete)


def complete_users(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Users of the kubeconfig."""
    return _quietly(lambda: _entry_names(ctx, "users"), incomplete)


def _entry_names(ctx: click.Context, section: Section) -> Iterable[str]:
    from masthead._cli.kubeconfigs import KubeconfigFiles

    return KubeconfigFiles.of(_state(ctx).kubeconfig).load().entries(section)


def complete_namespaces(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Namespaces of the cluster."""

    def find() -> Iterable[str]:
        with _connect(ctx) as client:
            return _names(client.metadata("v1", "namespaces"))

    return _quietly(find, incomplete)


def complete_references(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return kinds, ``KIND/NAME``, or the names of objects after a kind."""
    return _complete_references(ctx, param, incomplete, lambda: _kinds(ctx))


def complete_workloads(ctx: click.Context, param: click.Parameter, incomplete: str) -> list[str]:
    """Return the kinds that have rollouts, ``KIND/NAME``, or the names of objects after a kind."""
    return _complete_references(ctx, param, incomplete, lambda: _WORKLOADS)


def _complete_references(
    ctx: click.Context, param: click.Parameter, incomplete: str, find_kinds: Callable[[], Iterable[str]]
) -> list[str]:
    def find() -> Iterable[str]:
        # Click puts the arguments before the cursor into the parameters, even though the command does not run.
        before = [str(argument) for argument in ctx.params.get(param.name or "") or ()]
        kind, slash, _ = incomplete.partition("/")
        if slash:
            return [f"{kind}/{name}" for name in _names_of_kind(ctx, kind)]
        if before and "/" not in before[0]:
            return _names_of_kind(ctx, before[0])
        # Kinds after a comma complete, too: "deploy,sv".
        done, comma, _ = incomplete.rpartition(",")
        return [f"{done}{comma}{kind}" for kind in find_kinds()]

    return _quietly(find, incomplete)


def complete_pods(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Names of pods, or ``KIND/NAME``."""

    def find() -> Iterable[str]:
        kind, slash, _ = incomplete.partition("/")
        found = _names_of_kind(ctx, kind if slash else "pods")
        return [f"{kind}/{name}" for name in found] if slash else found

    return _quietly(find, incomplete)


def complete_nodes(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Names of nodes."""

    def find() -> Iterable[str]:
        with _connect(ctx) as client:
            return _names(client.metadata("v1", "nodes"))

    return _quietly(find, incomplete)


def complete_service_accounts(ctx: click.Context, _: click.Parameter, incomplete: str) -> list[str]:
    """Names of service accounts."""
    return _quietly(lambda: _names_of_kind(ctx, "serviceaccounts"), incomplete)


def _kinds(ctx: click.Context) -> list[str]:
    found = _stored_resources(ctx)
    if found is None:
        with _connect(ctx) as client:
            found = client.discovery.preferred_resources()
    served = [resource for resource in found if "list" in resource.verbs]
    # Two groups may have a kind of the same plural (events, ingresses): those need their group.
    names = [resource.name for resource in served]
    return [
        resource.gvr.group_resource if names.count(resource.name) > 1 and resource.gvr.group else resource.name
        for resource in served
    ]


def _stored_resources(ctx: click.Context) -> DiscoveryResult | None:
    """The resources of an earlier discovery. A client would take longer to import than to ask."""
    from masthead._cli.shared_options import cache_folder
    from masthead._discovery.disk_cache import EXPIRY, DiskCache
    from masthead._discovery.stored_result import read_stored_result

    found = read_stored_result(DiskCache(cache_folder(), server=_state(ctx).config().server), EXPIRY)
    return None if found is None else found.preferred()


def _names_of_kind(ctx: click.Context, kind: str) -> list[str]:
    state = _state(ctx)
    with _connect(ctx) as client:
        resource = client.mapper.find(kind)
        namespace = None if state.all_namespaces or not resource.namespaced else client.namespace
        return _names(client.metadata(resource.gvr, namespace=namespace))


def _names(resource: masthead.clientset.MetadataResource) -> list[str]:
    return [obj.metadata.name for obj in resource.list(limit=_SHOWN)]


def _state(ctx: click.Context) -> State:
    """The shared options that stand before the cursor; completion does not run the commands that collect them."""
    from masthead._cli.shared_options import State

    found = State()
    contexts = [ctx]
    while contexts[-1].parent is not None:
        contexts.append(contexts[-1].parent)
    # From the group to the command, so that the later option wins, as when the command runs.
    for context in reversed(contexts):
        for name in State.__dataclass_fields__:
            if (value := context.params.get(name)) is not None:
                setattr(found, name, value)
    return found


def _connect(ctx: click.Context) -> masthead.Client:
    state = _state(ctx)
    # Logs and warnings would be mixed with the candidates on the prompt.
    state.debug = False
    state.request_timeout = _TIMEOUT
    return state.connect(prints_warnings=False)


def _quietly(find: Callable[[], Iterable[str]], incomplete: str) -> list[str]:
    try:
        return sorted({candidate for candidate in find() if candidate.startswith(incomplete)})
    except Exception:  # noqa: BLE001 - a prompt is no place for an error
        return []
