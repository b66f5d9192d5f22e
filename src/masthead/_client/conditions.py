"""The conditions of ``wait_for``, and how they combine.

::

    await pods.wait_for("web", pod_ready() | pod_finished(), timeout=60)
    await deployments.wait_for("web", deployment_rolled_out() & condition_is("Available"))
    await jobs.wait_for("import", matches(lambda job: job.status.succeeded == 3, "3 pods are done"))

A condition tests an object, or None if the object does not exist. One that can only hold for an existing
object is an `ObjectWaitCondition`, and ``wait_for`` returns that object. The predefined conditions accept
typed and untyped objects and decide as ``kubectl wait`` and ``kubectl rollout status`` do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeAlias, TypeVar, cast, overload

from masthead._client.rollouts import daemon_set_lacks, deployment_lacks, stateful_set_lacks
from masthead._module import set_module
from masthead._schema.field_paths import parse_path, plain, value_at
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._meta.object import Object
    from masthead._meta.unstructured import Unstructured
    from masthead.api.apiextensions.v1 import CustomResourceDefinition
    from masthead.api.apps.v1 import DaemonSet, Deployment, StatefulSet
    from masthead.api.batch.v1 import Job
    from masthead.api.core.v1 import Pod

__all__ = [
    "AnyDaemonSet",
    "AnyDefinition",
    "AnyDeployment",
    "AnyJob",
    "AnyPod",
    "AnyStatefulSet",
    "ObjectWaitCondition",
    "WaitCondition",
    "condition_is",
    "crd_established",
    "crd_names_accepted",
    "daemon_set_rolled_out",
    "deleted",
    "deployment_available",
    "deployment_rolled_out",
    "exists",
    "field_is",
    "has_condition",
    "job_complete",
    "job_failed",
    "job_finished",
    "lacking",
    "matches",
    "pod_failed",
    "pod_finished",
    "pod_ready",
    "pod_running",
    "pod_succeeded",
    "stateful_set_rolled_out",
]

# Typed or untyped. Type checkers reject a condition of deployments for pods.
AnyPod: TypeAlias = "Pod | Unstructured"
AnyDeployment: TypeAlias = "Deployment | Unstructured"
AnyStatefulSet: TypeAlias = "StatefulSet | Unstructured"
AnyDaemonSet: TypeAlias = "DaemonSet | Unstructured"
AnyJob: TypeAlias = "Job | Unstructured"
AnyDefinition: TypeAlias = "CustomResourceDefinition | Unstructured"

# Not bound to Object: a test of an object or None is a condition of either, and so of objects too.
T_contra = TypeVar("T_contra", contravariant=True)
T = TypeVar("T")

_ABSENT: Final = "it does not exist"
_CONDITIONS: Final = parse_path("status.conditions")
_SHOWN: Final = 10
_OBSERVED: Final = parse_path("status.observedGeneration")
_PHASE: Final = parse_path("status.phase")
_DELETION_CONDITIONS: Final = ("Terminating", "NamespaceContentRemaining", "NamespaceFinalizersRemaining")


@set_module("masthead.conditions")
class WaitCondition(Generic[T_contra]):
    """A condition on an object or on its absence, with a description for messages.

    ``a & b``, ``a | b`` and ``~a`` are conditions too. Calling a condition tests it; exceptions of your own
    test function propagate unchanged.
    """

    def __init__(
        self,
        test: Callable[[T_contra | None], bool],
        description: str,
        says: Callable[[T_contra | None], str] | None = None,
    ) -> None:
        """Create a condition.

        Args:
            test: Called with the object, or None if it does not exist.
            description: What holds when the test passes: ``the pod is ready``.
            says: Describes the current state of an object, for the message of a wait that timed out.
        """
        self._test = test
        self._says = says or cast("Callable[[T_contra | None], str]", _state_of)
        self.description: Final = description

    def __call__(self, obj: T_contra | None) -> bool:
        """Whether it holds for an object; None means that the object does not exist."""
        return self._test(obj)

    def says(self, obj: T_contra | None) -> str:
        """Describe the current state of an object, as far as this condition is concerned."""
        return self._says(obj)

    # The reflected operators are for type checkers: a condition of any object combined with one of pods is one of
    # pods, whichever comes first.
    @overload
    def __and__(self, other: ObjectWaitCondition[T_contra]) -> ObjectWaitCondition[T_contra]: ...
    @overload
    def __and__(self, other: WaitCondition[T_contra]) -> WaitCondition[T_contra]: ...
    def __and__(self, other: WaitCondition[T_contra]) -> WaitCondition[T_contra]:
        return _both_true(self, other)

    @overload
    def __rand__(self, other: ObjectWaitCondition[T_contra]) -> ObjectWaitCondition[T_contra]: ...
    @overload
    def __rand__(self, other: WaitCondition[T_contra]) -> WaitCondition[T_contra]: ...
    def __rand__(self, other: WaitCondition[T_contra]) -> WaitCondition[T_contra]:
        return _both_true(other, self)

    def __or__(self, other: WaitCondition[T_contra]) -> WaitCondition[T_contra]:
        return _one_true(self, other)

    def __ror__(self, other: WaitCondition[T_contra]) -> WaitCondition[T_contra]:
        return _one_true(other, self)

    def __invert__(self: WaitCondition[T]) -> WaitCondition[T]:
        return WaitCondition(lambda obj: not self(obj), f"not ({self.description})", self.says)

    def __bool__(self) -> bool:
        """Refuse truth testing: ``a and b`` would silently be ``b`` alone.

        Raises:
            TypeError: Always.
        """
        raise TypeError("combine conditions with &, | and ~, and test one by calling it with an object")

    def __repr__(self) -> str:
        return f"WaitCondition({self.description})"


@set_module("masthead.conditions")
class ObjectWaitCondition(WaitCondition[T_contra], Generic[T_contra]):
    """A condition that holds only for existing objects."""

    def __init__(
        self,
        test: Callable[[T_contra], bool],
        description: str,
        says: Callable[[T_contra | None], str] | None = None,
    ) -> None:
        """Create a condition.

        Args:
            test: Called with the object; not called if it does not exist.
            description: What holds when the test passes: ``the pod is ready``.
            says: Describes the current state of an object, for the message of a wait that timed out.
        """
        super().__init__(lambda obj: obj is not None and test(obj), description, says)

    def __and__(self, other: WaitCondition[T_contra]) -> ObjectWaitCondition[T_contra]:
        return ObjectWaitCondition(_both_true(self, other), *_words_of(self, "and", other))

    def __rand__(self, other: WaitCondition[T_contra]) -> ObjectWaitCondition[T_contra]:
        return ObjectWaitCondition(_both_true(other, self), *_words_of(other, "and", self))

    @overload
    def __or__(self, other: ObjectWaitCondition[T_contra]) -> ObjectWaitCondition[T_contra]: ...
    @overload
    def __or__(self, other: WaitCondition[T_contra]) -> WaitCondition[T_contra]: ...
    def __or__(self, other: WaitCondition[T_contra]) -> WaitCondition[T_contra]:
        return _one_true(self, other)

    @overload
    def __ror__(self, other: ObjectWaitCondition[T_contra]) -> ObjectWaitCondition[T_contra]: ...
    @overload
    def __ror__(self, other: WaitCondition[T_contra]) -> WaitCondition[T_contra]: ...
    def __ror__(self, other: WaitCondition[T_contra]) -> WaitCondition[T_contra]:
        return _one_true(other, self)


@set_module("masthead.conditions")
def matches(test: Callable[[T], bool], description: str) -> ObjectWaitCondition[T]:
    """The object exists, and a function of your own returns True for it.

    Args:
        test: Called with the object. To test the absence of an object as well, create a `WaitCondition`.
        description: What holds when the test passes; for messages.
    """
    return ObjectWaitCondition(test, description)


@set_module("masthead.conditions")
def exists() -> ObjectWaitCondition[Object]:
    """The object exists."""
    return ObjectWaitCondition(lambda _: True, "it exists")


@set_module("masthead.conditions")
def deleted(*, uid: str | None = None) -> WaitCondition[Object]:
    """The object does not exist.

    Args:
        uid: The object with this UID must not exist; a new object of the same name may.
    """
    if uid is None:
        return WaitCondition(lambda obj: obj is None, "it is gone")
    # Another uid: the object was deleted, and another one of the same name created.
    return WaitCondition(lambda obj: obj is None or obj.metadata.uid != uid, f"the object with the uid {uid} is gone")


@set_module("masthead.conditions")
def field_is(path: str, value: object) -> ObjectWaitCondition[Object]:
    """A field has a value.

    Args:
        path: With JSON names: ``status.phase``, ``spec.containers[0].image``,
            ``metadata.labels["example.com/name"]``.
        value: The JSON value, so ``"500m"`` for a quantity; None for an absent field.

    Raises:
        ArgumentError: If the path is invalid. Testing raises it too, if the object's type has no such
            field.
    """
    steps, wanted = parse_path(path), plain(value)

    def test(obj: Object) -> bool:
        return plain(value_at(obj, steps, strict=True)) == wanted

    def says(obj: Object | None) -> str:
        return _ABSENT if obj is None else f"{path} is {plain(value_at(obj, steps, strict=True))!r}"

    return ObjectWaitCondition(test, f"{path} is {wanted!r}", says)


@set_module("masthead.conditions")
def condition_is(type: str, status: str = "True") -> ObjectWaitCondition[Object]:
    """One of the object's ``status.conditions`` has a status.

    A condition that was observed for an older generation of the object does not count.

    Args:
        type: Such as ``Ready``.
        status: ``True``, ``False`` or ``Unknown``.
    """

    def test(obj: Object) -> bool:
        found = _condition(obj, type)
        return (
            found is not None
            and str(found.get("status")).casefold() == status.casefold()
            and not _is_outdated(obj, found)
        )

    return ObjectWaitCondition(test, f"{type} is {status}", lambda obj: _condition_words(obj, type))


@set_module("masthead.conditions")
def pod_running() -> ObjectWaitCondition[AnyPod]:
    """The pod's containers have been started."""
    return _of_kind("Pod", field_is("status.phase", "Running"), "the pod is running")


