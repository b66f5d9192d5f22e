"""What can be waited for: conditions, and how they are put together.

::

    await pods.wait_for("web", pod_ready() | pod_finished(), timeout=60)
    await deployments.wait_for("web", deployment_rolled_out() & condition_is("Available"))
    await jobs.wait_for("import", matches(lambda job: job.status.succeeded == 3, "3 pods are done"))

A condition is asked about an object, or about None where there is no such object. One that can only be true of an
object that exists is an `ObjectWaitCondition`, and ``wait_for`` returns that object. The ready-made ones look at objects
with and without types, and decide as ``kubectl wait`` and ``kubectl rollout status`` do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, Generic, TypeVar, cast, overload

from masthead._client.fieldpaths import parse_path, plain, value_at
from masthead._client.rollouts import daemon_set_lacks, deployment_lacks, stateful_set_lacks

if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import TypeAlias

    from masthead._meta.object import Object
    from masthead._meta.unstructured import Unstructured
    from masthead.api.apiextensions.v1 import CustomResourceDefinition
    from masthead.api.apps.v1 import DaemonSet, Deployment, StatefulSet
    from masthead.api.batch.v1 import Job
    from masthead.api.core.v1 import Pod

    # With or without a type: a condition of deployments makes no sense for pods, and type checkers say so.
    AnyPod: TypeAlias = Pod | Unstructured
    AnyDeployment: TypeAlias = Deployment | Unstructured
    AnyStatefulSet: TypeAlias = StatefulSet | Unstructured
    AnyDaemonSet: TypeAlias = DaemonSet | Unstructured
    AnyJob: TypeAlias = Job | Unstructured
    AnyDefinition: TypeAlias = CustomResourceDefinition | Unstructured

__all__ = [
    "WaitCondition",
    "ObjectWaitCondition",
    "matches",
    "exists",
    "deleted",
    "field_is",
    "condition_is",
    "pod_running",
    "pod_ready",
    "pod_succeeded",
    "pod_failed",
    "pod_finished",
    "deployment_available",
    "deployment_rolled_out",
    "stateful_set_rolled_out",
    "daemon_set_rolled_out",
    "job_complete",
    "job_failed",
    "job_finished",
    "crd_established",
]

# Not bound to Object: a test that takes an object or None makes a condition of either, which is one of objects too.
T_contra = TypeVar("T_contra", contravariant=True)
T = TypeVar("T")

_ABSENT: Final = "there is no such object"
_CONDITIONS: Final = parse_path("status.conditions")
_OBSERVED: Final = parse_path("status.observedGeneration")
_PHASE: Final = parse_path("status.phase")


class WaitCondition(Generic[T_contra]):
    """Something that may be true of an object, or of its absence, with words for it.

    ``a & b``, ``a | b`` and ``~a`` are conditions too. Calling one tests it; what a test of one's own raises comes
    out as it is.
    """

    def __init__(
        self,
        test: Callable[[T_contra | None], bool],
        description: str,
        says: Callable[[T_contra | None], str] | None = None,
    ) -> None:
        """Make a condition.

        Args:
            test: Is given the object, or None if there is none.
            description: What is true then, in words: ``the pod is ready``.
            says: Tells in words how things are with an object, true or not, for the message of a wait that ended.
        """
        self._test = test
        self._says = says or cast("Callable[[T_contra | None], str]", _state_of)
        self.description: Final = description

    def __call__(self, obj: T_contra | None) -> bool:
        """Whether it is true of an object; None stands for one that is not there."""
        return self._test(obj)

    def says(self, obj: T_contra | None) -> str:
        """How things are with an object, in words, as far as this condition cares."""
        return self._says(obj)

    # The reflected operators are for type checkers: a condition of any object and one of pods are together one of
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
        """Refuse: ``a and b`` would quietly be ``b`` alone.

        Raises:
            TypeError: always.
        """
        raise TypeError("put conditions together with &, | and ~, and test one by calling it with an object")

    def __repr__(self) -> str:
        return f"WaitCondition({self.description})"


class ObjectWaitCondition(WaitCondition[T_contra], Generic[T_contra]):
    """A condition that is true only of objects that exist."""

    def __init__(
        self,
        test: Callable[[T_contra], bool],
        description: str,
        says: Callable[[T_contra | None], str] | None = None,
    ) -> None:
        """Make a condition.

        Args:
            test: Is given the object; it is not asked where there is none.
            description: What is true then, in words: ``the pod is ready``.
            says: Tells in words how things are with an object, true or not, for the message of a wait that ended.
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


