"""The profiles, by name."""

from __future__ import annotations

from importlib import import_module
from typing import TYPE_CHECKING, Final

from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from masthead_server.profiles.profile import ClusterProfile

__all__ = ["PROFILES", "find_profile"]

PROFILES: Final[Mapping[str, tuple[str, str]]] = {"kind": ("masthead_server.profiles.kind.profile", "KindProfile")}
"""Module and class of each profile, by name."""


def find_profile(name: str) -> ClusterProfile:
    """Return the profile with a name.

    Raises:
        ConfigError: If no profile has this name.
    """
    if name not in PROFILES:
        raise ConfigError(f"like: there is no profile {name!r}; there are {', '.join(PROFILES)}")
    module, kind = PROFILES[name]
    profile: ClusterProfile = getattr(import_module(module), kind)()
    return profile
