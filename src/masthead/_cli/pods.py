"""Pods on the command line: ``web``, ``pod/web``, or an object that selects pods, such as ``deploy/web``."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Final

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.references import Selected, missing, parse_references, resolve
from masthead._meta.plain import part
from masthead._printers.formats import format_labels, label_selector
from masthead.errors import NotFoundError, PortForwardError

if TYPE_CHECKING:
    from collections.abc import Sequence

    import masthead
    from masthead._cli.shared_options import State
    from masthead._meta.plain import Plain
    from masthead.api.core.v1 import Pod

__all__ = [
    "PodSource",
    "find_pods",
    "find_target",
    "one_pod",
    "refuse_missing",
    "selector_of",
    "wait_for_running_pod",
]

_STARTED: Final = frozenset({"Running", "Succeeded", "Failed"})
"""The phases of pods whose containers have been started."""


@dataclass(frozen=True, slots=True)
class PodSource:
    """One pod, or a selector of many.

    Attributes:
        name: The pod's name; empty if a selector is meant.
        selector: The label selector; empty if a name is meant.
    """

    name: str = ""
    selector: str = ""


def find_target(client: masthead.Client, state: State, reference: str) -> Selected:
    """Find the resource and the name that a reference means; without a kind it is a pod.

    Args:
        client: The client.
        state: The shared options.
        reference: ``web``, ``pod/web``, ``deploy/web`` or ``svc/web``.

    Raises:
        CommandError: If it does not name one object.
        MastheadError: As any call.
    """
    # As in kubectl, a name without a kind is a pod.
    full = reference if "/" in reference else f"pods/{reference}"
    found = resolve(client, state, parse_references([full]))
    if len(found) != 1:
        raise CommandError(f"{reference!r} is not one object", code=ExitCode.USAGE)
    return found[0]


def find_pods(client: masthead.Client, state: State, reference: str) -> PodSource:
    """Find the pods of a reference: the pod itself, or the pods that a workload or a service selects.

    Raises:
        CommandError: If it does not exist, or does not select pods.
        MastheadError: As any call.
    """
    target = find_target(client, state, reference)
    if _is_pod(target):
        return PodSource(name=target.names[0])
    return PodSource(selector=_selected_pods(client, target))


def _selected_pods(client: masthead.Client, target: Selected) -> str:
    """The selector of the pods of a workload or a service."""
    name = target.names[0]
    try:
        obj = client.dynamic(target.resource.gvr, namespace=target.namespace).get(name).to_dict()
    except NotFoundError:
        raise missing(client, target, name) from None
    selector = selector_of(obj)
    if not selector:
        raise CommandError(f"{target.title}/{name} does not select pods", code=ExitCode.USAGE)
    return selector


def one_pod(client: masthead.Client, state: State, reference: str) -> Selected:
    """Find the pod that a reference names, or a running pod that a workload or a service selects.

    Raises:
        CommandError: If it does not exist, does not select pods, or none of them runs.
        MastheadError: As any call.
    """
    target = find_target(client, state, reference)
    if _is_pod(target):
        return target
    # Only its resource and namespace count; the name is replaced below.
    pods = find_target(client, state, "pods/any")
    return replace(pods, names=(_running_pod(client, target, _selected_pods(client, target)),))


def _running_pod(client: masthead.Client, target: Selected, selector: str) -> str:
    """The pod that a command runs in: as for a port-forward, preferably ready, and the newest of several."""
    from masthead._client.portforward.backends import PodState, choose_pod
    from masthead._client.portforward.pod_client import view_of

    title = f"{target.title}/{target.names[0]}"
    found = client.core_v1.pods(target.namespace).list(label_selector=selector)
    try:
        return choose_pod([view_of(pod, PodState) for pod in found], title).metadata.name
    except PortForwardError as error:
        # The chooser belongs to port-forward, and its errors begin with that word.
        line, _, hint = str(error).removeprefix("port-forward ").partition("; ")
        raise CommandError(line, hint=hint) from None


def wait_for_running_pod(client: masthead.Client, state: State, reference: str, timeout: float) -> Plain:
    """Return the pod of a reference, or a pod of a workload, as soon as it runs or has ended.

    Args:
        client: The client.
        state: The shared options.
        reference: ``web``, ``deploy/web`` or ``svc/web``.
        timeout: Seconds to wait.

    Raises:
        CommandError: If it does not exist, does not select pods, or none of them runs in time.
        MastheadError: As any call.
    """
    target = find_target(client, state, reference)
    name = target.names[0] if _is_pod(target) else ""
    selector = None if name else _selected_pods(client, target)
    pods = client.core_v1.pods(target.namespace or client.namespace)
    if name:
        try:
            found = [pods.get(name)]
        except NotFoundError:
            raise missing(client, target, name) from None
    else:
        found = pods.list(label_selector=selector).items
    title = f"{target.title}/{target.names[0]}"
    try:
        # Most pods run already: then one request is enough.
        return _preferred(found, title)
    except PortForwardError:
        pass  # none of them runs yet
    fields = f"metadata.name={name}" if name else None
    with pods.watch(label_selector=selector, field_selector=fields, timeout_seconds=math.ceil(timeout)) as events:
        for event in events:
            # A workload may replace its pods while they are waited for.
            if event.type != "DELETED" and event.object.status.phase in _STARTED:
                return event.object.to_dict()
    raise CommandError(
        f"{title} does not run after {timeout:g} s",
        hint="wait longer with --pod-running-timeout, or see why with masthead describe",
        code=ExitCode.TIMEOUT,
    )


def _preferred(found: Sequence[Pod], title: str) -> Plain:
    """The pod to attach to: preferably ready, then the newest; an ended pod if there is no other.

    Raises:
        PortForwardError: If none of them runs.
    """
    from masthead._client.portforward.backends import PodState, choose_pod
    from masthead._client.portforward.pod_client import view_of

    # A pod that was named is meant, even if it has ended.
    if len(found) == 1 and found[0].status.phase in _STARTED:
        return found[0].to_dict()
    name = choose_pod([view_of(pod, PodState) for pod in found], title).metadata.name
    return next(pod.to_dict() for pod in found if pod.metadata.name == name)


def refuse_missing(client: masthead.Client, target: Selected) -> None:
    """After a 404: say that an object does not exist, unless it does.

    Raises:
        CommandError: If it does not.
        MastheadError: As any call.
    """
    # The 404 may also come from the kubelet, about a container.
    try:
        client.metadata(target.resource.gvr, namespace=target.namespace).get(target.names[0])
    except NotFoundError:
        raise missing(client, target, target.names[0]) from None


def _is_pod(target: Selected) -> bool:
    return target.resource.gvr.group_resource == "pods"


def selector_of(obj: Plain) -> str:
    """The selector of the pods of a workload or a service; empty if it has none. Pure."""
    selector = part(obj, "spec", "selector")
    if not selector:
        return ""
    if "matchLabels" in selector or "matchExpressions" in selector:
        return label_selector(part(obj, "spec"), "selector", invalid="", empty="")
    # Services and ReplicationControllers have labels only.
    return format_labels({str(key): str(value) for key, value in selector.items()})
