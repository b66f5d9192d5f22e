"""All functions of the environment of Kubernetes 1.36, by name."""

from __future__ import annotations

from functools import cache

from masthead._cel.declarations import Function, merge
from masthead._cel.library import (
    authorization,
    conversions,
    formats,
    lists,
    network,
    operators,
    quantities,
    strings,
    times,
    urls,
)

__all__ = ["standard_functions"]

_LIBRARIES = (
    operators,
    conversions,
    strings,
    times,
    lists,
    urls,
    quantities,
    network,
    formats,
    authorization,
)


@cache
def standard_functions() -> dict[str, Function]:
    """Return the functions by name. The dict must not be changed."""
    return merge(function for library in _LIBRARIES for function in library.FUNCTIONS)
