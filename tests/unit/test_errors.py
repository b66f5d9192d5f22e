"""One error per reason, chosen in one table, each saying what to do next."""

from __future__ import annotations

import copy
import inspect
import pickle
import threading

import pytest

from masthead import errors
from masthead._errors.base import counted
from masthead._meta.unstructured import Unstructured
from masthead._meta.v1 import Status, StatusReason
from masthead.errors import (
    BY_REASON,
    AlreadyExistsError,
    ConflictError,
    ExpiredError,
    InternalServerError,
    MastheadError,
    NotFoundError,
    StatusError,
    TooManyRequestsError,
    UnprocessableError,
    error_from_status,
    status_error_class,
)

NOT_FOUND = Status.from_dict(
    {
        "kind": "Status",
        "apiVersion": "v1",
        "status": "Failure",
        "message": 'deployments.apps "web" not found',
        "reason": "NotFound",
        "details": {"name": "web", "group": "apps", "kind": "deployments"},
        "code": 404,
    }
)


def every_error() -> list[type[MastheadError]]:
    return [var for var in vars(errors).values() if isinstance(var, type) and issubclass(var, MastheadError)]


def test_every_reason_of_the_api_has_a_class_of_its_own() -> None:
    reasons = {reason.value for reason in StatusReason if reason.value}

    assert set(BY_REASON) == reasons
    assert len(set(BY_REASON.values())) == len(reasons)


def test_things_are_counted_in_words() -> None:
    assert [counted(count, "pod") for count in (0, 1, 2)] == ["0 pods", "1 pod", "2 pods"]


def test_every_status_error_has_advice() -> None:
    for reason, cls in BY_REASON.items():
        assert cls.reason_name == reason
        assert 400 <= cls.usual_code < 600
        assert cls.advice.endswith(".")


def test_every_error_is_documented_and_drawn_in_the_tree_or_under_status_error() -> None:
    for cls in every_error():
        assert cls.__doc__
        assert cls.__name__ in (errors.__doc__ or "") or issubclass(cls, StatusError)


def test_a_status_becomes_the_error_of_its_reason_and_names_the_object() -> None:
    error = error_from_status(NOT_FOUND, verb="get", namespace="shop")

    assert type(error) is NotFoundError
    assert (error.verb, error.resource, error.namespace, error.name) == (
        "get",
        "deployments.apps",
        "shop",
        "web",
    )
    assert (error.code, error.reason) == (404, "NotFound")
    assert error.details is not None
    assert str(error) == (
        'get deployments.apps shop/web: deployments.apps "web" not found (404 NotFound). Check name and namespace.'
    )


def test_arguments_take_precedence_over_the_details() -> None:
    error = error_from_status(NOT_FOUND, verb="update", resource="deployments", name="other")

    assert (error.resource, error.name) == ("deployments", "other")


@pytest.mark.parametrize(
    ("reason", "code", "verb", "expected"),
    [
        ("", 404, "get", NotFoundError),
        ("", 409, "create", AlreadyExistsError),
        ("", 409, "update", ConflictError),
        ("", 410, "watch", ExpiredError),
        ("", 422, "create", UnprocessableError),
        ("", 429, "list", TooManyRequestsError),
        ("", 500, "get", InternalServerError),
        ("", 599, "get", InternalServerError),
        ("", 418, "get", StatusError),
        ("SomethingNew", 404, "get", NotFoundError),
        ("Conflict", 404, "get", ConflictError),
        ("AlreadyExists", 409, "update", AlreadyExistsError),
    ],
)
def test_the_reason_chooses_the_class_or_else_the_code(
    reason: str, code: int, verb: str, expected: type[StatusError]
) -> None:
    assert status_error_class(reason=reason, code=code, verb=verb) is expected


def test_retry_after_is_available() -> None:
    status = Status.from_dict({"reason": "TooManyRequests", "code": 429, "details": {"retryAfterSeconds": 7}})

    assert error_from_status(status).retry_after == 7.0
    assert error_from_status(NOT_FOUND).retry_after is None


def test_an_empty_status_makes_a_readable_error() -> None:
    error = error_from_status(Status())

    assert type(error) is StatusError
    assert str(error) == "the server gave no message (0 Unknown)."


