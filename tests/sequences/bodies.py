"""Bodies of requests, put together from parts."""

from __future__ import annotations

from copy import deepcopy
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from tests.sequences.kinds import Kind
    from tests.sequences.shapes import Plain


def merged(one: Plain, other: Plain) -> Plain:
    """Both objects; what both have is the first one's, lists included."""
    both = {**deepcopy(other), **deepcopy(one)}
    for name in one.keys() & other.keys():
        if isinstance(one[name], dict) and isinstance(other[name], dict):
            both[name] = merged(one[name], other[name])
    return both


def named(body: Any, kind: Kind) -> Plain:
    """The body, for the right object: another one would not be removed at the end."""
    if not isinstance(body, dict):
        return kind.head
    metadata = body.get("metadata")
    with_name = {**metadata, "name": "{name}"} if isinstance(metadata, dict) else {"name": "{name}"}
    return {**body, **kind.head, "metadata": with_name}


def without_empty_metadata(config: Plain) -> Plain:
    """The configuration of a custom resource without empty lists and maps of its metadata.

    kube-apiserver stores them and never shows them; only that the next write makes a new version gives it away.
    """
    metadata = config.get("metadata")
    if not isinstance(metadata, dict):
        return config
    return {**config, "metadata": {name: each for name, each in metadata.items() if each not in ({}, [])}}
