"""A refusal's advice fits its case. The sentences are those of a real kube-apiserver."""

from __future__ import annotations

import pickle

import pytest

from masthead._meta.v1 import Status
from masthead.errors import error_from_status

# reason, code, verb, resource, the server's sentence, and how the advice begins.
CASES = [
    (
        "Forbidden",
        403,
        "list",
        "pods",
        'pods is forbidden: User "system:anonymous" cannot list resource "pods" in API group "" in the namespace "shop"',  # noqa: E501
        "No credentials reached the server: give a token",
    ),
    (
        "Forbidden",
        403,
        "list",
        "pods",
        'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "shop"',
        "Grant the user a role",
    ),
    (
        "BadRequest",
        400,
        "list",
        "pods",
        "Client sent an HTTP request to an HTTPS server.",
        "The server speaks TLS: begin",
    ),
    ("BadRequest", 400, "list", "pods", "field label not supported: spec.foo", "Select by another field"),
    (
        "BadRequest",
        400,
        "list",
        "configmaps",
        '"data.a" is not a known field selector: only "metadata.name", "metadata.namespace"',
        "Select by another field",
    ),
    (
        "BadRequest",
        400,
        "get",
        "pods/log",
        "a container name must be specified for pod two, choose one of: [a b]",
        "Name one of them: container=",
    ),
    (
        "BadRequest",
        400,
        "exec",
        "pods",
        "pod web does not have a host assigned",
        "The pod has no node yet: wait",
    ),
    (
        "BadRequest",
        400,
        "exec",
        "pods",
        "Upgrade request required",
        "Something between here and the API server",
    ),
    (
        "BadRequest",
        400,
        "get",
        "pods/log",
        "container zzz is not valid for pod two",
        "Check the name against the pod's",
    ),
    (
        "BadRequest",
        400,
        "get",
        "pods/log",
        'container "a" in pod "two" is waiting to start: ContainerCreating',
        "There is no log yet",
    ),
    (
        "BadRequest",
        400,
        "get",
        "pods/log",
        'previous terminated container "a" in pod "two" not found',
        "The container has not been restarted",
    ),
    (
        "BadRequest",
        400,
        "create",
        "configmaps",
        'ConfigMap in version "v1" cannot be handled as a ConfigMap: strict decoding error: unknown field "dta"',
        "Fix the fields that the message names; field_validation=",
    ),
    (
        "BadRequest",
        400,
        "create",
        "pods",
        'Pod in version "v1" cannot be handled as a Pod: json: cannot unmarshal string into Go struct field',
        "Fix the field that the message names: its value has the wrong type.",
    ),
    (
        "BadRequest",
        400,
        "list",
        "pods",
        'invalid resource version: resourceVersion: Invalid value: "abc": strconv.ParseUint: parsing "abc"',
        "Give a version that this server has returned",
    ),
    (
        "BadRequest",
        400,
        "list",
        "pods",
        "invalid continue token: continue key is not valid",
        "Give the token of the last",
    ),
    ("BadRequest", 400, "patch", "pods", "something new", "Change what the message names"),
    (
        "NotFound",
        404,
        "get",
        "configmaps/scale",
        "the server could not find the requested resource",
        "configmaps have no scale.",
    ),
    (
        "NotFound",
        404,
        "list",
        "widgets.example.com",
        "the server could not find the requested resource",
        "The server has no resource by that group, version and name",
    ),
    (
        "NotFound",
        404,
        "get",
        "/apis/nope/v1/things",
        "404 page not found",
        "The server has no resource at that path",
    ),
    ("NotFound", 404, "get", "pods", 'pods "absent" not found', "Check name and namespace."),
    ("NotFound", 404, "patch", "deployments.apps/scale", 'deployments.apps "a" not found', "Check name and namespace."),
    (
        "NotFound",
        404,
        "patch",
        "gadgets.shop.example.com/scale",
        'gadgets.shop.example.com "one" not found',
        "Check name and namespace. If the object exists, its definition has no subresource scale.",
    ),
    (
        "Forbidden",
        403,
        "create",
        "configmaps",
        'configmaps "b" is forbidden: unable to create new content in namespace term because it is being terminated',
        "The namespace is being deleted",
    ),
    (
        "Forbidden",
        403,
        "list",
        "pods",
        'pods is forbidden: User "jane" cannot list resource "pods" in API group "" in the namespace "default"',
        "Grant the user a role with this verb on this resource, or be another user.",
    ),
    (
        "Forbidden",
        403,
        "create",
        "pods",
        'pods "a" is forbidden: exceeded quota: q, requested: pods=1, used: pods=1, limited: pods=1',
        "The namespace's ResourceQuota is used up",
    ),
    ("Forbidden", 403, "create", "pods", 'pods "a" is forbidden: by my rule', "Grant the user a role"),
    (
        "AlreadyExists",
        409,
        "create",
        "configmaps",
        'object is being deleted: configmaps "there" already exists',
        "Wait until it is gone",
    ),
    (
        "Conflict",
        409,
        "delete",
        "configmaps",
        'Operation cannot be fulfilled on ConfigMap "there": the UID in the precondition (nope) does not match',
        "Read the object again, and delete it if",
    ),
    (
        "Conflict",
        409,
        "apply",
        "configmaps",
        'Operation cannot be fulfilled on configmaps "a": the object has been modified; please apply your changes',
        "Apply it again; if it has a metadata.resource_version, leave that out",
    ),
    (
        "Conflict",
        409,
        "create",
        "pods",
        'Operation cannot be fulfilled on resourcequotas "q": the object has been modified',
        "Something else changed what this depends on",
    ),
    (
        "Conflict",
        409,
        "update",
        "pods",
        'Operation cannot be fulfilled on pods "a": modified',
        "Read the object again, repeat",
    ),
    (
        "Invalid",
        422,
        "patch",
        "configmaps",
        "the server rejected our request due to an error in our request",
        "The patch does not fit the object as it is now",
    ),
    (
        "Invalid",
        422,
        "update",
        "deployments.apps",
        'Deployment.apps "d" is invalid: spec.selector: Invalid value: {}: field is immutable',
        "What cannot be changed stays",
    ),
    (
        "InternalError",
        500,
        "apply",
        "deployments.apps",
        "failed to create typed patch object (/dd; apps/v1, Kind=Deployment): .spec.replcas: field not declared in schema",  # noqa: E501
        "The kind has no field of that name: fix the spelling",
    ),
    (
        "InternalError",
        500,
        "apply",
        "deployments.apps",
        'failed to create typed patch object (/web; v1, Kind=Pod): .spec.containers: duplicate entries for key [name="a"]',  # noqa: E501
        "Two items of that list have the same key",
    ),
    (
        "InternalError",
        500,
        "apply",
        "deployments.apps",
        "failed to create typed patch object (/web; apps/v1, Kind=Deployment): .spec.replicas: expected numeric",
        "Fix the field that the message names",
    ),
    (
        "InternalError",
        500,
        "create",
        "configmaps",
        "resourceVersion should not be set on objects to be created",
        "Leave metadata.resource_version out to create",
    ),
    ("InternalError", 500, "get", "pods", "boom", "Try again; if it stays"),
    (
        "InternalError",
        500,
        "create",
        "pods",
        'failed calling webhook "x": context deadline exceeded',
        "Check the service behind the webhook",
    ),
    ("UnsupportedMediaType", 415, "create", "/api/v1/pods", "the body was in an unknown format", "Send JSON"),
    (
        "TooManyRequests",
        429,
        "create",
        "pods/eviction",
        "Cannot evict pod as it would violate the pod's disruption budget.",
        "A PodDisruptionBudget protects",
    ),
    (
        "Timeout",
        504,
        "list",
        "pods",
        "Timeout: Too large resource version: 9, current: 1",
        "The server has not reached",
    ),
]


