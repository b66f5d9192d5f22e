"""Workloads from the schema of a custom resource."""

from __future__ import annotations

from collections import Counter
from random import Random
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

from masthead._module import set_module
from masthead.errors import ArgumentError
from masthead.testing._environment import definition_of
from masthead.testing._explore.generation.known_values import is_scale
from masthead.testing._explore.generation.object_states import read_definition
from masthead.testing._explore.generation.state_changes import (
    Path,
    StateChange,
    collect_values,
    find_changes,
    general_path,
    read_path,
)
from masthead.testing._explore.generation.user_actions import ChildActions, ObjectActions
from masthead.testing._explore.generation.value_generation import ValueGenerator
from masthead.testing._explore.workload import Step, Workload

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from masthead._meta.object import Object
    from masthead.testing._explore.generation.object_states import ObjectStates, State
    from masthead.testing._explore.generation.user_actions import Act

__all__ = ["GeneratedStep", "StepKind", "generate_workload"]

StepKind: TypeAlias = Literal[
    "create", "change", "scale", "suspect", "return", "refused", "delete", "recreate", "delete child", "edit child"
]

_PLAN: Final = (
    "change",
    "child",
    "recreate",
    "scale",
    "suspect",
    "change",
    "edit",
    "example",
    "refused",
    "pause",
    "change",
    "second",
    "edit",
    "suspect",
    "change",
    "edit",
    "child",
)
"""The groups of steps, the most telling first; a longer workload repeats them."""
_GROUP_SIZES: Final = {"scale": 2, "suspect": 2, "pause": 2, "second": 2}
_GOOD: Final = frozenset({"create", "change", "scale", "return", "recreate"})
"""The steps after which the operator has brought the cluster to the state of the object."""
_DISTURBING: Final = frozenset({"child", "edit", "refused", "second"})
"""The groups that end with another step."""
_MAX_STEPS: Final = 1_000
_MAX_TRIES: Final = 300
"""Changes of a state that are tried until one is valid."""


class GeneratedStep(Step):
    """A step of a generated workload.

    Attributes:
        kind: What the user does.
        state: The fields of the object after the step, if the server accepts it; None if it is deleted.
    """

    def __init__(self, name: str, act: Act, kind: StepKind, state: State | None) -> None:
        super().__init__(name, act)
        self.kind: StepKind = kind
        self.state: State | None = state


@set_module("masthead.testing")
def generate_workload(
    resource: type[Object] | Object | Mapping[str, object],
    *,
    examples: Sequence[Object | Mapping[str, object]] = (),
    seed: int = 0,
    steps: int = 20,
) -> Workload:
    """Generate what users do with a custom resource, and other clients with its children, from the schema.

    ::

        from masthead.testing import generate_workload

        workload = generate_workload(Website, seed=1, steps=10)  # explore(make_app, workload) runs it under faults
        print([step.name for step in workload.steps])  # ['create default/website-a', 'set spec.replicas to 2', ...]

    The steps create valid objects; change their fields one by one, to boundary and interior values; scale up and down;
    ask for what a cluster cannot satisfy, such as an image or a Secret that does not exist, and return to the last good
    state; send what the server refuses; delete objects and create them again under the same name, immediately and
    after a pause; delete and edit children. The same arguments give the same steps.

    Args:
        resource: The class of the custom resource, or its definition as an object or plain data.
        examples: Valid objects: the first is created first, and the values of all are used.
        seed: The source of randomness.
        steps: The number of steps.

    Returns:
        The workload, for `explore`. Its ``recovers`` has the steps after which states must be equal.

    Raises:
        ArgumentError: If an example is invalid, there is no valid object to begin with, or `steps` is not between 1 and
            1,000.
    """
    if not 1 <= steps <= _MAX_STEPS:
        raise ArgumentError(f"steps is {steps}; a workload has 1 to {_MAX_STEPS} steps", value=steps)
    builder = _WorkloadBuilder(read_definition(definition_of(resource)), examples, seed)
    return builder.build(steps)


