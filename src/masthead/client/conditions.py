"""What can be waited for: conditions, and how they are put together.

::

    await pods.wait_for("web", pod_ready() | pod_finished(), timeout=60)
    await deployments.wait_for("web", deployment_rolled_out() & condition_is("Available"))
    await jobs.wait_for("import", matches(lambda job: job.status.succeeded == 3, "3 pods are done"))

A condition is asked about an object, or about None where there is no such object. The ready-made ones look at objects
with and without types, and decide as ``kubectl wait`` and ``kubectl rollout status`` do.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Generic, TypeVar, cast, overload

from masthead.client.fieldpaths import parse_path, plain, value_at
from masthead.client.rollouts import daemon_set_lacks, deployment_lacks, stateful_set_lacks
from masthead.meta.object import Object

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "Condition",
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

T_contra = TypeVar("T_contra", bound=Object, contravariant=True)
T = TypeVar("T", bound=Object)

_ABSENT: Final = "there is no such object"
_CONDITIONS: Final = parse_path("status.conditions")
_OBSERVED: Final = parse_path("status.observedGeneration")
_PHASE: Final = parse_path("status.phase")


class Condition(Generic[T_contra]):
    """Something that may be true of an object, with words for it.

    ``a & b``, ``a | b`` and ``~a`` are conditions too. Calling one tests it; what a test of one's own raises comes
    out as it is.
    """

    def __init__(
        self,
        test: Callable[[T_contra | None], bool],
        description: str,
        *,
        says: Callable[[T_contra | None], str] | None = None,
    ) -> None:
        """Make a condition.

        Args:
            test: Is given the object, or None if there is none.
            description: What is true then, in words: ``the pod is ready``.
            says: Tells in words how things are with an object, true or not, for the message of a wait that ended.
        """
        self._test = test
        self._says = says or _state_of
        self.description: Final = description

    def __call__(self, obj: T_contra | None) -> bool:
        """Whether it is true of an object; None stands for one that is not there."""
        return self._test(obj)

    def says(self, obj: T_contra | None) -> str:
        """How things are with an object, in words, as far as this condition cares."""
        return self._says(obj)

    # Overloaded, because a condition for any object and one for pods together are one for pods, whichever comes first.
    @overload
    def __and__(self: Condition[Object], other: Condition[T]) -> Condition[T]: ...
    @overload
    def __and__(self, other: Condition[T_contra]) -> Condition[T_contra]: ...
    def __and__(self, other: Condition[Any]) -> Condition[Any]:
        return Condition(
            lambda obj: self(obj) and other(obj),
            f"({self.description} and {other.description})",
            says=lambda obj: _both(self, other, obj),
        )

    @overload
    def __or__(self: Condition[Object], other: Condition[T]) -> Condition[T]: ...
    @overload
    def __or__(self, other: Condition[T_contra]) -> Condition[T_contra]: ...
    def __or__(self, other: Condition[Any]) -> Condition[Any]:
        return Condition(
            lambda obj: self(obj) or other(obj),
            f"({self.description} or {other.description})",
            says=lambda obj: _both(self, other, obj),
        )

    def __invert__(self: Condition[T]) -> Condition[T]:
        return Condition(lambda obj: not self(obj), f"not ({self.description})", says=self.says)

    def __bool__(self) -> bool:
        """Refuse: ``a and b`` would quietly be ``b`` alone.

        Raises:
            TypeError: always.
        """
        raise TypeError("put conditions together with &, | and ~, and test one by calling it with an object")

    def __repr__(self) -> str:
        return f"Condition({self.description})"


def matches(test: Callable[[T], bool], description: str) -> Condition[T]:
    """The object is there, and a function of one's own is true of it.

    Args:
        test: Is given the object. Where it is to be asked about objects that are not there, too, make a `Condition`.
        description: What is true then, in words; for messages.
    """
    return Condition(lambda obj: obj is not None and test(obj), description)


def exists() -> Condition[Object]:
    """There is such an object."""
    return Condition(lambda obj: obj is not None, "it exists")


def deleted(*, uid: str | None = None) -> Condition[Object]:
    """There is no such object.

    Args:
        uid: It is this very object that is to be gone; another of the same name may have come in its place.
    """
    if uid is None:
        return Condition(lambda obj: obj is None, "it is gone")
    return Condition(
        lambda obj: obj is None or obj.metadata.uid != uid, f"the object with the uid {uid} is gone"
    )


def field_is(path: str, value: object) -> Condition[Object]:
    """A field has a value.

    Args:
        path: With the names of the wire: ``status.phase``, ``spec.containers[0].image``,
            ``metadata.labels["example.com/name"]``.
        value: As the wire has it, so ``"500m"`` for a quantity; None for a field that is not there.

    Raises:
        InvalidValueError: if the path is none. Testing raises it too, if an object's type has no such field.
    """
    steps, wanted = parse_path(path), plain(value)

    def test(obj: Object | None) -> bool:
        return obj is not None and plain(value_at(obj, steps, strict=True)) == wanted

    def says(obj: Object | None) -> str:
        return _ABSENT if obj is None else f"{path} is {plain(value_at(obj, steps, strict=True))!r}"

    return Condition(test, f"{path} is {wanted!r}", says=says)


def condition_is(type: str, status: str = "True") -> Condition[Object]:
    """One of the object's ``status.conditions`` has a status.

    A condition that was noted for an older generation of the object says nothing about this one, and does not count.

    Args:
        type: Such as ``Ready``.
        status: ``True``, ``False`` or ``Unknown``.
    """

    def test(obj: Object | None) -> bool:
        found = None if obj is None else _condition(obj, type)
        return (
            obj is not None
            and found is not None
            and str(found.get("status")).casefold() == status.casefold()
            and not _is_outdated(obj, found)
        )

    return Condition(test, f"{type} is {status}", says=lambda obj: _condition_words(obj, type))


def pod_running() -> Condition[Object]:
    """The pod's containers have been started."""
    return _named("the pod is running", field_is("status.phase", "Running"))