@set_module("masthead.conditions")
def pod_ready() -> ObjectWaitCondition[AnyPod]:
    """The pod is ready."""
    return _of_kind("Pod", condition_is("Ready"), "the pod is ready")


@set_module("masthead.conditions")
def pod_succeeded() -> ObjectWaitCondition[AnyPod]:
    """All containers of the pod have terminated successfully and are not restarted."""
    return _of_kind("Pod", field_is("status.phase", "Succeeded"), "the pod has succeeded")


@set_module("masthead.conditions")
def pod_failed() -> ObjectWaitCondition[AnyPod]:
    """All containers of the pod have terminated, at least one in failure, and are not restarted."""
    return _of_kind("Pod", field_is("status.phase", "Failed"), "the pod has failed")


@set_module("masthead.conditions")
def pod_finished() -> ObjectWaitCondition[AnyPod]:
    """The pod has succeeded or failed."""
    return _of_kind("Pod", pod_succeeded() | pod_failed(), "the pod has finished")


@set_module("masthead.conditions")
def deployment_available() -> ObjectWaitCondition[AnyDeployment]:
    """The deployment has its minimum number of available pods."""
    return _of_kind("Deployment", condition_is("Available"), "the deployment is available")


@set_module("masthead.conditions")
def deployment_rolled_out() -> ObjectWaitCondition[AnyDeployment]:
    """All replicas of the deployment are updated and available, and no old replica is left."""
    return _of_kind("Deployment", lacking("the deployment is rolled out", deployment_lacks))


