"""Applies a profile to the settings of a server."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import TYPE_CHECKING

from masthead.errors import ConfigError
from masthead_server.profiles.registry import find_profile

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

    from masthead_server.node_templates import NodeSettings
    from masthead_server.profiles.profile import ClusterProfile
    from masthead_server.settings import Settings

__all__ = ["resolve"]


def resolve(settings: Settings, name: str) -> Settings:
    """Return the settings, with those of a profile where the user chose none.

    Args:
        settings: The settings.
        name: The name of the profile.

    Raises:
        ConfigError: If there is no such profile, or it cannot have so few nodes.
    """
    profile = find_profile(name)
    return replace(
        settings,
        workloads=True,
        kubelet=True,
        nodes=_nodes(1 if settings.nodes is None else settings.nodes, profile, name),
        has_own_nodes=settings.nodes is not None,
        authorization=profile.authorization if settings.authorization is None else settings.authorization,
        admission=_admission(settings.admission, profile.admission),
    )


def _nodes(nodes: NodeSettings, profile: ClusterProfile, name: str) -> NodeSettings:
    if not isinstance(nodes, int):
        # Templates describe workers: the static pods need the control plane.
        return [*profile.nodes(1), *nodes]
    if nodes < 1:
        raise ConfigError(f"nodes: a cluster like {name} has at least one node, not {nodes}")
    return profile.nodes(nodes)


def _admission(
    admission: bool | Collection[str] | Mapping[str, bool], further: Sequence[str]
) -> bool | Collection[str] | Mapping[str, bool]:
    if admission is True:
        return dict.fromkeys(further, True)
    if isinstance(admission, Mapping):
        return {**dict.fromkeys(further, True), **admission}
    # The user has listed all plugins to run.
    return admission
