"""Environments: the functions and the types of messages that expressions can use."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING, NamedTuple

from masthead._cel.declarations import Function, merge
from masthead._cel.errors import EvaluationError
from masthead._cel.library import patches
from masthead._cel.library.catalog import standard_functions

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from masthead._cel.types import Type
    from masthead._cel.values import Value

__all__ = ["CelEnvironment", "device_environment", "patch_environment", "standard_environment"]


class CelEnvironment(NamedTuple):
    """What expressions can use besides their variables.

    Attributes:
        functions: The functions, by name.
        find_struct: Returns the type of a message by its name; None if it is unknown.
        make_struct: Makes a message of a known type; raises `EvaluationError`.
        has_bindings: Whether ``cel.bind`` gives values names.
    """

    functions: Mapping[str, Function]
    find_struct: Callable[[str], Type | None]
    make_struct: Callable[[str, dict[str, Value]], Value]
    has_bindings: bool = False


def _find_nothing(_name: str) -> None:
    return None


def _make_nothing(name: str, _fields: dict[str, Value]) -> Value:
    raise EvaluationError(f"unknown type: {name}")


@cache
def standard_environment() -> CelEnvironment:
    """Return the environment of Kubernetes 1.36: all functions, and no messages."""
    return CelEnvironment(standard_functions(), _find_nothing, _make_nothing)


@cache
def device_environment() -> CelEnvironment:
    """Return the environment of device selectors: that of Kubernetes, with ``cel.bind``."""
    return standard_environment()._replace(has_bindings=True)


@cache
def patch_environment() -> CelEnvironment:
    """Return the environment of mutations: that of Kubernetes, ``Object``, ``JSONPatch`` and their functions."""
    functions = {**standard_functions(), **merge(patches.FUNCTIONS)}
    return CelEnvironment(functions, patches.find_patch_type, patches.make_patch_value)
