"""Declared admission webhooks: the function, the requests that it decides about, and the policies of its calls."""

from __future__ import annotations

import inspect
import re
from typing import TYPE_CHECKING, Any, Final, Literal, TypeAlias, TypedDict, cast

from masthead._cache.callables import is_coroutine_function
from masthead._cache.factory.selection import resource_of
from masthead._client.options import label_selector_of
from masthead._meta import names
from masthead._meta.labels import Operator
from masthead._meta.registry import registry
from masthead._meta.unstructured import Unstructured
from masthead._module import set_module
from masthead.errors import ArgumentError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from masthead._client.options import LabelSelection
    from masthead._meta.gvk import GroupVersionKind, GroupVersionResource
    from masthead._meta.labels import Requirement
    from masthead._meta.object import Object
    from masthead._webhook.requests import Operation

__all__ = ["AdmissionWebhook", "WebhookOptions", "WebhookRole"]

WebhookRole: TypeAlias = Literal["validate", "mutate"]
FailurePolicy: TypeAlias = Literal["Fail", "Ignore"]
"""The effect of a webhook that cannot be called: the request fails, or it is ignored."""
MatchPolicy: TypeAlias = Literal["Equivalent", "Exact"]
"""Whether requests for other versions of the resource are converted for the webhook, or pass by it."""
SideEffects: TypeAlias = Literal["None", "NoneOnDryRun"]
"""Whether the webhook has effects outside of its response. The API server refuses other values."""
Reinvocation: TypeAlias = Literal["Never", "IfNeeded"]
"""Whether a mutation runs again if a later webhook has changed the object."""

_OPERATIONS: Final = ("CREATE", "UPDATE", "DELETE", "CONNECT")
_MAX_TIMEOUT: Final = 30
_MAX_CONDITIONS: Final = 64
_NOT_A_NAME: Final = re.compile(r"[^a-z0-9]+")
_OPERATORS: Final = {
    Operator.IN: "In",
    Operator.EQUALS: "In",
    Operator.DOUBLE_EQUALS: "In",
    Operator.NOT_IN: "NotIn",
    Operator.NOT_EQUALS: "NotIn",
    Operator.EXISTS: "Exists",
    Operator.DOES_NOT_EXIST: "DoesNotExist",
}


@set_module("masthead.webhook")
class WebhookOptions(TypedDict, total=False):
    """The options of a webhook; `AdmissionWebhook` describes them and has their defaults."""

    name: str
    operations: Sequence[Operation]
    subresources: Sequence[str]
    object_selector: LabelSelection | None
    namespace_selector: LabelSelection | None
    match_conditions: Mapping[str, str] | None
    match_policy: MatchPolicy
    failure_policy: FailurePolicy
    side_effects: SideEffects
    timeout: int
    reinvocation: Reinvocation


