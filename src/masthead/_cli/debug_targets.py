"""What ``debug`` debugs, and how its containers are started."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._cli.debug_pods import container_names, copy_of, ephemeral_container, lacks_root, node_pod
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.references import Selected, missing
from masthead._cli.subjects import find_subjects, gvr_of
from masthead._cli.terminal import say, write
from masthead._meta.plain import entries, text
from masthead.errors import NotFoundError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import masthead
    from masthead._cli.debug_pods import DebugRequest
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain

__all__ = ["DebugTarget", "Debugger", "find_targets", "start_debugger"]

_SUFFIX: Final = "bcdfghjklmnpqrstvwxz2456789"
"""The letters of generated names: without vowels, no words come about."""
_NOT_ROOT: Final = (
    "Warning: Non-root user is configured for the entire target Pod, and some capabilities granted by debug profile "
    "may not work."
)


@dataclass(frozen=True, slots=True)
class DebugTarget:
    """The object to debug: a pod, or a node, which has no namespace."""

    kind: str
    name: str
    namespace: str


@dataclass(frozen=True, slots=True)
class Debugger:
    """A debugging container; its name is empty if none was added."""

    namespace: str
    pod: str
    container: str


def find_targets(
    client: masthead.Client, state: State, name: str | None, files: Sequence[str], kustomize: str | None
) -> list[DebugTarget]:
    """Find the pods and nodes to debug.

    Raises:
        CommandError: If nothing is named, or something other than pods and nodes.
        MastheadError: As any call.
    """
    # As in kubectl, a name without a kind is a pod.
    reference = name if name is None or "/" in name else f"pods/{name}"
    found = find_subjects(client, state, [] if reference is None else [reference], files=files, kustomize=kustomize)
    targets: list[DebugTarget] = []
    for subject in found:
        kind = gvr_of(client, subject).group_resource
        if kind not in {"pods", "nodes"}:
            raise CommandError(
                f"{kind} are not debugged", hint="name a pod, or a node as node/NAME", code=ExitCode.USAGE
            )
        metadata = subject["metadata"]
        targets.append(DebugTarget(kind, metadata["name"], metadata.get("namespace") or client.namespace))
    return targets


def start_debugger(
    client: masthead.Client, target: DebugTarget, request: DebugRequest, *, replaces: bool, quiet: bool
) -> Debugger:
    """Start the debugging container.

    Raises:
        CommandError: If the pod or node does not exist.
        MastheadError: As any call.
    """
    try:
        if target.kind == "nodes":
            return _debug_node(client, target.name, request, quiet=quiet)
        pod = client.core_v1.pods(target.namespace).get(target.name).to_dict()
    except NotFoundError:
        namespace = None if target.kind == "nodes" else target.namespace
        selected = Selected(client.mapper.find(target.kind), (target.name,), namespace)
        raise missing(client, selected, target.name) from None
    name = request.container or _new_name(pod, request, quiet=quiet)
    if request.copy_to:
        return _debug_copy(client, target, pod, name, request, replaces=replaces)
    return _debug_ephemeral(client, target, pod, name, request)


def _new_name(pod: Plain, request: DebugRequest, *, quiet: bool) -> str:
    """A name that no container of the pod has; empty if none is added."""
    if not request.image:
        return ""
    while (name := f"debugger-{_suffix()}") in container_names(pod):
        continue
    if not quiet:
        write(f"Defaulting debug container name to {name}.\n")
    return name


def _suffix() -> str:
    return "".join(secrets.choice(_SUFFIX) for _ in range(5))


def _debug_node(client: masthead.Client, node: str, request: DebugRequest, *, quiet: bool) -> Debugger:

    # A pod for a node that does not exist would wait for ever.
    client.metadata("v1", "nodes").get(node)
    pod = node_pod(node, f"node-debugger-{node}-{_suffix()}", request)
    name, container = pod["metadata"]["name"], pod["spec"]["containers"][0]["name"]
    if not quiet:
        write(f"Creating debugging pod {name} with container {container} on node {node}.\n")
    client.dynamic("v1", "pods", namespace=client.namespace).create(pod)
    return Debugger(client.namespace, name, container)


def _debug_ephemeral(
    client: masthead.Client, target: DebugTarget, pod: Plain, name: str, request: DebugRequest
) -> Debugger:
    from masthead._meta.patch import Patch

    container = ephemeral_container(name, request)
    if lacks_root(pod, container):
        say(_NOT_ROOT)
    existing = [{"name": text(each, "name")} for each in entries(pod["spec"], "ephemeralContainers")]
    # Without an order, a new element of a list that is merged comes first.
    order = {"$setElementOrder/ephemeralContainers": [*existing, {"name": name}]}
    patch = Patch.strategic({"spec": {**order, "ephemeralContainers": [container]}})
    client.dynamic("v1", "pods", namespace=target.namespace).patch(
        target.name, patch, subresource="ephemeralcontainers"
    )
    return Debugger(target.namespace, target.name, name)


def _debug_copy(
    client: masthead.Client, target: DebugTarget, pod: Plain, name: str, request: DebugRequest, *, replaces: bool
) -> Debugger:

    copied, container = copy_of(pod, name, request)
    debugger: list[Plain] = [each for each in copied["spec"]["containers"] if each["name"] == container]
    if any(lacks_root(copied, each) for each in debugger):
        say(_NOT_ROOT)
    pods = client.dynamic("v1", "pods", namespace=target.namespace)
    pods.create(copied)
    # Only after the copy exists: nothing is lost if it is refused.
    if replaces:
        pods.delete(target.name, grace_period_seconds=0)
    return Debugger(target.namespace, request.copy_to, container)