def matches(test: Callable[[T], bool], description: str) -> ObjectWaitCondition[T]:
    """The object is there, and a function of one's own is true of it.

    Args:
        test: Is given the object. Where it is to be asked about objects that are not there, too, make a `WaitCondition`.
        description: What is true then, in words; for messages.
    """
    return ObjectWaitCondition(test, description)


def exists() -> ObjectWaitCondition[Object]:
    """There is such an object."""
    return ObjectWaitCondition(lambda _: True, "it exists")


def deleted(*, uid: str | None = None) -> WaitCondition[Object]:
    """There is no such object.

    Args:
        uid: It is this very object that is to be gone; another of the same name may have come in its place.
    """
    if uid is None:
        return WaitCondition(lambda obj: obj is None, "it is gone")
    return WaitCondition(
        lambda obj: obj is None or obj.metadata.uid != uid, f"the object with the uid {uid} is gone"
    )


def field_is(path: str, value: object) -> ObjectWaitCondition[Object]:
    """A field has a value.

    Args:
        path: With the names of the wire: ``status.phase``, ``spec.containers[0].image``,
            ``metadata.labels["example.com/name"]``.
        value: As the wire has it, so ``"500m"`` for a quantity; None for a field that is not there.

    Raises:
        InvalidValueError: if the path is none. Testing raises it too, if an object's type has no such field.
    """
    steps, wanted = parse_path(path), plain(value)

    def test(obj: Object) -> bool:
        return plain(value_at(obj, steps, strict=True)) == wanted

    def says(obj: Object | None) -> str:
        return _ABSENT if obj is None else f"{path} is {plain(value_at(obj, steps, strict=True))!r}"

    return ObjectWaitCondition(test, f"{path} is {wanted!r}", says)


def condition_is(type: str, status: str = "True") -> ObjectWaitCondition[Object]:
    """One of the object's ``status.conditions`` has a status.

    A condition that was noted for an older generation of the object says nothing about this one, and does not count.

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


def pod_running() -> ObjectWaitCondition[AnyPod]:
    """The pod's containers have been started."""
    return _named("the pod is running", field_is("status.phase", "Running"))


def pod_ready() -> ObjectWaitCondition[AnyPod]:
    """The pod can serve."""
    return _named("the pod is ready", condition_is("Ready"))


def pod_succeeded() -> ObjectWaitCondition[AnyPod]:
    """Every container of the pod has ended well, and none is started again."""
    return _named("the pod has succeeded", field_is("status.phase", "Succeeded"))


def pod_failed() -> ObjectWaitCondition[AnyPod]:
    """Every container of the pod has ended, one of them badly, and none is started again."""
    return _named("the pod has failed", field_is("status.phase", "Failed"))


def pod_finished() -> ObjectWaitCondition[AnyPod]:
    """The pod has ended, well or not."""
    return _named("the pod has finished", pod_succeeded() | pod_failed())


def deployment_available() -> ObjectWaitCondition[AnyDeployment]:
    """Enough of the deployment's pods can serve."""
    return _named("the deployment is available", condition_is("Available"))


def deployment_rolled_out() -> ObjectWaitCondition[AnyDeployment]:
    """Every pod of the deployment is of its newest template and can serve, and no other is left."""
    return _lacking("the deployment is rolled out", deployment_lacks)


def stateful_set_rolled_out() -> ObjectWaitCondition[AnyStatefulSet]:
    """Every pod of the stateful set is ready and, from its partition on, of the newest template."""
    return _lacking("the stateful set is rolled out", stateful_set_lacks)


def daemon_set_rolled_out() -> ObjectWaitCondition[AnyDaemonSet]:
    """On every node that the daemon set is for, its pod is of the newest template and can serve."""
    return _lacking("the daemon set is rolled out", daemon_set_lacks)


def job_complete() -> ObjectWaitCondition[AnyJob]:
    """The job has done what it is for."""
    return _named("the job is complete", condition_is("Complete"))


