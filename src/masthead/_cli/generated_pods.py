"""The pod of ``masthead run NAME --image=IMAGE``, and its Service. Pure."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, TypedDict, cast

from masthead._cli.creating import make_metadata, refuse

if TYPE_CHECKING:
    from collections.abc import Sequence

    from masthead._meta.plain import Plain

__all__ = ["PodArguments", "check_image", "make_pod", "make_pod_service"]

_DOMAIN: Final = r"[a-zA-Z0-9](?:[a-zA-Z0-9-]*[a-zA-Z0-9])?"
_PATH: Final = r"[a-z0-9]+(?:(?:[._]|__|-+)[a-z0-9]+)*"
_IMAGE: Final = re.compile(
    rf"(?:(?:{_DOMAIN}(?:\.{_DOMAIN})*|\[[a-fA-F0-9:]+\])(?::[0-9]+)?/)?{_PATH}(?:/{_PATH})*"
    r"(?::\w[\w.-]{0,127})?(?:@[A-Za-z][A-Za-z0-9]*(?:[-_+.][A-Za-z][A-Za-z0-9]*)*:[0-9a-fA-F]{32,})?",
    re.ASCII,
)
_VARIABLE: Final = re.compile(r"[-._a-zA-Z][-._a-zA-Z0-9]*")


class PodArguments(TypedDict):
    """The options about the pod."""

    image: str
    env: tuple[str, ...]
    labels: str
    annotations: tuple[str, ...]
    port: int | None
    restart: str
    is_command: bool
    pull_policy: str | None
    privileged: bool
    stdin: bool
    tty: bool
    leave_stdin_open: bool
    overrides: str
    override_type: str


def check_image(image: str) -> None:
    """Check the name of an image.

    Raises:
        CommandError: If it is malformed.
    """
    if not _IMAGE.fullmatch(image):
        raise refuse(f"--image: {image!r} is not the name of an image")


def make_pod(name: str, namespace: str | None, words: Sequence[str], arguments: PodArguments) -> Plain:
    """Make the pod, with one container of the same name.

    Args:
        name: Its name.
        namespace: Its namespace; None for that of the context.
        words: The words behind ``--``.
        arguments: The options.

    Raises:
        CommandError: If an option is malformed.
    """
    port = arguments["port"]
    container = {
        "name": name,
        "image": arguments["image"],
        "command" if arguments["is_command"] else "args": list(words),
        "ports": [{"containerPort": port}] if port is not None else None,
        "env": [_parse_variable(text) for text in arguments["env"]],
        "resources": {},
        "imagePullPolicy": arguments["pull_policy"],
        "securityContext": {"privileged": True} if arguments["privileged"] else None,
        "stdin": arguments["stdin"],
        # Otherwise the container would wait for input when its first client has left.
        "stdinOnce": arguments["stdin"] and not arguments["leave_stdin_open"],
        "tty": arguments["tty"],
    }
    # The label by which kubectl marks such pods.
    labels = _parse_labels(arguments["labels"]) or {"run": name}
    annotations = _parse_pairs("--annotations", arguments["annotations"])
    pod: Plain = {
        "kind": "Pod",
        "apiVersion": "v1",
        "metadata": make_metadata(name, namespace, labels, annotations),
        "spec": {
            "containers": [{field: value for field, value in container.items() if value or field == "resources"}],
            "restartPolicy": arguments["restart"] or "Always",
            "dnsPolicy": "ClusterFirst",
        },
        "status": {},
    }
    return _override(pod, arguments["overrides"], arguments["override_type"]) if arguments["overrides"] else pod


def make_pod_service(name: str, namespace: str | None, port: int, labels: str) -> Plain:
    """Make the Service of ``--expose``.

    Args:
        name: The name of pod and Service.
        namespace: The namespace; None for that of the context.
        port: The port of both.
        labels: The labels of the pod, as the option has them.

    Raises:
        CommandError: If the labels are malformed.
    """
    found = _parse_labels(labels)
    return {
        "kind": "Service",
        "apiVersion": "v1",
        "metadata": make_metadata(name, namespace, found),
        "spec": {
            "ports": [{"protocol": "TCP", "port": port, "targetPort": port}],
            "selector": found or {"run": name},
        },
        "status": {"loadBalancer": {}},
    }


def _parse_variable(text: str) -> Plain:
    name, equals, value = text.partition("=")
    if not equals or not _VARIABLE.fullmatch(name):
        raise refuse(f"--env: {text!r} is not NAME=VALUE")
    return {"name": name, **({"value": value} if value else {})}


def _parse_labels(text: str) -> dict[str, str]:
    return _parse_pairs("--labels", text.split(",") if text else ())


def _parse_pairs(option: str, texts: Sequence[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for text in texts:
        key, equals, value = text.partition("=")
        # A label has no equals sign in its value, an annotation may.
        if not key or not equals or (option == "--labels" and "=" in value):
            raise refuse(f"{option}: {text!r} is not KEY=VALUE")
        found[key] = value
    return dict(sorted(found.items()))


def _override(pod: Plain, text: str, kind: str) -> Plain:
    """Merge fields of the user into the pod."""
    from masthead._meta.patch import apply_merge_patch
    from masthead._meta.yaml import load_one
    from masthead.errors import DecodeError

    try:
        patch = load_one(text)
    except DecodeError as error:
        raise refuse(f"--overrides is neither JSON nor YAML: {error.problem}") from None
    if not isinstance(patch, dict):
        raise refuse("--overrides is an object with fields of the pod")
    fields = cast("Plain", patch)
    # The object would be sent to the path of pods.
    for field in ("apiVersion", "kind"):
        if fields.get(field, pod[field]) != pod[field]:
            raise refuse(f"--overrides: {field} is {pod[field]}, not {fields[field]}")
    if kind == "merge":
        return cast("Plain", apply_merge_patch(pod, fields))
    return _merge_strategically(pod, fields)


def _merge_strategically(pod: Plain, fields: Plain) -> Plain:
    from masthead._schema.merge_definitions import merge_rules_of
    from masthead._schema.merge_errors import StrategicMergeError
    from masthead._schema.strategic_merge import apply_strategic_merge
    from masthead.api.core.v1 import Pod

    try:
        return apply_strategic_merge(pod, fields, merge_rules_of(Pod))
    except StrategicMergeError as error:
        raise refuse(f"--overrides cannot be merged: {error}") from None