@set_module("masthead.webhook")
class AdmissionWebhook:
    """A declared webhook; `Manager.validate` and `Manager.mutate` create and register one.

    Args:
        role: ``validate`` or ``mutate``.
        function: A function ``(request, obj)``, or ``(request, obj, client)``. A coroutine function runs on the event
            loop, a plain one in a thread with a blocking client.
        kind: The kind of the objects: a class, or a resource such as ``apps/v1/deployments``.
        name: The name of the webhook, a domain name of three parts or more; made from the function's name by default.
        operations: The operations to admit.
        subresources: The subresources to admit; the empty text is the object itself.
        object_selector: Only objects with matching labels.
        namespace_selector: Only objects in namespaces with matching labels.
        match_conditions: CEL expressions by name, all of which must be true: ``{"not-ours": "request.userInfo.username
            != 'system:serviceaccount:shop:operator'"}``.
        match_policy: Whether requests for other versions of the resource are converted for the webhook.
        failure_policy: The effect of a webhook that cannot be called.
        side_effects: Whether the function has effects outside of its response: ``NoneOnDryRun`` if it respects
            `AdmissionRequest.dry_run`.
        timeout: Seconds until the API server gives up the call.
        reinvocation: Whether a mutation runs again if a later webhook has changed the object.

    Raises:
        ArgumentError: If an argument is invalid.
        SelectorError: If a selector is invalid.
    """

    def __init__(  # noqa: PLR0913 - each is a field of a webhook
        self,
        role: WebhookRole,
        function: Callable[..., object],
        kind: type[Object] | GroupVersionResource,
        *,
        name: str = "",
        operations: Sequence[Operation] = ("CREATE", "UPDATE"),
        subresources: Sequence[str] = ("",),
        object_selector: LabelSelection | None = None,
        namespace_selector: LabelSelection | None = None,
        match_conditions: Mapping[str, str] | None = None,
        match_policy: MatchPolicy = "Equivalent",
        failure_policy: FailurePolicy = "Fail",
        side_effects: SideEffects = "None",
        timeout: int = 10,
        reinvocation: Reinvocation = "Never",
    ) -> None:
        self.role: WebhookRole = role
        self.function: Callable[..., object] = _check_function(role, function)
        self.kind: type[Object] | GroupVersionResource = kind
        self.resource: GroupVersionResource = resource_of(kind)
        self.name: str = _check_name(name or _default_name(function, self.resource))
        self.operations: tuple[Operation, ...] = _check_operations(operations)
        self.subresources: tuple[str, ...] = _check_texts("subresources", subresources)
        self.object_selector: dict[str, object] | None = _selector_of(object_selector)
        self.namespace_selector: dict[str, object] | None = _selector_of(namespace_selector)
        self.match_conditions: dict[str, str] = _check_conditions(match_conditions or {})
        self.match_policy: MatchPolicy = _check_choice("match_policy", match_policy, ("Equivalent", "Exact"))
        self.failure_policy: FailurePolicy = _check_choice("failure_policy", failure_policy, ("Fail", "Ignore"))
        self.side_effects: SideEffects = _check_choice("side_effects", side_effects, ("None", "NoneOnDryRun"))
        self.timeout: int = _check_timeout(timeout)
        self.reinvocation: Reinvocation = _check_choice("reinvocation", reinvocation, ("Never", "IfNeeded"))
        if role == "validate" and reinvocation != "Never":
            raise ArgumentError("reinvocation is for mutations; a validation sees the final object", value=reinvocation)

    @property
    def path(self) -> str:
        """The path that the API server calls."""
        return f"/{self.role}/{self.name}"

    @property
    def is_async(self) -> bool:
        """Whether the function is a coroutine function or an async generator function."""
        return is_coroutine_function(self.function) or inspect.isasyncgenfunction(self.function)

    @property
    def takes_client(self) -> bool:
        """Whether the function takes a client as its third argument."""
        return _required_count(self.function) > 2

    def class_for(self, gvk: GroupVersionKind) -> type[Object]:
        """Return the class of the objects in a request: that of a subresource may be another kind."""
        kind = self.kind
        if not isinstance(kind, type):
            return Unstructured
        if gvk == kind.GVK or issubclass(kind, Unstructured):
            return kind
        try:
            return registry.object_class(gvk)
        except UnknownKindError:
            return Unstructured

    def to_dict(self, client_config: Mapping[str, object]) -> dict[str, object]:
        """Return the webhook as an item of a webhook configuration.

        Args:
            client_config: Where the API server calls it: a service or a URL.
        """
        resource = self.resource
        rule = {
            "apiGroups": [resource.group],
            "apiVersions": [resource.version],
            "operations": list(self.operations),
            "resources": [f"{resource.resource}/{part}" if part else resource.resource for part in self.subresources],
            "scope": self._scope,
        }
        made: dict[str, object] = {
            "name": self.name,
            "admissionReviewVersions": ["v1", "v1beta1"],
            "clientConfig": dict(client_config),
            "failurePolicy": self.failure_policy,
            "matchPolicy": self.match_policy,
            "rules": [rule],
            "sideEffects": self.side_effects,
            "timeoutSeconds": self.timeout,
        }
        if self.namespace_selector:
            made["namespaceSelector"] = self.namespace_selector
        if self.object_selector:
            made["objectSelector"] = self.object_selector
        if self.match_conditions:
            made["matchConditions"] = [
                {"name": name, "expression": expression} for name, expression in self.match_conditions.items()
            ]
        if self.role == "mutate":
            made["reinvocationPolicy"] = self.reinvocation
        return made

    @property
    def _scope(self) -> str:
        resource = self.kind.RESOURCE if isinstance(self.kind, type) else None
        if resource is None:
            return "*"
        return "Namespaced" if resource.namespaced else "Cluster"

    def __repr__(self) -> str:
        return f"<AdmissionWebhook {self.name}: {self.role} {self.resource.group_resource}>"


def _check_function(role: str, function: object) -> Callable[..., object]:
    if isinstance(function, type) or not callable(function):
        raise ArgumentError(f"a webhook is a function, not {function!r}: write @manager.{role}(Kind)", value=function)
    if role == "mutate" and (inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function)):
        raise ArgumentError(f"{_title(function)} is a generator function: edit the object, or return it")
    try:
        inspect.signature(function).bind(*range(max(2, _required_count(function))))
        is_callable = _required_count(function) <= 3
    except TypeError:
        is_callable = False
    except ValueError:  # some functions written in C have no signature
        is_callable = True
    if not is_callable:
        raise ArgumentError(
            f"{_title(function)} cannot be called as {role}(request, obj) or {role}(request, obj, client)",
            value=function,
        )
    return function


