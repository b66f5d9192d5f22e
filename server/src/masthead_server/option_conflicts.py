"""Combinations of settings that contradict each other, for `masthead.server.run` and for the command."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead.errors import ConfigError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from masthead_server.settings import Settings

__all__ = ["LOADED_NODES", "check_conflicts"]

_NODES = "nodes=... (--nodes, --node-template)"
LOADED_NODES = f"a dump with nodes cannot be loaded with {_NODES}: its nodes are the nodes. Leave that out, or them"


def check_conflicts(settings: Settings) -> None:
    """Check that no setting switches off what another one asks for.

    Raises:
        ConfigError: If one does; the message names both.
    """
    if settings.recording is not None and (other := next(_replacing_recording(settings), None)):
        raise ConfigError(
            f"a server that replays a recording has its objects from there, and changes none: leave out {other}, or "
            "recording=... (--from)"
        )
    for name in ("at", "speed"):
        if settings.recording is None and getattr(settings, name) is not None:
            raise ConfigError(f"{name}=... (--{name}) is for a replay: give recording=... (--from FILE), too")
    if settings.like is not None and (off := next(_switched_off(settings), None)):
        raise ConfigError(f"a cluster like {settings.like} cannot start with {off}: leave that out, or like (--like)")
    if settings.controllers is False and (wanted := next(_needing_controllers(settings), None)):
        raise ConfigError(
            f"controllers=False (--no-controllers) is kube-apiserver alone: leave it out, or {wanted}. To run some "
            "controllers, list them: controllers=['scheduler']"
        )
    if settings.kubelet is False and settings.nodes is not None:
        raise ConfigError(f"nodes need the kubelet: leave out kubelet=False (--no-kubelet), or {_NODES}")


def _replacing_recording(settings: Settings) -> Iterator[str]:
    """What brings other objects, or changes recorded ones."""
    for name in ("data", "snapshot", "load", "like"):
        if getattr(settings, name):
            yield f"{name}=..." if name == "snapshot" else f"{name}=... (--{name})"
    for name in ("workloads", "kubelet"):
        if getattr(settings, name):
            yield f"{name}=True"
    if settings.nodes is not None:
        yield _NODES
    if settings.speed is not None and not isinstance(settings.controllers, bool):
        yield "controllers=[...], whose writes would be refused while it plays"


def _switched_off(settings: Settings) -> Iterator[str]:
    """What a cluster like another one consists of, and this one leaves out."""
    for name in ("controllers", "bootstrap", "workloads", "kubelet"):
        if getattr(settings, name) is False:
            yield f"{name}=False (--no-{name})"


def _needing_controllers(settings: Settings) -> Iterator[str]:
    for name in ("workloads", "kubelet"):
        if getattr(settings, name):
            yield f"{name}=True"
    if settings.nodes is not None:
        yield _NODES
