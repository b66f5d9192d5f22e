"""Authorization: ``authorizer.group('').resource('pods').namespace('web').check('create').allowed()``.

Only admission has the variable ``authorizer``; its value is an `AuthorizerValue`. Rules of custom resources know the
functions, but have nothing to call them on.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, NamedTuple, Protocol

from masthead._cel.declarations import Function, function, method
from masthead._cel.errors import NO_OVERLOAD, EvaluationError
from masthead._cel.types import BOOL, STRING, Type
from masthead._cel.values import Opaque
from masthead._meta.names import problem_with_dns1123_label, problem_with_dns1123_subdomain

if TYPE_CHECKING:
    from masthead._cel.declarations import Implementation
    from masthead._cel.values import Value

__all__ = [
    "AUTHORIZER",
    "FUNCTIONS",
    "RESOURCE_CHECK",
    "AccessDecision",
    "AccessRequest",
    "AccessReviewer",
    "AuthorizerValue",
    "ResourceCheckValue",
]

AUTHORIZER: Final = Type("struct", "kubernetes.authorization.Authorizer")
"""The type of ``authorizer``."""
RESOURCE_CHECK: Final = Type("struct", "kubernetes.authorization.ResourceCheck")
"""The type of ``authorizer.requestResource``."""
_PATH: Final = Type("struct", "kubernetes.authorization.PathCheck")
_GROUP: Final = Type("struct", "kubernetes.authorization.GroupCheck")
_DECISION: Final = Type("struct", "kubernetes.authorization.Decision")


class AccessRequest(NamedTuple):
    """What an expression asks about: a path, or a resource in any version."""

    path: str = ""
    group: str = ""
    resource: str = ""
    subresource: str = ""
    namespace: str = ""
    name: str = ""
    field_selector: str = ""
    label_selector: str = ""


class AccessDecision(NamedTuple):
    """The answer: whether it is allowed, why, and the error that kept the authorizer from deciding."""

    is_allowed: bool
    reason: str = ""
    error: str = ""


class AccessReviewer(Protocol):
    """Answers for one user; the server implements it with its authorizer."""

    def review(self, request: AccessRequest, verb: str) -> AccessDecision:
        """Decide about a request of the user.

        Raises:
            EvaluationError: If the expression has no authorizer.
        """
        ...

    def as_service_account(self, namespace: str, name: str) -> AccessReviewer:
        """Return the reviewer for a service account."""
        ...


class _ReceiverValue(Opaque):
    """A value with methods only."""

    __slots__ = ()

    def equals(self, other: Value) -> bool:
        """Raise: these values cannot be compared."""
        if type(other) is not type(self):
            raise EvaluationError(NO_OVERLOAD)
        return self is other


class AuthorizerValue(_ReceiverValue):
    """The value of ``authorizer``."""

    __slots__ = ("reviewer",)

    type_name = AUTHORIZER.name

    def __init__(self, reviewer: AccessReviewer) -> None:
        self.reviewer = reviewer


class _CheckValue(_ReceiverValue):
    """A request that an expression is composing."""

    __slots__ = ("request", "reviewer")

    def __init__(self, reviewer: AccessReviewer, request: AccessRequest) -> None:
        self.reviewer = reviewer
        self.request = request


class _PathCheckValue(_CheckValue):
    __slots__ = ()
    type_name = _PATH.name


class _GroupCheckValue(_CheckValue):
    __slots__ = ()
    type_name = _GROUP.name


class ResourceCheckValue(_CheckValue):
    """The value of ``authorizer.requestResource``, and of any other resource to check."""

    __slots__ = ()
    type_name = RESOURCE_CHECK.name


class _DecisionValue(_ReceiverValue):
    __slots__ = ("decision",)
    type_name = _DECISION.name

    def __init__(self, decision: AccessDecision) -> None:
        self.decision = decision


def _path(authorizer: AuthorizerValue, path: str) -> Value:
    if not path.strip():
        raise EvaluationError("path must not be empty")
    return _PathCheckValue(authorizer.reviewer, AccessRequest(path=path))


def _group(authorizer: AuthorizerValue, group: str) -> Value:
    return _GroupCheckValue(authorizer.reviewer, AccessRequest(group=group))


def _service_account(authorizer: AuthorizerValue, namespace: str, name: str) -> Value:
    if problem_with_dns1123_subdomain(name):
        raise EvaluationError("Invalid service account name")
    if problem_with_dns1123_label(namespace):
        raise EvaluationError("Invalid service account namespace")
    return AuthorizerValue(authorizer.reviewer.as_service_account(namespace, name))


def _resource(check: _GroupCheckValue, resource: str) -> Value:
    if not resource.strip():
        raise EvaluationError("resource must not be empty")
    return ResourceCheckValue(check.reviewer, check.request._replace(resource=resource))


def _set_field(field: str) -> Implementation:
    def set_field(check: ResourceCheckValue, value: str) -> Value:
        return ResourceCheckValue(check.reviewer, check.request._replace(**{field: value}))

    return set_field


def _check(check: _CheckValue, verb: str) -> Value:
    return _DecisionValue(check.reviewer.review(check.request, verb))


def _declare(name: str, target: Type, result: Type, *args: Type, call: Implementation) -> Function:
    return function(name, method(f"authorization_{name}_{target.name}", (target, *args), result, call))


FUNCTIONS: Final[tuple[Function, ...]] = (
    _declare("path", AUTHORIZER, _PATH, STRING, call=_path),
    _declare("serviceAccount", AUTHORIZER, AUTHORIZER, STRING, STRING, call=_service_account),
    _declare("group", AUTHORIZER, _GROUP, STRING, call=_group),
    _declare("resource", _GROUP, RESOURCE_CHECK, STRING, call=_resource),
    *(
        _declare(name, RESOURCE_CHECK, RESOURCE_CHECK, STRING, call=_set_field(field))
        for name, field in (
            ("subresource", "subresource"),
            ("namespace", "namespace"),
            ("name", "name"),
            ("fieldSelector", "field_selector"),
            ("labelSelector", "label_selector"),
        )
    ),
    _declare("check", _PATH, _DECISION, STRING, call=_check),
    _declare("check", RESOURCE_CHECK, _DECISION, STRING, call=_check),
    _declare("allowed", _DECISION, BOOL, call=lambda value: value.decision.is_allowed),
    _declare("errored", _DECISION, BOOL, call=lambda value: bool(value.decision.error)),
    _declare("error", _DECISION, STRING, call=lambda value: value.decision.error),
    _declare("reason", _DECISION, STRING, call=lambda value: value.decision.reason),
)