@set_module("masthead.conditions")
def stateful_set_rolled_out() -> ObjectWaitCondition[AnyStatefulSet]:
    """All replicas of the stateful set are ready and, from its partition on, updated."""
    return _of_kind("StatefulSet", lacking("the stateful set is rolled out", stateful_set_lacks))


@set_module("masthead.conditions")
def daemon_set_rolled_out() -> ObjectWaitCondition[AnyDaemonSet]:
    """On every node that the daemon set is scheduled to, its pod is updated and available."""
    return _of_kind("DaemonSet", lacking("the daemon set is rolled out", daemon_set_lacks))


@set_module("masthead.conditions")
def job_complete() -> ObjectWaitCondition[AnyJob]:
    """The job is complete."""
    return _of_kind("Job", condition_is("Complete"), "the job is complete")


@set_module("masthead.conditions")
def job_failed() -> ObjectWaitCondition[AnyJob]:
    """The job has failed."""
    return _of_kind("Job", condition_is("Failed"), "the job has failed")


@set_module("masthead.conditions")
def job_finished() -> ObjectWaitCondition[AnyJob]:
    """The job is complete or has failed."""
    return _of_kind("Job", job_complete() | job_failed(), "the job has finished")


@set_module("masthead.conditions")
def crd_established() -> ObjectWaitCondition[AnyDefinition]:
    """The CustomResourceDefinition is established, its names are accepted, and it is not being deleted.

    Its kind is served a moment later; ``client.wait_for_kind(gvk)`` waits for that.
    """
    return _of_kind("CustomResourceDefinition", lacking("the definition is established", _definition_lacks))


