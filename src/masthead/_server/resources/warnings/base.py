"""What a kind's warnings are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Final

from masthead._server.wire.plain import part

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._server.wire.plain import Plain


def _accept(_obj: Plain) -> list[str]:
    return []


def _accept_change(_new: Plain, _old: Plain) -> list[str]:
    return []


@dataclass(frozen=True, slots=True)
class WarningHooks:
    """What is said about the objects of one kind.

    Attributes:
        on_create: Takes a new object.
        on_update: Takes an object's next state and the stored one.
    """

    on_create: Callable[[Plain], list[str]] = _accept
    on_update: Callable[[Plain, Plain], list[str]] = _accept_change


NO_WARNINGS = WarningHooks()
"""Nothing is ever said."""
ADMISSION: Final = (
    "mutatingadmissionpolicies",
    "mutatingadmissionpolicybindings",
    "mutatingwebhookconfigurations",
    "validatingadmissionpolicies",
    "validatingadmissionpolicies/status",
    "validatingadmissionpolicybindings",
    "validatingwebhookconfigurations",
)
"""What configures admission; of all of it the same is said."""


def always(check: Callable[[Plain], list[str]]) -> WarningHooks:
    """Say the same of a new object and of an update, whatever the update changes."""
    return WarningHooks(check, lambda new, _: check(new))


def when_changed(check: Callable[[Plain], list[str]]) -> Callable[[Plain, Plain], list[str]]:
    """Say something of an update only if it raises the generation."""
    return lambda new, old: check(new) if has_changed(new, old) else []


def has_changed(new: Plain, old: Plain) -> bool:
    """Tell whether an update raises the generation."""
    return part(new, "metadata").get("generation") != part(old, "metadata").get("generation")
