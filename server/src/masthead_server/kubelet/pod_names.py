"""How tests name pods: one pod to control, or a pattern of the pods of a handler."""

from __future__ import annotations

from typing import Final

from masthead._meta.object import Object
from masthead.errors import ArgumentError
from masthead_server.argument_checks import check_text, check_type
from masthead_server.kubelet.containers import ContainerRef
from masthead_server.kubelet.handlers import ANY, PodPattern

__all__ = ["node_name", "pod_pattern", "pod_ref"]

_DEFAULT_NAMESPACE: Final = "default"


def pod_ref(pod: str | Object, container: str | None = None) -> ContainerRef:
    """Read the name of a pod.

    Raises:
        TypeError: If it is neither text nor an object, or the name of the container is no text.
        ArgumentError: If the pod is an object without a name or namespace, or a name is invalid.
    """
    check_type("the pod", pod, str | Object, "its name, or an object")
    if isinstance(pod, str):
        # A name without a namespace means "default" here; patterns of handlers mean any.
        namespace, slash, name = pod.rpartition("/")
        namespace = namespace if slash else _DEFAULT_NAMESPACE
    else:
        namespace, name = pod.metadata.namespace or "", pod.metadata.name or ""
    if not namespace or not name or "/" in namespace:
        raise ArgumentError("name a pod as name, or as namespace/name", value=pod)
    _check_container(container)
    return ContainerRef(namespace, name, container or "")


def pod_pattern(pod: str, container: str | None = None, word: str | None = None) -> PodPattern:
    """Read the pods of a handler, and check that they could exist.

    Args:
        pod: ``web``, ``shop/web``, ``shop/*`` or ``*``.
        container: The container; None for any.
        word: The command, or the kind of probe; None for any.

    Raises:
        TypeError: If an argument is no text.
        ArgumentError: If the pods are named in another way, or a name is empty.
    """
    check_text("the pod", pod)
    namespace, slash, name = pod.rpartition("/")
    parts = (namespace, name) if slash else (name,)
    # A handler for "web-*" would never run.
    if not all(part == ANY or (part and ANY not in part and "/" not in part) for part in parts):
        problem = f"{pod!r} names no pods: name them as name, as namespace/name, or * for all"
        raise ArgumentError(problem, value=pod)
    _check_container(container)
    if word is not None:
        check_text("the command", word, may_be_empty=False)
    return PodPattern.of(pod, container, word)


def node_name(node: str | Object) -> str:
    """Read the name of a node.

    Raises:
        TypeError: If it is neither text nor an object.
        ArgumentError: If it is empty.
    """
    check_type("the node", node, str | Object, "its name, or an object")
    name = node if isinstance(node, str) else node.metadata.name
    if not name:
        raise ArgumentError("name a node", value=node)
    return name


def _check_container(container: str | None) -> None:
    if container is not None:
        check_text("the container", container, may_be_empty=False)