@set_module("masthead.conditions")
def crd_names_accepted() -> ObjectWaitCondition[AnyDefinition]:
    """No other CustomResourceDefinition of the group has the names of this one."""
    return _of_kind(
        "CustomResourceDefinition", condition_is("NamesAccepted"), "the names of the definition are accepted"
    )


def _definition_lacks(obj: Object) -> str:
    """What a definition lacks to be established, with the server's reasons; empty for nothing."""
    if obj.metadata.deletion_timestamp is not None:
        return "it is being deleted" + _reason_of(_condition(obj, "Terminating"))
    for type_ in ("NamesAccepted", "Established"):
        if not condition_is(type_)(obj):
            # It explains why the API server does not establish the definition.
            is_broken = condition_is("NonStructuralSchema")(obj)
            note = f"; {_condition_words(obj, 'NonStructuralSchema')}" if is_broken else ""
            return _condition_words(obj, type_) + note
    return ""


def _of_kind(kind: str, condition: ObjectWaitCondition[T], description: str = "") -> ObjectWaitCondition[T]:
    """The same condition for objects of one kind, perhaps with another description; it refuses other objects."""
    description = description or condition.description

    def test(obj: T) -> bool:
        wrong = cast("Object", obj)
        # The name alone: groups differ between versions of Kubernetes. Untyped objects may lack both.
        if wrong.kind not in {kind, ""}:
            raise ArgumentError(
                f'the condition "{description}" is for objects of the kind {kind}, and {wrong.key} is of the kind '
                f"{wrong.kind}; use conditions.condition_is, field_is or matches instead",
                value=wrong.kind,
            )
        return condition(obj)

    return ObjectWaitCondition(test, description, condition.says)


def lacking(description: str, lacks: Callable[[Object], str]) -> ObjectWaitCondition[Object]:
    """A condition that holds when nothing is missing.

    Args:
        description: What holds then.
        lacks: Describes the missing parts; empty for none.
    """

    def says(obj: Object | None) -> str:
        return _ABSENT if obj is None else lacks(obj) or description

    return ObjectWaitCondition(lambda obj: not lacks(obj), description, says)


def _both_true(one: WaitCondition[T], other: WaitCondition[T]) -> WaitCondition[T]:
    def test(obj: T | None) -> bool:
        return one(obj) and other(obj)

    # Both must hold, so one condition that needs an object is enough.
    needs_object = isinstance(one, ObjectWaitCondition) or isinstance(other, ObjectWaitCondition)
    return _make_condition(test, *_words_of(one, "and", other), needs_object=needs_object)


