"""Expressions of admission: the variables that they have, and how they are compiled.

Webhooks have match conditions; policies have match conditions, variables, validations, audit annotations and mutations.
"""

from __future__ import annotations

from functools import lru_cache
from typing import TYPE_CHECKING, Final, NamedTuple

from masthead._cel.admission_types import NAMESPACE, REQUEST
from masthead._cel.compiler import ProgramError
from masthead._cel.environment import patch_environment, standard_environment
from masthead._cel.errors import CompileError
from masthead._cel.library.authorization import AUTHORIZER, RESOURCE_CHECK
from masthead._cel.library.patches import JSON_PATCH, OBJECT
from masthead._cel.program import Program
from masthead._cel.types import (
    BOOL,
    DYN,
    NULL,
    STRING,
    Type,
    list_of,
    map_of,
    object_type,
)
from masthead._schema.errors import FieldError, invalid

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = [
    "APPLY_CONFIGURATION",
    "AUDIT_VALUE",
    "CONDITION",
    "JSON_PATCHES",
    "MESSAGE",
    "VARIABLE",
    "AdmissionExpression",
    "CompositeType",
    "Declarations",
    "compile_expression",
    "expression_errors",
]

CONDITION: Final = (BOOL,)
"""The result of a validation and of a match condition."""
MESSAGE: Final = (STRING,)
"""The result of a messageExpression."""
AUDIT_VALUE: Final = (STRING, NULL)
"""The result of an audit annotation."""
VARIABLE: Final[tuple[Type, ...]] = ()
"""The result of a variable: any."""
APPLY_CONFIGURATION: Final = (OBJECT,)
"""The result of an ApplyConfiguration mutation."""
JSON_PATCHES: Final = (list_of(JSON_PATCH),)
"""The result of a JSONPatch mutation."""

_SCALARS: Final = frozenset({"bool", "bytes", "double", "duration", "int", "null", "string", "timestamp", "uint"})


class CompositeType:
    """The type of ``variables``: the variables of a policy that stand before an expression, with their types."""

    def __init__(self) -> None:
        self._fields: dict[str, Type] = {}
        self.type: Type = object_type("kubernetes.variables", self._fields)

    def add(self, name: str, expression: AdmissionExpression) -> None:
        """Add a variable; after a compile error it is dynamic."""
        self._fields[name] = DYN if expression.program is None else _declare(expression.program.type)

    def __len__(self) -> int:
        return len(self._fields)


class Declarations(NamedTuple):
    """The variables of an expression.

    Attributes:
        has_params: Whether the policy has a paramKind.
        has_authorizer: Whether the expression may ask the authorizer.
        has_patch_types: Whether it constructs a patch.
        has_request_resource: Whether it may ask about the resource of the request, if it has the authorizer.
        variables: The type of ``variables``; None if there is no such variable.
        object: The type of ``object`` and ``oldObject``; dynamic but for type checking.
        params: The type of ``params``.
    """

    has_params: bool = False
    has_authorizer: bool = True
    has_patch_types: bool = False
    has_request_resource: bool = True
    variables: Type | None = None
    object: Type = DYN
    params: Type = DYN

    def types(self) -> Mapping[str, Type]:
        """Return the types of all variables by name, in the order in which an evaluation takes their values."""
        types = {
            "object": self.object,
            "oldObject": self.object,
            "request": REQUEST,
            "namespaceObject": NAMESPACE,
        }
        if self.variables is not None:
            types["variables"] = self.variables
        if self.has_params:
            types["params"] = self.params
        if self.has_authorizer:
            types["authorizer"] = AUTHORIZER
            if self.has_request_resource:
                types["authorizer.requestResource"] = RESOURCE_CHECK
        return types


class AdmissionExpression(NamedTuple):
    """A compiled expression, or the reason why it does not compile.

    Attributes:
        source: Its text.
        program: The program; None if it does not compile.
        error: Why it does not compile.
        is_internal: Whether kube-apiserver reports an internal error.
        slots: The variables whose values an evaluation takes, in order; empty for unused ones.
    """

    source: str
    program: Program | None
    error: str = ""
    is_internal: bool = False
    slots: tuple[str, ...] = ()


def compile_expression(source: str, declarations: Declarations, results: tuple[Type, ...]) -> AdmissionExpression:
    """Compile an expression.

    Args:
        source: Its text.
        declarations: Its variables.
        results: The types that it may have; none for any.
    """
    # Types with fields are compared by name, so that only expressions without composition can be cached.
    if declarations.variables is None and declarations.object is DYN:
        return _compile_cached(source, declarations, results)
    return _compile(source, declarations, results)


def expression_errors(path: str, value: str, expression: AdmissionExpression) -> list[FieldError]:
    """Return the error of a field whose expression does not compile.

    Args:
        path: The path of the field.
        value: The value that the error shows.
        expression: The compiled expression.
    """
    if not expression.error:
        return []
    if expression.is_internal:
        return [FieldError("InternalError", path, detail=expression.error)]
    return [invalid(path, value, expression.error)]


def _compile(source: str, declarations: Declarations, results: tuple[Type, ...]) -> AdmissionExpression:
    environment = patch_environment() if declarations.has_patch_types else standard_environment()
    try:
        types = declarations.types()
        program = Program(source, types, environment=environment)
    except CompileError as error:
        return AdmissionExpression(source, None, f"compilation failed: {error}")
    except ProgramError as error:
        return AdmissionExpression(source, None, f"program instantiation failed: {error}", is_internal=True)
    if not results or program.type in results:
        slots = tuple(name if name in program.names else "" for name in types)
        return AdmissionExpression(source, program, slots=slots)
    found = _format_type(program.type)
    if len(results) == 1:
        return AdmissionExpression(source, None, f"must evaluate to {_format_type(results[0])} but got {found}")
    expected = " ".join(map(_format_type, results))
    return AdmissionExpression(source, None, f"must evaluate to one of [{expected}] but got {found}")


# A policy is validated and then compiled for evaluation; both compile most of its expressions in the same way.
_compile_cached: Final = lru_cache(maxsize=512)(_compile)


def _declare(type_: Type) -> Type:
    """Return the type that a variable has in other expressions; messages and values of libraries are dynamic."""
    if type_.kind in _SCALARS:
        return type_
    if type_.kind == "list":
        return list_of(_declare(type_.params[0]))
    if type_.kind == "map":
        return map_of(_declare(type_.params[0]), _declare(type_.params[1]))
    return DYN


def _format_type(type_: Type) -> str:
    if not type_.params:
        return type_.name
    return f"{type_.name}({', '.join(map(_format_type, type_.params))})"
