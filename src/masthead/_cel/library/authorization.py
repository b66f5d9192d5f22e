"""Authorization: declared, so that the checker knows it, but for admission only: rules have no ``authorizer``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NoReturn

from masthead._cel.declarations import Function, function, method
from masthead._cel.errors import NO_OVERLOAD, EvaluationError
from masthead._cel.types import BOOL, STRING, Type

if TYPE_CHECKING:
    from masthead._cel.values import Value

__all__ = ["FUNCTIONS"]

_AUTHORIZER: Final = Type("struct", "kubernetes.authorization.Authorizer")
_PATH: Final = Type("struct", "kubernetes.authorization.PathCheck")
_GROUP: Final = Type("struct", "kubernetes.authorization.GroupCheck")
_RESOURCE: Final = Type("struct", "kubernetes.authorization.ResourceCheck")
_DECISION: Final = Type("struct", "kubernetes.authorization.Decision")


def _unavailable(*_args: Value) -> NoReturn:
    raise EvaluationError(NO_OVERLOAD)


def _declare(name: str, target: Type, result: Type, *args: Type) -> Function:
    return function(name, method(f"authorization_{name}_{target.name}", (target, *args), result, _unavailable))


FUNCTIONS: Final[tuple[Function, ...]] = (
    _declare("path", _AUTHORIZER, _PATH, STRING),
    _declare("serviceAccount", _AUTHORIZER, _AUTHORIZER, STRING, STRING),
    _declare("group", _AUTHORIZER, _GROUP, STRING),
    _declare("resource", _GROUP, _RESOURCE, STRING),
    _declare("subresource", _RESOURCE, _RESOURCE, STRING),
    _declare("namespace", _RESOURCE, _RESOURCE, STRING),
    _declare("name", _RESOURCE, _RESOURCE, STRING),
    _declare("fieldSelector", _RESOURCE, _RESOURCE, STRING),
    _declare("labelSelector", _RESOURCE, _RESOURCE, STRING),
    _declare("check", _PATH, _DECISION, STRING),
    _declare("check", _RESOURCE, _DECISION, STRING),
    _declare("allowed", _DECISION, BOOL),
    _declare("errored", _DECISION, BOOL),
    _declare("error", _DECISION, STRING),
    _declare("reason", _DECISION, STRING),
)