def _one_true(one: WaitCondition[T], other: WaitCondition[T]) -> WaitCondition[T]:
    def test(obj: T | None) -> bool:
        return one(obj) or other(obj)

    # Either may hold, perhaps the one that accepts a missing object.
    needs_object = isinstance(one, ObjectWaitCondition) and isinstance(other, ObjectWaitCondition)
    return _make_condition(test, *_words_of(one, "or", other), needs_object=needs_object)


def _make_condition(
    test: Callable[[T | None], bool],
    description: str,
    says: Callable[[T | None], str],
    *,
    needs_object: bool,
) -> WaitCondition[T]:
    return ObjectWaitCondition(test, description, says) if needs_object else WaitCondition(test, description, says)


def _words_of(one: WaitCondition[T], how: str, other: WaitCondition[T]) -> tuple[str, Callable[[T | None], str]]:
    """The description of a combination, and the function that describes an object's state."""
    return f"({one.description} {how} {other.description})", lambda obj: _both(one, other, obj)


def _both(one: WaitCondition[T], other: WaitCondition[T], obj: T | None) -> str:
    """The states that two conditions describe; one of them if they are equal."""
    return "; ".join(dict.fromkeys((one.says(obj), other.says(obj))))


def _state_of(obj: Object | None) -> str:
    """The state of an object for a condition that does not describe it."""
    if obj is None:
        return _ABSENT
    phase = value_at(obj, _PHASE)
    state = "it exists" if obj.metadata.deletion_timestamp is None else _deletion_state(obj)
    return state + (f"; status.phase is {phase!r}" if phase else "")


def _deletion_state(obj: Object) -> str:
    """What keeps an object that is being deleted: its finalizers, and the reasons of the API server."""
    parts = ["it still exists: being deleted"]
    if finalizers := obj.metadata.finalizers:
        parts.append(f"finalizer{'' if len(finalizers) == 1 else 's'} {', '.join(finalizers)}")
    # Definitions and namespaces have no end of their own: they wait for the objects in them.
    found = (_condition(obj, kind) for kind in _DELETION_CONDITIONS)
    parts += [str(each["message"]) for each in found if each and each.get("status") == "True" and each.get("message")]
    return ", ".join(parts)


def has_condition(obj: Object, type_: str) -> bool:
    """Whether an object has a condition of a type, whatever its status."""
    return _condition(obj, type_) is not None


def _condition(obj: Object, type_: str) -> dict[str, object] | None:
    """The condition of a type, as plain data."""
    # Regardless of case, as by kubectl wait.
    same = (each for each in _conditions_of(obj) if str(each.get("type")).casefold() == type_.casefold())
    return next(same, None)


def _conditions_of(obj: Object) -> list[dict[str, object]]:
    conditions = plain(value_at(obj, _CONDITIONS))
    listed = cast("list[object]", conditions) if isinstance(conditions, list) else []
    return [cast("dict[str, object]", each) if isinstance(each, dict) else {} for each in listed]


def _is_outdated(obj: Object, condition: dict[str, object]) -> bool:
    """Whether a condition's ``observedGeneration``, or the status's if it has none, is older than the object's."""
    # The generation of the condition itself is more precise than that of the whole status.
    observed = condition.get("observedGeneration")
    if observed is None:
        observed = value_at(obj, _OBSERVED)
    return isinstance(observed, int) and observed < obj.metadata.generation


def _condition_words(obj: Object | None, type_: str) -> str:
    if obj is None:
        return _ABSENT
    found = _condition(obj, type_)
    if found is None:
        others = ", ".join(str(one.get("type")) for one in _conditions_of(obj)[:_SHOWN])
        return f"it has no condition {type_} yet{f', but {others}' if others else ''}"
    outdated = ", but observed for an older generation" if _is_outdated(obj, found) else ""
    return f"{type_} is {found.get('status')}{outdated}{_reason_of(found)}"


def _reason_of(condition: dict[str, object] | None) -> str:
    """The reason and the message of a condition, in parentheses."""
    found = condition or {}
    why = ": ".join(str(found[key]) for key in ("reason", "message") if found.get(key))
    return f" ({why})" if why else ""
