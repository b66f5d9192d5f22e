"""What the generic write path must know of one resource."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Final, cast

from masthead._server.resources import names
from masthead._server.resources.table import BUILT_IN, CUSTOM, EVERYTHING, UPDATE, Dependents
from masthead._server.wire.plain import Plain, part

_ABSENT: Final[tuple[object, ...]] = (None, [])


@dataclass(frozen=True, slots=True)
class Strategy:
    """How the server treats the objects of one resource.

    Attributes:
        group: The resource's group; empty for the core group.
        resource: Its plural name.
        create_on_update: A PUT of an object that is not there creates it. Patches never do, but apply does.
        unconditional_update: A PUT need not name a resourceVersion.
        returns_deleted: A DELETE that takes effect at once answers with the object rather than with a Status.
        has_status: An update of the object itself keeps the stored status.
        drops_status: Create ignores a status.
        status_keeps: The fields of the metadata that a write to the status takes from the stored object.
            Spec and whatever else there is besides status and metadata are always taken from there.
        first_generation: The generation that create sets; None if it leaves what the client sent.
        watches: The paths whose changes raise the generation.
        name_rule: What names must be like; `name_errors` asks it.
        checks_generate_name: Whether generateName must pass the rule too, and not only what came of it.
        known_finalizers: Whether finalizers without a domain must be those that Kubernetes itself defines.
        rechecks: Which checks of the metadata an update of this kind repeats.
        graceful: Whether deletion waits for a grace period.
        dependents: What becomes of the objects that it owns when a DELETE does not say: they go too, they are
            orphaned, or nothing is asked of the garbage collector at all.
    """

    group: str
    resource: str
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

    def name_errors(self, name: str, *, is_prefix: bool, obj: Plain | None = None) -> list[str]:
        """Say what is wrong with a name.

        Args:
            name: The name, or the beginning of one that is to be generated.
            is_prefix: Whether it is only the beginning.
            obj: The object; the names of some kinds repeat what is in their spec.
        """
        return self.name_rule(name, is_prefix, obj or {})

    def next_generation(self, new: Plain, old: Plain) -> int:
        """The generation of an updated object; its status must be settled by then.

        A write to the status never raises it, and must not ask; one that comes through another subresource,
        such as scale, counts like any other.
        """
        before = part(old, "metadata").get("generation")
        generation = before if isinstance(before, int) else 0
        return generation + any(_changed(path, new, old) for path in self.watches)


@cache
def strategy_of(group: str, resource: str) -> Strategy:
    """Return how a resource is treated; one that is not built in is taken for a custom resource."""
    return Strategy(group, resource, **BUILT_IN.get((group, resource), CUSTOM))


def _changed(path: str, new: Plain, old: Plain) -> bool:
    """Whether what lies at a path differs."""
    if path == EVERYTHING:
        return not _alike(_without_metadata(new), _without_metadata(old))
    owner, dot, name = path.rpartition(".")
    if dot:
        # Only maps of strings are watched below the top; an empty one is as good as none.
        return (part(new, owner).get(name) or None) != (part(old, owner).get(name) or None)
    return not _alike(new.get(path), old.get(path))


def _without_metadata(obj: Plain) -> Plain:
    return {key: value for key, value in obj.items() if key != "metadata"}


def _alike(new: object, old: object) -> bool:
    """Compare as the server does: an empty list is as good as none."""
    if new == old:
        return True
    if isinstance(new, dict) and isinstance(old, dict):
        first, second = cast("Plain", new), cast("Plain", old)
        return all(_alike(first.get(key), second.get(key)) for key in first.keys() | second.keys())
    if isinstance(new, list) and isinstance(old, list):
        left, right = cast("list[object]", new), cast("list[object]", old)
        return len(left) == len(right) and all(map(_alike, left, right))
    return new in _ABSENT and old in _ABSENT