ATTRIBUTES: dict[str, object] = {
    "attempts": 3,
    "body": b"busy",
    "code": 409,
    "delay": 4.5,
    "details": NOT_FOUND.details,
    "done": [Unstructured.from_dict({"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "a"}})],
    "exit_code": 7,
    "keys": ["default/a"],
    "port": 8080,
    "problems": ["web.yaml, document 2: no kind"],
    "skipped": ("socket",),
    "status": 502,
    "stderr": b"no such file",
    "stdout": b"half",
    "value": "12 Gigs",
}
"""An argument for each parameter of the errors' constructors; all others are texts."""


def create(cls: type[MastheadError]) -> MastheadError:
    """Create an error with a value for each of its attributes."""
    parameters = inspect.signature(cls.__init__).parameters.values()
    names = [each.name for each in parameters if each.kind is inspect.Parameter.KEYWORD_ONLY]
    error = cls("a message", **{name: ATTRIBUTES.get(name, f"the {name}") for name in names})
    assert set(names) <= error.__dict__.keys()
    return error


def check_same(copied: BaseException, error: MastheadError) -> None:
    assert type(copied) is type(error)
    assert (str(copied), repr(copied), copied.args) == (str(error), repr(error), error.args)
    assert copied.__dict__ == error.__dict__


@pytest.mark.parametrize("cls", every_error(), ids=lambda cls: cls.__name__)
def test_every_error_survives_a_process_pool_with_its_attributes(cls: type[MastheadError]) -> None:
    error = create(cls)
    error.add_note("while the node was drained")

    for protocol in (0, 2, pickle.HIGHEST_PROTOCOL):
        check_same(pickle.loads(pickle.dumps(error, protocol)), error)
    check_same(copy.copy(error), error)


class DrainError(errors.PermanentError):
    """An error of a program, with a constructor of its own."""

    def __init__(self, node: str, *, pods: int) -> None:
        super().__init__(f"{node} still has {pods} pods")
        self.node = node
        self.pods = pods


def test_own_errors_are_pickled_whatever_their_constructor_takes() -> None:
    error = DrainError("node-1", pods=3)

    check_same(pickle.loads(pickle.dumps(error)), error)


def test_a_value_that_cannot_be_pickled_becomes_its_repr() -> None:
    lock = threading.Lock()

    again = pickle.loads(pickle.dumps(errors.ArgumentError("a factory needs a client", value=lock)))

    assert (str(again), again.value) == ("a factory needs a client", repr(lock))


@pytest.mark.parametrize("cls", every_error(), ids=lambda cls: cls.__name__)
def test_every_error_is_rebuilt_from_its_message_as_task_queues_do(cls: type[MastheadError]) -> None:
    error = create(cls)

    assert error.args[0] in str(cls(*error.args))


def test_errors_of_values_are_value_errors_and_missing_kinds_lookup_errors() -> None:
    assert issubclass(errors.QuantityError, ValueError)
    assert issubclass(errors.UnknownKindError, LookupError)
    assert issubclass(errors.DeadlineError, TimeoutError)


def test_a_transport_error_names_the_request() -> None:
    error = errors.DeadlineError("no answer", verb="GET", url="/api/v1/pods", attempts=3)

    assert (error.verb, error.url, error.attempts) == ("GET", "/api/v1/pods", 3)
    assert isinstance(error, TimeoutError)


@pytest.mark.parametrize(
    "value", [r'"{\"data\":{\"password\":\"aHVudGVyMg==\"}}"', '{"data":{"password":"aHVudGVyMg=="}}']
)
def test_messages_do_not_show_values_of_secrets(value: str) -> None:
    error = StatusError(
        f'Secret "web" is invalid: patch: Invalid value: {value}: cannot unmarshal',
        code=422,
        reason="Invalid",
        verb="patch",
        resource="secrets",
        namespace="default",
        name="web",
    )

    assert str(error).startswith(
        'patch secrets default/web: Secret "web" is invalid: patch: Invalid value: <hidden>: cannot unmarshal (422 Invalid)'  # noqa: E501
    )


def secret_is_invalid(problem: str) -> str:
    return str(StatusError(f'Secret "web" is invalid: {problem}', code=422, reason="Invalid", resource="secrets"))


@pytest.mark.parametrize(
    "path",
    ["metadata.name", "[metadata.name", "metadata.labels", "metadata.finalizers[0]", "type", "immutable"],
)
def test_messages_show_values_of_fields_of_a_secret_that_hold_no_secrets(path: str) -> None:
    problem = f'{path}: Invalid value: "X_bad": a name'
    assert problem in secret_is_invalid(problem)


@pytest.mark.parametrize(
    "path",
    [
        "data[a]",
        "stringData[metadata.name]",
        "metadata.annotations",
        "metadata.annotations[kubectl.kubernetes.io/last-applied-configuration]",
        "metadata.nameless",
        "types",
        "",
        "x" * 400 + "metadata.name",
    ],
)
def test_messages_hide_values_of_other_fields_of_a_secret(path: str) -> None:
    text = secret_is_invalid(f'{path}: Invalid value: "hunter2": too short')
    assert "hunter2" not in text
    both = secret_is_invalid(
        f'[metadata.name: Invalid value: "X": a name, {path}: Invalid value: "hunter2": too short]'
    )
    assert '"X"' in both
    assert "hunter2" not in both