def pod_ready() -> Condition[Object]:
    """The pod can serve."""
    return _named("the pod is ready", condition_is("Ready"))


def pod_succeeded() -> Condition[Object]:
    """Every container of the pod has ended well, and none is started again."""
    return _named("the pod has succeeded", field_is("status.phase", "Succeeded"))


def pod_failed() -> Condition[Object]:
    """Every container of the pod has ended, one of them badly, and none is started again."""
    return _named("the pod has failed", field_is("status.phase", "Failed"))


def pod_finished() -> Condition[Object]:
    """The pod has ended, well or not."""
    return _named("the pod has finished", pod_succeeded() | pod_failed())


def deployment_available() -> Condition[Object]:
    """Enough of the deployment's pods can serve."""
    return _named("the deployment is available", condition_is("Available"))


def deployment_rolled_out() -> Condition[Object]:
    """Every pod of the deployment is of its newest template and can serve, and no other is left."""
    return _lacking("the deployment is rolled out", deployment_lacks)


def stateful_set_rolled_out() -> Condition[Object]:
    """Every pod of the stateful set is ready and, from its partition on, of the newest template."""
    return _lacking("the stateful set is rolled out", stateful_set_lacks)


def daemon_set_rolled_out() -> Condition[Object]:
    """On every node that the daemon set is for, its pod is of the newest template and can serve."""
    return _lacking("the daemon set is rolled out", daemon_set_lacks)


def job_complete() -> Condition[Object]:
    """The job has done what it is for."""
    return _named("the job is complete", condition_is("Complete"))


def job_failed() -> Condition[Object]:
    """The job has been given up."""
    return _named("the job has failed", condition_is("Failed"))


def job_finished() -> Condition[Object]:
    """The job has ended, well or not."""
    return _named("the job has finished", job_complete() | job_failed())


def crd_established() -> Condition[Object]:
    """The server has taken the definition's names, and serves its resource."""
    return _named(
        "the definition is established", condition_is("Established") & condition_is("NamesAccepted")
    )


def _named(description: str, condition: Condition[Object]) -> Condition[Object]:
    return Condition(condition, description, says=condition.says)


def _lacking(description: str, lacks: Callable[[Object], str]) -> Condition[Object]:
    """A condition that is true where nothing is missing.

    Args:
        description: What is true then.
        lacks: Says what is missing; empty for nothing.
    """

    def says(obj: Object | None) -> str:
        return _ABSENT if obj is None else lacks(obj) or description

    return Condition(lambda obj: obj is not None and not lacks(obj), description, says=says)


def _both(one: Condition[T], other: Condition[T], obj: T | None) -> str:
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
