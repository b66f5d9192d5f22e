"""The pods of ``debug``: a pod with an ephemeral container, a copy of a pod, and a pod for a node. Pure."""

from __future__ import annotations

import copy
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from masthead._cli.debug_profiles import KeptFields, apply_profile
from masthead._cli.failures import CommandError, ExitCode
from masthead._meta.plain import entries, part, text

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead._meta.plain import Plain

__all__ = ["DebugRequest", "container_names", "copy_of", "ephemeral_container", "lacks_root", "node_pod"]

_LISTS: Final = ("containers", "initContainers", "ephemeralContainers")


@dataclass(frozen=True, slots=True)
class DebugRequest:
    """What the options of ``debug`` ask for.

    Attributes:
        image: The image of the debugging container; empty for none.
        words: Its command.
        are_arguments: Whether the words are the arguments of the image's own command.
        env: Its variables.
        pull_policy: When its image is pulled; empty for the server's default.
        stdin: Whether it has a stdin.
        tty: Whether it has a TTY.
        target: The container whose processes an ephemeral container sees.
        profile: The profile.
        container: Its name; empty for a new one, or for the first of a copy.
        copy_to: The name of the copy; empty for an ephemeral container.
        images: The images of containers of the copy, by name; ``*`` for all.
        same_node: Whether the copy runs on the same node.
        share_processes: Whether containers of the copy see each other's processes; None for the default.
        kept: The parts of the pod for the copy.
    """

    image: str
    words: tuple[str, ...] = ()
    are_arguments: bool = False
    env: Mapping[str, str] = field(default_factory=dict[str, str])
    pull_policy: str = ""
    stdin: bool = False
    tty: bool = False
    target: str = ""
    profile: str = "general"
    container: str = ""
    copy_to: str = ""
    images: Mapping[str, str] = field(default_factory=dict[str, str])
    same_node: bool = False
    share_processes: bool | None = None
    kept: KeptFields = field(default_factory=KeptFields)


def container_names(pod: Plain) -> set[str]:
    """The names of all containers of a pod."""
    return {text(container, "name") for key in _LISTS for container in entries(part(pod, "spec"), key)}


def ephemeral_container(name: str, request: DebugRequest) -> Plain:
    """The ephemeral container that debugs a pod.

    Args:
        name: The name of the container.
        request: The options.
    """
    made = _new_container(name, request)
    if request.target:
        made["targetContainerName"] = request.target
    changed: Plain = {"metadata": {}, "spec": {"ephemeralContainers": [made]}}
    apply_profile(request.profile, "ephemeral", changed, name, request.kept)
    return made


def node_pod(node: str, name: str, request: DebugRequest) -> Plain:
    """The pod that debugs a node.

    Args:
        node: The name of the node.
        name: The name of the pod.
        request: The options.
    """
    container = request.container or "debugger"
    pod: Plain = {
        "apiVersion": "v1",
        "kind": "Pod",
        "metadata": {"name": name, "labels": {"app.kubernetes.io/managed-by": "kubectl-debug"}},
        "spec": {
            "containers": [_new_container(container, request)],
            "nodeName": node,
            "restartPolicy": "Never",
            "tolerations": [{"operator": "Exists"}],
        },
    }
    apply_profile(request.profile, "node", pod, container, request.kept)
    return pod


def copy_of(pod: Plain, name: str, request: DebugRequest) -> tuple[Plain, str]:
    """A copy of a pod with a debugging container, or with other images.

    Args:
        pod: The pod.
        name: The name of a new container, if one is needed.
        request: The options.

    Returns:
        The copy, and the name of its debugging container; empty if only images are changed.

    Raises:
        CommandError: If a new container has no image.
    """
    # Images first: the new container has another one.
    copied = _bare_copy(pod, request)
    containers: list[Plain] = copied["spec"]["containers"]
    for container in containers:
        if image := request.images.get(container["name"], request.images.get("*", "")):
            container["image"] = image
    existing = [*containers, *entries(copied["spec"], "initContainers")]
    found = next((container for container in existing if container["name"] == request.container), None)
    if found is None:
        if not request.image and request.images:
            return copied, ""
        if not request.image:
            raise CommandError(
                f"the pod has no container {request.container}",
                hint="a new container needs --image",
                code=ExitCode.USAGE,
            )
        found = {"name": request.container or name, "terminationMessagePolicy": "File"}
        containers.append(found)
    _change_container(found, request)
    apply_profile(request.profile, "copy", copied, found["name"], request.kept)
    return copied, found["name"]


def _bare_copy(pod: Plain, request: DebugRequest) -> Plain:
    metadata = {key: copy.deepcopy(pod["metadata"].get(key)) for key in ("labels", "annotations", "namespace")}
    spec = copy.deepcopy(pod["spec"])
    # Ephemeral containers cannot be created with a pod.
    spec.pop("ephemeralContainers", None)
    if request.share_processes is not None:
        spec["shareProcessNamespace"] = request.share_processes
    if not request.same_node:
        spec.pop("nodeName", None)
    kept = {key: value for key, value in metadata.items() if value}
    return {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": request.copy_to, **kept}, "spec": spec}


def _change_container(container: Plain, request: DebugRequest) -> None:
    if request.words and request.are_arguments:
        container["args"] = list(request.words)
    elif request.words:
        container["command"] = list(request.words)
        # Arguments of another command would make no sense.
        container.pop("args", None)
    changes = {
        "env": _variables(request.env),
        "image": request.image,
        "imagePullPolicy": request.pull_policy,
    }
    container.update({key: value for key, value in changes.items() if value})
    container.update(stdin=request.stdin, tty=request.tty)


def _new_container(name: str, request: DebugRequest) -> Plain:
    made: Plain = {"name": name, "terminationMessagePolicy": "File"}
    _change_container(made, request)
    return {key: value for key, value in made.items() if value is not False}


def _variables(env: Mapping[str, str]) -> list[Plain]:
    return [{"name": name, "value": value} for name, value in env.items()]


def lacks_root(pod: Plain, container: Plain) -> bool:
    """Whether a container gets rights that do not work, because its pod runs as a user other than root."""
    user = part(pod, "spec", "securityContext").get("runAsUser")
    security = part(container, "securityContext")
    has_rights = bool(security.get("privileged") or part(security, "capabilities").get("add"))
    return bool(user) and security.get("runAsUser") != 0 and has_rights
