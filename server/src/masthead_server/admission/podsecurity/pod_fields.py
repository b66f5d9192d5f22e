"""The parts of a pod that the checks read, and the phrases of their messages."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from masthead_server.wire.plain import items, part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable

    from masthead_server.wire.plain import Plain

__all__ = [
    "Violation",
    "choose_plural",
    "in_user_namespace",
    "is_windows",
    "list_containers",
    "name_containers",
    "name_setters",
    "quote_all",
    "security_context",
]


class Violation(NamedTuple):
    """Why a check refuses a pod.

    Attributes:
        reason: The field or feature.
        detail: The containers and values.
    """

    reason: str
    detail: str


def list_containers(spec: Plain) -> list[Plain]:
    """Return the containers of all three lists, in the order of messages."""
    return [*items(spec, "initContainers"), *items(spec, "containers"), *items(spec, "ephemeralContainers")]


def security_context(owner: Plain) -> Plain:
    """Return the security context of a pod spec or a container."""
    return part(owner, "securityContext")


def is_windows(spec: Plain) -> bool:
    """Tell whether the operating system of a pod is Windows."""
    return part(spec, "os").get("name") == "windows"


def in_user_namespace(spec: Plain) -> bool:
    """Tell whether the users of a pod are not those of the host."""
    return spec.get("hostUsers") is False


def choose_plural(singular: str, plural: str, values: Collection[object]) -> str:
    """Return the word for the number of values."""
    return singular if len(values) == 1 else plural


def quote_all(values: Iterable[str]) -> str:
    """Join values in quotes. Names need no escapes."""
    return ", ".join(f'"{value}"' for value in values)


def name_containers(names: Collection[str]) -> str:
    """Return the phrase for some containers."""
    return f"{choose_plural('container', 'containers', names)} {quote_all(names)}"


def name_setters(spec: Plain, is_bad: Callable[[Plain], bool]) -> str:
    """Return the phrase for the pod and the containers whose security context is bad; empty for none.

    Args:
        spec: The pod's spec.
        is_bad: Tells whether a security context breaks the rule.
    """
    setters = ["pod"] if is_bad(security_context(spec)) else []
    names = [text(container, "name") for container in list_containers(spec) if is_bad(security_context(container))]
    if names:
        setters.append(name_containers(names))
    return " and ".join(setters)
