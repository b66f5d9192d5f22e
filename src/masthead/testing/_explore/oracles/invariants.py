"""Invariants: rules of the operator's author about the objects of a cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final, TypeAlias, TypeVar

from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import ArgumentError
from masthead.testing._explore.trace import Violation

__all__ = ["ClusterObjects", "Invariant", "InvariantChecker", "always"]

T = TypeVar("T", bound=Object)
Check = TypeVar("Check", bound="Invariant")

_ALWAYS: Final = "__masthead_always__"
_MAX_VIOLATIONS: Final = 20


@set_module("masthead.testing")
class ClusterObjects:
    """The objects of a cluster at some moment, to read only: what an invariant gets."""

    def __init__(self) -> None:
        self._plain: dict[str, dict[str, Mapping[str, Any]]] = {}

    def get(self, kind: type[T], key: str) -> T | None:
        """Return an object; None if it does not exist.

        Args:
            kind: Its class.
            key: ``namespace/name``, or the name alone.
        """
        plain = self._plain.get(_resource_of(kind), {}).get(key)
        return None if plain is None else kind.from_dict(plain)

    def list(self, kind: type[T], namespace: str | None = None) -> list[T]:
        """Return the objects of a kind, by name.

        Args:
            kind: The class.
            namespace: Their namespace; None for all.
        """
        members = self._plain.get(_resource_of(kind), {})
        return [
            kind.from_dict(members[key])
            # A fixed order makes the messages of invariants equal in all runs.
            for key in sorted(members)
            if namespace is None or key.rpartition("/")[0] == namespace
        ]

    def note(self, change: str, resource: str, key: str, plain: Mapping[str, Any]) -> None:
        """Follow a change of the store.

        Args:
            change: ``ADDED``, ``MODIFIED`` or ``DELETED``.
            resource: The resource.
            key: The object.
            plain: Its content.
        """
        members = self._plain.setdefault(resource, {})
        if change == "DELETED":
            members.pop(key, None)
        else:
            members[key] = plain


Invariant: TypeAlias = Callable[[ClusterObjects], object]
"""Raises AssertionError, or returns False or a text, if something is wrong."""


@set_module("masthead.testing")
def always(check: Check) -> Check:
    """Check an invariant after every change of the store, not only when all is idle.

    ```python
    @always
    def one_primary(objects: ClusterObjects) -> None:
        assert len([pod for pod in objects.list(Pod) if pod.metadata.labels.get("role") == "primary"]) <= 1
    ```

    Args:
        check: The invariant.
    """
    setattr(check, _ALWAYS, True)
    return check


class InvariantChecker:
    """Checks the invariants of a run.

    Args:
        invariants: The invariants; with the mark of `always`, they are checked after every change.

    Attributes:
        objects: The objects at the moment.
        violations: The first violations of each invariant.
    """

    def __init__(self, invariants: Sequence[Invariant]) -> None:
        for invariant in invariants:
            if not callable(invariant):
                raise ArgumentError(
                    f"{invariant!r} is not an invariant: pass a function of the objects", value=invariant
                )
        # Intermediate states may be inconsistent, so only marked invariants apply to them.
        self._at_rest = [check for check in invariants if not hasattr(check, _ALWAYS)]
        self._always = [check for check in invariants if hasattr(check, _ALWAYS)]
        self.objects: ClusterObjects = ClusterObjects()
        self.violations: list[Violation] = []

    def note(self, change: str, resource: str, key: str, plain: Mapping[str, Any], *, revision: int, step: int) -> None:
        """Follow a change of the store, and check what must hold always; arguments as for `ClusterObjects.note`."""
        self.objects.note(change, resource, key, plain)
        self._check(self._always, revision, step, is_at_rest=False)

    def rest(self, revision: int, step: int) -> None:
        """Check what must hold when all is idle, and the operator has caught up."""
        self._check(self._at_rest, revision, step, is_at_rest=True)

    def _check(self, invariants: Iterable[Invariant], revision: int, step: int, *, is_at_rest: bool) -> None:
        for invariant in invariants:
            name = getattr(invariant, "__name__", None) or type(invariant).__name__
            # Later violations mostly follow from the first, and would only fill the record.
            known = any(violation.invariant == name for violation in self.violations)
            if known or len(self.violations) >= _MAX_VIOLATIONS:
                continue
            problem = _evaluate(invariant, self.objects)
            if problem:
                self.violations.append(Violation(name, problem, revision, step, is_at_rest))


def _evaluate(invariant: Invariant, objects: ClusterObjects) -> str:
    """Return why an invariant does not hold; empty if it does."""
    try:
        outcome = invariant(objects)
    except AssertionError as error:
        return str(error) or "an assertion failed"
    except Exception as error:  # noqa: BLE001 - code of the user
        # A check that crashes would otherwise hide violations.
        return f"{type(error).__name__}: {error}"
    if isinstance(outcome, str):
        return outcome
    # Checks by assertions return None, so only False counts.
    return "it returned False" if outcome is False else ""


def _resource_of(kind: type[Object]) -> str:
    resource, gvk = kind.RESOURCE, kind.GVK
    if resource is None:
        raise ArgumentError(f"{kind.__name__} is not a kind of objects", value=kind)
    return f"{resource.name}.{gvk.group}" if gvk.group else resource.name
