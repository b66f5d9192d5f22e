"""Text of parts that several kinds have: labels, selectors, quantities, containers, lists that are cut."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, cast

from masthead._meta.labels import from_label_selector
from masthead._meta.plain import entries, is_integer, labels, text
from masthead._meta.quantity import parse_text
from masthead._meta.v1 import LabelSelector
from masthead.errors import DecodeError, QuantityError, SelectorError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from masthead._meta.plain import Plain

__all__ = [
    "boolean",
    "container_names_and_images",
    "cut_list",
    "format_labels",
    "group_resource",
    "label_selector",
    "label_set",
    "quantity",
]


def label_set(owner: Plain, name: str) -> str:
    """Format a map of labels: ``app=web,tier=front``; ``<none>`` if there are none."""
    return format_labels(labels(owner, name))


def format_labels(found: Mapping[str, str]) -> str:
    """Format labels: ``app=web,tier=front``; ``<none>`` if there are none."""
    # The pairs are sorted as text, which is not always the order of their keys.
    return ",".join(sorted(f"{key}={value}" for key, value in found.items())) or "<none>"


def label_selector(owner: Plain, name: str, *, invalid: str = "<error>", empty: str = "<none>") -> str:
    """Format a LabelSelector: ``app=web,tier in (back,front)``.

    Args:
        owner: The object with the selector.
        name: The field of the selector.
        invalid: The text for an invalid selector.
        empty: The text for a missing or empty selector.
    """
    found = owner.get(name)
    if not isinstance(found, dict):
        return empty
    try:
        selector = from_label_selector(LabelSelector.from_dict(cast("Mapping[str, Any]", found)))
    except (DecodeError, SelectorError):
        return invalid
    return str(selector) or empty


def quantity(value: object) -> str:
    """Format a quantity in its canonical form; ``0`` if it is missing."""
    # JSON may write a quantity as a number.
    if is_integer(value):
        value = str(value)
    if not isinstance(value, str) or not value:
        return "0"
    try:
        return str(parse_text(value))
    except QuantityError:
        # An invalid quantity is printed as it came.
        return value


def container_names_and_images(pod_spec: Plain) -> tuple[str, str]:
    """Return the names and the images of the containers of a pod, each joined with commas."""
    containers = entries(pod_spec, "containers")
    names = ",".join(text(container, "name") for container in containers)
    return names, ",".join(text(container, "image") for container in containers)


def cut_list(shown: Sequence[str], most: int = 3, *, empty: str = "<unset>") -> str:
    """Join a list with commas, and count the items beyond a limit: ``a,b,c + 2 more...``."""
    joined = ",".join(shown[:most])
    if len(shown) > most:
        return f"{joined} + {len(shown) - most} more..."
    return joined or empty


def boolean(value: object) -> str:
    """Format an optional boolean: ``True``, ``False`` or ``<unset>``."""
    return str(value) if isinstance(value, bool) else "<unset>"


def group_resource(group: str, resource: str) -> str:
    """Format a resource, or a kind, with its group: ``deployments.apps``."""
    return f"{resource}.{group}" if group else resource