def _required_count(function: Callable[..., object]) -> int:
    try:
        parameters = inspect.signature(function).parameters.values()
    except ValueError:
        return 2
    positional = (inspect.Parameter.POSITIONAL_ONLY, inspect.Parameter.POSITIONAL_OR_KEYWORD)
    return sum(parameter.kind in positional and parameter.default is parameter.empty for parameter in parameters)


def _default_name(function: object, resource: GroupVersionResource) -> str:
    """Return a domain name that is unique for the function and the resource: ``check.websites.example.com``."""
    title = str(getattr(function, "__name__", "") or type(function).__name__).lower()
    label = _NOT_A_NAME.sub("-", title).strip("-") or "webhook"
    return f"{label}.{resource.resource}.{resource.group or 'core'}"


def _check_name(name: str) -> str:
    problem = names.problem_with_dns1123_subdomain(name)
    if problem or name.count(".") < 2:
        reason = problem or "must be a domain name of three parts or more, such as check.websites.example.com"
        raise ArgumentError(f"the name of a webhook, {names.quote(name)}, {reason}", value=name)
    return name


def _check_operations(operations: Sequence[Operation]) -> tuple[Operation, ...]:
    given = _check_texts("operations", operations)
    if not given or any(operation not in _OPERATIONS for operation in given):
        raise ArgumentError(f"operations must be among {', '.join(_OPERATIONS)}, not {given!r}", value=operations)
    return cast("tuple[Operation, ...]", given)


def _check_texts(what: str, given: Sequence[str]) -> tuple[str, ...]:
    # A string is a sequence, too: its letters would become operations.
    if isinstance(given, str) or not given:
        raise ArgumentError(f"{what} must be a list, such as [{given!r}]", value=given)
    return tuple(dict.fromkeys(given))


def _check_choice(what: str, value: Any, choices: tuple[str, ...]) -> Any:  # noqa: ANN401 - one of several literals
    if value not in choices:
        raise ArgumentError(f"{what} must be {' or '.join(map(repr, choices))}, not {value!r}", value=value)
    return value


def _check_timeout(seconds: object) -> int:
    if isinstance(seconds, bool) or not isinstance(seconds, int) or not 1 <= seconds <= _MAX_TIMEOUT:
        raise ArgumentError(f"timeout must be a whole number of seconds from 1 to 30, not {seconds!r}", value=seconds)
    return seconds


def _check_conditions(conditions: Mapping[str, str]) -> dict[str, str]:
    if len(conditions) > _MAX_CONDITIONS:
        raise ArgumentError(f"a webhook has at most {_MAX_CONDITIONS} match conditions")
    for name, expression in conditions.items():
        if problem := names.problem_with_qualified_name(name):
            raise ArgumentError(f"match_conditions: {names.quote(name)} {problem}", value=name)
        if problem := _problem_with_condition(expression):
            raise ArgumentError(f"match_conditions: {names.quote(name)}: {problem}", value=expression)
    return dict(conditions)


def _problem_with_condition(expression: object) -> str:
    """Return the reason why the API server would refuse a CEL expression; empty if it accepts it."""
    # Imported here, because few webhooks have conditions.
    from masthead._cel.admission_types import MATCH_VARIABLES
    from masthead._cel.errors import CelError
    from masthead._cel.program import compile_expression
    from masthead._cel.types import BOOL

    if not isinstance(expression, str) or not expression.strip():
        return f"{expression!r} is not a CEL expression; write such as \"request.userInfo.username != 'ann'\""
    try:
        program = compile_expression(expression.strip(), MATCH_VARIABLES)
    except CelError as error:
        return f"the CEL expression does not compile: {error}"
    return "" if program.type == BOOL else f"the CEL expression must be a bool, not {program.type.name}"


def _selector_of(selection: LabelSelection | None) -> dict[str, object] | None:
    if selection is None:
        return None
    requirements = [_expression_of(requirement) for requirement in label_selector_of(selection).requirements]
    return {"matchExpressions": requirements} if requirements else None


def _expression_of(requirement: Requirement) -> dict[str, object]:
    operator = _OPERATORS.get(requirement.operator)
    if operator is None:
        raise ArgumentError(f"selectors of webhooks have no operator {requirement.operator}", value=requirement.key)
    values = {"values": list(requirement.values)} if requirement.values else {}
    return {"key": requirement.key, "operator": operator, **values}


def _title(function: object) -> str:
    return str(getattr(function, "__qualname__", None) or repr(function))