class _WorkloadBuilder:
    """Builds the steps of a workload, from state to state."""

    def __init__(self, states: ObjectStates, examples: Sequence[Object | Mapping[str, object]], seed: int) -> None:
        self._states = states
        self._rng = Random(seed)
        self._generator = ValueGenerator(self._rng)
        found = [states.read_example(example) for example in examples]
        # Before normalization, because the author did not choose the defaults.
        self._known = collect_values(state for _, _, state in found)
        self._examples = [(name, states.normalize(state)) for name, _, state in found]
        self._first = found[0][2] if found else states.build_first(self._generator, self._rng)
        # The server stores defaults, so later changes start from them.
        self._state = states.normalize(self._first)
        name = (found[0][0] if found else "") or f"{states.kind.lower()}-a"
        namespace = ((found[0][1] if found else "") or "default") if states.is_namespaced else ""
        self._notes: list[str] = []
        self._object = ObjectActions(states, name, namespace, self._notes)
        self._second = ObjectActions(states, f"{name}-second", namespace, self._notes)
        self._children = ChildActions(str(states.resource.group_resource), self._object.key, self._notes)
        self._steps: list[GeneratedStep] = []
        self._recovers: list[tuple[int, int]] = []
        self._visits: Counter[Path] = Counter()
        self._counts: Counter[str] = Counter()

    def build(self, count: int) -> Workload:
        """Build a workload of so many steps."""
        self._add(f"create {self._object.key}", self._object.create(self._first), "create", self._state)
        builders: dict[str, Callable[[], bool]] = {
            "change": self._change,
            "child": self._delete_child,
            "edit": self._edit_child,
            "example": self._use_example,
            "pause": self._pause,
            "recreate": self._recreate,
            "refused": self._refused,
            "scale": self._scale,
            "second": self._second_object,
            "suspect": self._suspect,
        }
        for group in self._choose_groups(count - 1):
            self._counts[group] += 1
            # A group without a suitable field leaves room for a change.
            if not builders[group]():
                self._change()
        # Groups that are not possible for this kind are shorter than planned.
        while len(self._steps) < count:
            self._change()
        workload = Workload(self._steps[:count], recovers=[pair for pair in self._recovers if pair[1] <= count])
        workload.notes = self._notes
        return workload

    def _choose_groups(self, count: int) -> list[str]:
        """Choose groups that have so many steps together, in random order."""
        groups: list[str] = []
        number = 0
        while count > 0:
            group = _PLAN[number % len(_PLAN)]
            number += 1
            # A truncated group would lack the step that undoes the first.
            if (size := _GROUP_SIZES.get(group, 1)) <= count:
                groups.append(group)
                count -= size
        # A defect may need a certain kind of step after another kind.
        self._rng.shuffle(groups)
        ordered: list[str] = []
        for group in groups:
            place = len(ordered)
            # An invalid state follows a good one, so that the states before and after it can be compared.
            while group == "suspect" and place and ordered[place - 1] in _DISTURBING:
                place -= 1
            ordered.insert(place, group)
        return ordered

    def _add(self, name: str, act: Act, kind: StepKind, state: State | None) -> None:
        self._steps.append(GeneratedStep(name, act, kind, state))

    def _move(self, change: StateChange, kind: StepKind) -> None:
        """Add the step to another state, which is the present one from then on."""
        self._visits[general_path(change.path)] += 1
        self._state = self._states.normalize(change.apply(self._state))
        self._add(change.name, self._object.change(self._state), kind, self._state)

    def _change(self) -> bool:
        change = self._find_change(lambda change: not change.is_suspect and not change.is_violation)
        if change is None:
            # Every kind can be deleted and created, even without a field to change.
            return self._recreate()
        self._move(change, "change")
        return True

    def _scale(self) -> bool:
        # Up and back down; from the maximum, down and back up.
        change = self._find_change(lambda change: self._is_scale(change) and _is_above(change, self._state))
        change = change or self._find_change(self._is_scale)
        if change is None:
            return False
        before = self._state
        self._move(change, "scale")
        self._undo(change, before, "scale")
        return True

    def _undo(self, change: StateChange, before: State, kind: StepKind) -> None:
        """Add the step back to a state."""
        self._state = before
        name = StateChange(change.path, read_path(before, change.path)).name
        self._add(f"back: {name}", self._object.change(before), kind, before)

    def _suspect(self) -> bool:
        change = self._find_change(lambda change: change.is_suspect)
        if change is None:
            return False
        before, number = self._state, len(self._steps)
        self._move(change, "suspect")
        self._undo(change, before, "return")
        # An operator may repair a damaged child only when it reconciles the object the next time.
        if self._steps[number - 1].kind in _GOOD:
            self._recovers.append((number, number + 2))
        return True

    def _refused(self) -> bool:
        # Without all of the spec, every operator gets the same refusal.
        change = self._find_change(lambda change: change.is_violation and len(change.path) > 1, is_valid=False)
        if change is None:
            return False
        self._visits[general_path(change.path)] += 1
        refused = change.apply(self._state)
        self._add(f"{change.name} (refused)", self._object.change(refused), "refused", self._state)
        return True

    def _use_example(self) -> bool:
        """Add the step to the state of another example, whose fields differ together."""
        others = [
            (name, state)
            for name, state in self._examples
            # A transition rule may forbid the way to a valid state, such as for an immutable field.
            if state != self._state and not self._states.find_errors(state, self._state)
        ]
        if not others:
            return False
        name, self._state = self._rng.choice(others)
        self._add(f"use the state of example {name}", self._object.change(self._state), "change", self._state)
        return True

    def _recreate(self) -> bool:
        act = self._object.recreate(self._state)
        self._add(f"delete {self._object.key} and create it again at once", act, "recreate", self._state)
        return True

    def _pause(self) -> bool:
        self._add(f"delete {self._object.key}", self._object.delete(), "delete", None)
        self._add(f"create {self._object.key} again", self._object.create(self._state), "create", self._state)
        return True

    def _second_object(self) -> bool:
        self._add(f"create {self._second.key}", self._second.create(self._state), "create", self._state)
        self._add(f"delete {self._second.key}", self._second.delete(), "delete", self._state)
        return True

    def _delete_child(self) -> bool:
        number = self._counts["child"] - 1
        act = self._children.delete(number)
        self._add(f"another client deletes child {number + 1}", act, "delete child", self._state)
        return True

    def _edit_child(self) -> bool:
        number = self._counts["edit"] - 1
        self._add(
            f"another client makes edit {number + 1} of children",
            self._children.edit(number),
            "edit child",
            self._state,
        )
        return True

    def _find_change(self, is_wanted: Callable[[StateChange], bool], *, is_valid: bool = True) -> StateChange | None:
        """Return a valid change of the least changed field; None without one."""
        changes = [
            change
            for change in find_changes(self._states.schema, self._state, self._generator, self._known)
            if is_wanted(change)
        ]
        # Shuffle before the stable sort, so that ties come in random order.
        self._rng.shuffle(changes)
        changes.sort(key=lambda change: self._visits[general_path(change.path)])
        for change in changes[:_MAX_TRIES]:
            changed = change.apply(self._state)
            if bool(self._states.find_errors(changed, self._state)) is is_valid:
                continue
            # The server's defaults may undo the change.
            if not is_valid or self._states.normalize(changed) != self._state:
                return change
        return None

    def _is_scale(self, change: StateChange) -> bool:
        names = tuple(part for part in change.path if isinstance(part, str))
        # The scale subresource is certain; the name of a field is a guess.
        is_declared = bool(self._states.scale_path) and ".".join(names) == self._states.scale_path
        is_usable = isinstance(change.value, int) and not change.is_suspect and not change.is_violation
        return is_usable and (is_declared or is_scale(names))


def _is_above(change: StateChange, state: State) -> bool:
    """Whether a change makes a number larger."""
    current = read_path(state, change.path)
    return isinstance(change.value, int) and change.value > (current if isinstance(current, int) else 0)