def job_failed() -> ObjectWaitCondition[AnyJob]:
    """The job has been given up."""
    return _named("the job has failed", condition_is("Failed"))


def job_finished() -> ObjectWaitCondition[AnyJob]:
    """The job has ended, well or not."""
    return _named("the job has finished", job_complete() | job_failed())


def crd_established() -> ObjectWaitCondition[AnyDefinition]:
    """The server has taken the definition's names, and serves its resource."""
    return _named(
        "the definition is established", condition_is("Established") & condition_is("NamesAccepted")
    )


def _named(description: str, condition: ObjectWaitCondition[T]) -> ObjectWaitCondition[T]:
    return ObjectWaitCondition(condition, description, condition.says)


def _lacking(description: str, lacks: Callable[[Object], str]) -> ObjectWaitCondition[Object]:
    """A condition that is true where nothing is missing.

    Args:
        description: What is true then.
        lacks: Says what is missing; empty for nothing.
    """

    def says(obj: Object | None) -> str:
        return _ABSENT if obj is None else lacks(obj) or description

    return ObjectWaitCondition(lambda obj: not lacks(obj), description, says)


def _both_true(one: WaitCondition[T], other: WaitCondition[T]) -> WaitCondition[T]:
    def test(obj: T | None) -> bool:
        return one(obj) and other(obj)

    needs_object = isinstance(one, ObjectWaitCondition) or isinstance(other, ObjectWaitCondition)
    return _made(test, *_words_of(one, "and", other), needs_object=needs_object)


def _one_true(one: WaitCondition[T], other: WaitCondition[T]) -> WaitCondition[T]:
    def test(obj: T | None) -> bool:
        return one(obj) or other(obj)

    needs_object = isinstance(one, ObjectWaitCondition) and isinstance(other, ObjectWaitCondition)
    return _made(test, *_words_of(one, "or", other), needs_object=needs_object)


def _made(
    test: Callable[[T | None], bool],
    description: str,
    says: Callable[[T | None], str],
    *,
    needs_object: bool,
) -> WaitCondition[T]:
    return (
        ObjectWaitCondition(test, description, says)
        if needs_object
        else WaitCondition(test, description, says)
    )


def _words_of(
    one: WaitCondition[T], how: str, other: WaitCondition[T]
) -> tuple[str, Callable[[T | None], str]]:
    """The description of two conditions together, and what they say."""
    return f"({one.description} {how} {other.description})", lambda obj: _both(one, other, obj)


def _both(one: WaitCondition[T], other: WaitCondition[T], obj: T | None) -> str:
    """What two conditions say, once if it is the same."""
    return "; ".join(dict.fromkeys((one.says(obj), other.says(obj))))


def _state_of(obj: Object | None) -> str:
    """How things are with an object of which nothing particular was asked."""
    if obj is None:
        return _ABSENT
    going = ", and is being deleted" if obj.metadata.deletion_timestamp is not None else ""
    phase = value_at(obj, _PHASE)
    return f"it is there{going}" + (f"; status.phase is {phase!r}" if phase else "")


def _condition(obj: Object, type_: str) -> dict[str, object] | None:
    """The condition of a type, as plain data."""
    conditions = plain(value_at(obj, _CONDITIONS))
    if not isinstance(conditions, list):
        return None
    for each in cast("list[object]", conditions):
        found = cast("dict[str, object]", each) if isinstance(each, dict) else {}
        if str(found.get("type")).casefold() == type_.casefold():
            return found
    return None


def _is_outdated(obj: Object, condition: dict[str, object]) -> bool:
    """Whether a condition is about an older generation, by its own word or by that of the status."""
    observed = condition.get("observedGeneration")
    if observed is None:
        observed = value_at(obj, _OBSERVED)
    return isinstance(observed, int) and observed < obj.metadata.generation


def _condition_words(obj: Object | None, type_: str) -> str:
    if obj is None:
        return _ABSENT
    found = _condition(obj, type_)
    if found is None:
        return f"it has no condition {type_} yet"
    why = ": ".join(str(found[key]) for key in ("reason", "message") if found.get(key))
    outdated = ", but noted for an older generation" if _is_outdated(obj, found) else ""
    return f"{type_} is {found.get('status')}{outdated}" + (f" ({why})" if why else "")
