"""The facts of a registry strategy, and the fragments that the strategies of resources are made of."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final, Literal, TypeAlias, TypedDict, cast

from masthead._schema.constraints import same_value
from masthead_server.resources import names
from masthead_server.wire.plain import Plain, part

EVERYTHING: Final = "*"
"""Stands in `Strategy.watches` for all of an object but its metadata."""
EVERY_VALUE: Final = "**"
"""As `EVERYTHING`, for JSON without a Go type: an empty list differs from an absent one."""

SYSTEM_METADATA: Final = frozenset(
    {"deletionTimestamp", "generation", "selfLink", "labels", "annotations", "finalizers", "ownerReferences"}
)
"""The metadata that a write of the status leaves alone in most of the newer resources."""

ALL_METADATA: Final = SYSTEM_METADATA | {
    "name",
    "generateName",
    "namespace",
    "uid",
    "resourceVersion",
    "creationTimestamp",
    "deletionGracePeriodSeconds",
}
"""All of the metadata but managedFields."""

WHOLE: Final = "whole"
"""Stands in `Strategy.rechecks` for the validation of the whole metadata."""
UPDATE: Final = "update"
"""Stands in `Strategy.rechecks` for the validation of the changes of the metadata."""
Dependents: TypeAlias = Literal["delete", "orphan", "ignore"]


class Facts(TypedDict, total=False):
    """The fields of a `Strategy`, any of them; fragments of this type make up the strategies of resources."""

    create_on_update: bool
    unconditional_update: bool
    returns_deleted: bool
    has_status: bool
    drops_status: bool
    status_keeps: frozenset[str]
    first_generation: int | None
    watches: tuple[str, ...]
    name_rule: names.NameRule
    checks_generate_name: bool
    known_finalizers: bool
    rechecks: tuple[str, ...]
    graceful: bool
    dependents: Dependents


_NOTHING: Final[frozenset[str]] = frozenset()


def status(keeps: frozenset[str] = _NOTHING) -> Facts:
    """Return the facts of a resource with a status; a write of it keeps these fields of the metadata."""
    return {"has_status": True, "drops_status": True, "status_keeps": keeps}


def generation(*watched: str) -> Facts:
    """Return the facts of a resource whose generation begins with 1 and grows when one of these paths changes."""
    return {"first_generation": 1, "watches": watched}


SPEC_GENERATION: Final = generation("spec")
RETURNS_DELETED: Final[Facts] = {"returns_deleted": True}
CONDITIONAL_UPDATE: Final[Facts] = {"unconditional_update": False}
CREATE_ON_UPDATE: Final[Facts] = {"create_on_update": True}
WHOLE_THEN_UPDATE: Final[Facts] = {"rechecks": (WHOLE, UPDATE)}
UPDATE_THEN_WHOLE: Final[Facts] = {"rechecks": (UPDATE, WHOLE)}
WHOLE_ONLY: Final[Facts] = {"rechecks": (WHOLE,)}
ANY_FINALIZER: Final[Facts] = {"known_finalizers": False}
UNVALIDATED_METADATA: Final[Facts] = {
    "name_rule": names.as_url_part,
    "known_finalizers": False,
    "rechecks": (),
}
LONG_NAME: Final[Facts] = {"name_rule": names.as_long_name, "checks_generate_name": False}
ORPHANS_DEPENDENTS: Final[Facts] = {"dependents": "orphan"}
IGNORES_DEPENDENTS: Final[Facts] = {"dependents": "ignore"}
_ABSENT: Final[tuple[object, ...]] = (None, [])


@dataclass(frozen=True, slots=True)
class Strategy:
    """The facts of a registry strategy: how the generic write path treats the objects of one resource.

    The defaults are those of a plain built-in resource: named by a DNS subdomain, without status and generation,
    and updated without a resourceVersion if the writer leaves it out.

    Attributes:
        create_on_update: A PUT of an object that is not there creates it. Patches never do, but apply does.
        unconditional_update: A PUT need not name a resourceVersion.
        returns_deleted: An immediate DELETE answers with the object rather than with a Status.
        has_status: An update of the object itself keeps the stored status.
        drops_status: Create ignores a status.
        status_keeps: The fields of the metadata that a write to the status takes from the stored object.
            Spec and whatever else there is besides status and metadata are always taken from there.
        first_generation: The generation that create sets; None if it leaves what the client sent.
        watches: The paths whose changes raise the generation.
        name_rule: What names must be like; `name_errors` asks it.
        checks_generate_name: Whether generateName must pass the rule too, and not only what came of it.
        known_finalizers: Whether Kubernetes itself must define finalizers without a domain.
        rechecks: Which checks of the metadata an update of this kind repeats.
        graceful: Whether deletion waits for a grace period.
        dependents: What becomes of the objects that it owns when a DELETE does not say: they go too, they are
            orphaned, or nothing is asked of the garbage collector at all.
    """

    create_on_update: bool = False
    unconditional_update: bool = True
    returns_deleted: bool = False
    has_status: bool = False
    drops_status: bool = False
    status_keeps: frozenset[str] = frozenset()
    first_generation: int | None = None
    watches: tuple[str, ...] = ()
    name_rule: names.NameRule = names.as_subdomain
    checks_generate_name: bool = True
    known_finalizers: bool = True
    rechecks: tuple[str, ...] = (UPDATE,)
    graceful: bool = False
    dependents: Dependents = "delete"

    @classmethod
    def of(cls, *facts: Facts) -> Strategy:
        """Put a strategy together; a later fact overrides an earlier one."""
        merged: Facts = {}
        for fact in facts:
            merged.update(fact)
        return cls(**merged)

    def name_errors(self, name: str, *, is_prefix: bool, obj: Plain | None = None) -> list[str]:
        """Return the problems of a name.

        Args:
            name: The name, or the prefix of a generated name.
            is_prefix: Whether it is only the beginning.
            obj: The object; the names of some kinds repeat a field of their spec.
        """
        return self.name_rule(name, is_prefix, obj or {})

    def next_generation(self, new: Plain, old: Plain) -> int:
        """The generation of an updated object; its status must be final by then.

        A write to the status never raises it, and must not ask; a write through another subresource,
        such as scale, counts like any other.
        """
        # Objects that were stored before their kind had generations start at 0.
        before = part(old, "metadata").get("generation")
        generation = before if isinstance(before, int) else 0
        return generation + any(_differs(path, new, old) for path in self.watches)


def _differs(path: str, new: Plain, old: Plain) -> bool:
    """Whether what lies at a path differs."""
    # The status is no reason: the stored one is in both objects by now.
    if path == EVERYTHING:
        return not alike(_without_metadata(new), _without_metadata(old))
    if path == EVERY_VALUE:
        return not same_value(_without_metadata(new), _without_metadata(old))
    owner, dot, name = path.rpartition(".")
    if dot:
        # Only maps of strings are watched below the top; an empty one is as good as none.
        return (part(new, owner).get(name) or None) != (part(old, owner).get(name) or None)
    return not alike(new.get(path), old.get(path))


def _without_metadata(obj: Plain) -> Plain:
    return {key: value for key, value in obj.items() if key != "metadata"}


def alike(new: object, old: object) -> bool:
    """Compare as the server does: an empty list is as good as none."""
    # Nearly all parts of an update are equal, and Python compares them in C.
    if new == old:
        return True
    if isinstance(new, dict) and isinstance(old, dict):
        first, second = cast("Plain", new), cast("Plain", old)
        return all(alike(first.get(key), second.get(key)) for key in first.keys() | second.keys())
    if isinstance(new, list) and isinstance(old, list):
        left, right = cast("list[object]", new), cast("list[object]", old)
        return len(left) == len(right) and all(map(alike, left, right))
    return new in _ABSENT and old in _ABSENT