@pytest.mark.parametrize(
    ("reason", "code", "verb", "resource", "message", "advice"),
    CASES,
    ids=[f"{case[0]}: {case[4][:40]}" for case in CASES],
)
def test_the_advice_fits_the_case(reason: str, code: int, verb: str, resource: str, message: str, advice: str) -> None:
    status = Status(reason=reason, code=code, message=message)
    error = error_from_status(status, verb=verb, resource=resource, namespace="shop", name="a")

    assert str(error).partition(f"({code} {reason}). ")[2].startswith(advice)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_a_missing_namespace_is_named_and_the_object_keeps_its_name() -> None:
    details = {"name": "nowhere", "kind": "namespaces"}
    status = Status.from_dict(
        {"reason": "NotFound", "code": 404, "message": 'namespaces "nowhere" not found', "details": details}
    )

    error = error_from_status(status, verb="create", resource="configmaps", namespace="nowhere")

    assert error.name == ""
    assert str(error) == (
        'create configmaps nowhere: namespaces "nowhere" not found (404 NotFound). '
        "The namespace is missing: create it, or check its spelling."
    )


def test_a_sentence_that_repeats_an_object_is_understood_by_its_end() -> None:
    message = f' "" is invalid: patch: Invalid value: "{"x" * 100_000}": json: cannot unmarshal number into Go struct'
    status = Status(reason="Invalid", code=422, message=message)

    error = error_from_status(status, verb="patch", resource="configmaps", namespace="shop", name="a")

    assert error.next_step == "Fix the field that the message names: its value has the wrong type."


def test_advice_for_a_missing_cluster_scoped_object_names_no_namespace() -> None:
    status = Status(reason="NotFound", code=404, message='nodes "a" not found')

    assert str(error_from_status(status, verb="get", resource="nodes", name="a")).endswith(". Check the name.")


def test_a_generated_name_is_taken_from_the_status() -> None:
    status = Status.from_dict(
        {"reason": "Invalid", "code": 422, "message": "no", "details": {"name": "web-x1", "kind": "Pod"}}
    )

    assert error_from_status(status, verb="create", resource="pods", namespace="shop").name == "web-x1"
