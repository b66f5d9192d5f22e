"""Scripts of scenarios for controllers: what a seed stands for, before anything happens.

A scenario is plain data. Its repr is Python that recreates it, so that a failing one can be read and played again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

NAMESPACES: Final = ("default", "kube-public")
NAMES: Final = ("a", "b", "c")
COLORS: Final = ("red", "blue", "green")
SECRETS: Final = ("", "key", "door")

Style: TypeAlias = Literal["apply", "update", "generate"]
"""How copies are written: applied; created and updated; or created with generated names, and patched."""
Mishap: TypeAlias = Literal[
    "race",
    "stubborn",
    "raise first",
    "raise last",
    "raise temporary",
    "hang",
    "slow",
    "map",
    "cleanup",
    "cancel",
]
"""What goes wrong in the operator's own code, or while it runs.

Of those that need a word: in a ``race``, others write what the operator is about to write; a ``stubborn`` reconcile
hangs, and takes a while to end when it is cancelled; ``map`` and ``cleanup`` raise there.
"""


@dataclass(frozen=True)
class Operator:
    """How the operator is made, and runs.

    Attributes:
        style: How it writes.
        workers: How many objects it reconciles at once.
        replicas: How many replicas there are at first.
        elects: Whether replicas elect a leader; if not, there is never more than one.
        in_threads: Whether the second controller is a plain function.
        requeue: After how many seconds objects are reconciled again; 0 for never.
        resync: After how many seconds objects are resynced; 0 for never.
        ignores_own: Whether its own writes do not reconcile objects again.
    """

    style: Style = "apply"
    workers: int = 1
    replicas: int = 1
    elects: bool = False
    in_threads: bool = False
    requeue: float = 0.0
    resync: float = 0.0
    ignores_own: bool = False


@dataclass(frozen=True)
class PutPlot:
    """Create a plot, or change it."""

    namespace: str
    name: str
    color: str
    copies: int
    secret: str = ""


@dataclass(frozen=True)
class DeletePlot:
    """Delete a plot, if it exists."""

    namespace: str
    name: str


@dataclass(frozen=True)
class RecreatePlot:
    """Delete a plot, wait until it is gone or for a while, and create another of the same name."""

    namespace: str
    name: str
    color: str
    copies: int


@dataclass(frozen=True)
class PutSecret:
    """Create a secret, or change it."""

    namespace: str
    name: str
    value: str


@dataclass(frozen=True)
class DeleteSecret:
    """Delete a secret, if it exists."""

    namespace: str
    name: str


@dataclass(frozen=True)
class Meddle:
    """Do something to an owned object.

    Attributes:
        how: ``delete`` it; ``edit`` what the operator decides; ``label`` it; ``steal`` the field by an apply;
            ``orphan`` it.
        which: Which one, of those that there are.
    """

    how: Literal["delete", "edit", "label", "steal", "orphan"]
    which: int


@dataclass(frozen=True)
class EditStatus:
    """Write the status of a plot, as another controller would."""

    namespace: str
    name: str
    copies: int


@dataclass(frozen=True)
class Fail:
    """Inject a fault: a method of `masthead.server.Faults`, and its arguments."""

    fault: str
    how: Mapping[str, object] = field(default_factory=dict[str, object])


@dataclass(frozen=True)
class Heal:
    """Remove all faults."""


@dataclass(frozen=True)
class Compact:
    """The server forgets the past."""


@dataclass(frozen=True)
class BreakWatches:
    """The connections of all watches break."""


@dataclass(frozen=True)
class RestartServer:
    """The server stops, and comes back with its data."""

    down: float


@dataclass(frozen=True)
class Misbehave:
    """The operator's own code goes wrong the next time."""

    mishap: Mishap


@dataclass(frozen=True)
class StartReplica:
    """Another replica starts."""


@dataclass(frozen=True)
class StopReplica:
    """A replica stops gracefully."""

    which: int


@dataclass(frozen=True)
class CrashReplica:
    """A replica is killed."""

    which: int


@dataclass(frozen=True)
class CutOff:
    """A replica cannot send requests for a while; its watches stay open."""

    which: int
    seconds: float


@dataclass(frozen=True)
class PauseReplica:
    """A replica is suspended for a while."""

    which: int
    seconds: float


@dataclass(frozen=True)
class Wait:
    """Time passes."""

    seconds: float


Step: TypeAlias = (
    PutPlot
    | DeletePlot
    | RecreatePlot
    | PutSecret
    | DeleteSecret
    | Meddle
    | EditStatus
    | Fail
    | Heal
    | Compact
    | BreakWatches
    | RestartServer
    | Misbehave
    | StartReplica
    | StopReplica
    | CrashReplica
    | CutOff
    | PauseReplica
    | Wait
)


@dataclass(frozen=True)
class ControllerScenario:
    """One scenario.

    Attributes:
        seed: For what is left to chance while it is played: delays, and uids.
        operator: Who reconciles.
        before: What is there before it starts.
        steps: What happens then, one after the other.
    """

    seed: int
    operator: Operator
    before: tuple[Step, ...] = ()
    steps: tuple[Step, ...] = ()

    @property
    def needs_file(self) -> bool:
        """Whether the server has to keep its objects in a file."""
        return any(isinstance(step, RestartServer) for step in self.steps)

    @property
    def is_exact(self) -> bool:
        """Whether the operator always knows what it has written: no response is lost, no other process has written."""
        unclear = StartReplica | StopReplica | CrashReplica | PauseReplica | CutOff | RestartServer
        return not self.operator.elects and not any(
            isinstance(step, unclear)
            or (isinstance(step, Fail) and step.fault in {"lose_response", "delay"})
            or (isinstance(step, Misbehave) and step.mishap in {"hang", "stubborn"})
            or (isinstance(step, Meddle) and step.how == "orphan")
            for step in self.steps
        )

    def __str__(self) -> str:
        def rows(items: Sequence[object]) -> str:
            return "".join(f"\n        {item!r}," for item in items)

        return (
            f"ControllerScenario(\n    seed={self.seed},\n    operator={self.operator!r},\n"
            f"    before=({rows(self.before)}\n    ),\n    steps=({rows(self.steps)}\n    ),\n)"
        )


def scenario_of(seed: int) -> ControllerScenario:
    """The scenario of a seed."""
    chance = Random(seed)
    operator = replace(_operator(chance), ignores_own=bool(seed % 2))
    before = tuple(_write(chance) for _ in range(chance.randint(0, 4)))
    steps = [step for _ in range(chance.randint(4, 14)) for step in _steps(chance, operator)]
    return ControllerScenario(seed, operator, before, tuple(steps))


def shrunk(
    scenario: ControllerScenario, is_failing: Callable[[ControllerScenario], bool], attempts: int = 60
) -> ControllerScenario:
    """A smaller scenario that fails as well, found by leaving out one step after the other."""
    for part in ("steps", "before"):
        number = 0
        while number < len(items := getattr(scenario, part)) and attempts:
            smaller = replace(scenario, **{part: items[:number] + items[number + 1 :]})
            attempts -= 1
            if is_failing(smaller):
                scenario = smaller
            else:
                number += 1
    return scenario


def _operator(chance: Random) -> Operator:
    elects = chance.random() < 0.4
    return Operator(
        style=chance.choice(("apply", "apply", "update", "generate")),
        workers=chance.choice((1, 2, 4)),
        replicas=chance.choice((1, 2, 3)) if elects else 1,
        elects=elects,
        in_threads=chance.random() < 0.2,
        requeue=chance.choice((0.0, 0.0, 0.0, 7.0, 120.0)),
        resync=chance.choice((0.0, 0.0, 0.0, 45.0)),
    )


def _place(chance: Random) -> tuple[str, str]:
    return chance.choice(NAMESPACES), chance.choice(NAMES)


def _write(chance: Random) -> Step:
    namespace, name = _place(chance)
    roll = chance.random()
    if roll < 0.42:
        return PutPlot(namespace, name, chance.choice(COLORS), chance.randint(0, 3), chance.choice(SECRETS))
    if roll < 0.52:
        return DeletePlot(namespace, name)
    if roll < 0.60:
        return RecreatePlot(namespace, name, chance.choice(COLORS), chance.randint(0, 3))
    if roll < 0.70:
        return PutSecret(namespace, chance.choice(SECRETS[1:]), chance.choice(COLORS))
    if roll < 0.76:
        return DeleteSecret(namespace, chance.choice(SECRETS[1:]))
    if roll < 0.81:
        return EditStatus(namespace, name, chance.randint(0, 3))
    return Meddle(chance.choice(("delete", "edit", "label", "steal", "orphan")), chance.randrange(10))


_RESOURCES: Final = ("plots", "plots", "configmaps", "configmaps", "secrets", "")

_FAULTS: Final[Mapping[str, Callable[[Random], dict[str, object]]]] = {
    "drop_watch": lambda chance: {"after": chance.randint(0, 4)},
    "cut_watch": lambda chance: {"after": chance.randint(0, 4)},
    "silence_watch": lambda chance: {"after": chance.randint(0, 4)},
    "expire_watch": lambda chance: {"after": chance.randint(0, 4)},
    "fail": lambda chance: {
        "code": chance.choice((403, 429, 500, 503)),
        "verb": chance.choice(("list", "watch", "read", "write", "patch", "create", "delete", "update")),
    },
    "throttle": lambda chance: {
        "retry_after": chance.choice((0, 1, 7)),
        "verb": chance.choice(("read", "write")),
    },
    "conflict": lambda _: {},
    "delay": lambda chance: {
        "seconds": chance.choice((0.2, 3.0, 25.0, 90.0)),
        "verb": chance.choice(("write", "read")),
    },
    "lose_response": lambda _: {},
    "expire": lambda _: {},
    "too_large_version": lambda _: {},
    "hold_bookmarks": lambda chance: {"times": chance.choice((None, 1, 2))},
    "stale_lists": lambda chance: {"by": chance.randint(1, 6), "times": None},
}
"""The faults, with their random arguments."""


def _fault(chance: Random) -> Fail:
    name = chance.choice(tuple(_FAULTS))
    how: dict[str, object] = {"times": chance.choice((1, 1, 2, 4)), **_FAULTS[name](chance)}
    if resource := chance.choice(_RESOURCES):
        how["resource"] = resource
    return Fail(name, how)


def _steps(chance: Random, operator: Operator) -> Sequence[Step]:
    """What happens next: one step, or several that are worse together."""
    if chance.random() > 0.15:
        return [_step(chance, operator)]
    namespace, name = _place(chance)
    put = PutPlot(namespace, name, chance.choice(COLORS), chance.randint(1, 3), chance.choice(SECRETS))
    shown = PutPlot(namespace, name, chance.choice(COLORS), chance.randint(1, 3), "key")
    secret, pause = PutSecret(namespace, "key", chance.choice(COLORS)), Wait(chance.choice((0.05, 1.0)))
    silent = Fail(
        "silence_watch",
        {"resource": chance.choice(("configmaps", "configmaps", "plots")), "after": chance.randint(1, 9)},
    )
    late = Fail("delay", {"seconds": 20.0, "verb": "watch", "resource": "configmaps", "times": 2})
    anew: list[Step] = [StopReplica(0), StopReplica(0), StopReplica(0), silent, StartReplica()]
    other = replace(put, color="gold", copies=chance.randint(1, 3))
    broken: dict[str, object] = {"resource": "configmaps", "after": chance.randint(0, 3)}
    together: Sequence[Sequence[Step]] = (
        [secret, shown, pause, Misbehave("map"), DeleteSecret(namespace, "key")],
        [shown, pause, Misbehave("map"), PutSecret(namespace, "key", "other")],
        [put, pause, Misbehave("map"), DeletePlot(namespace, name)],
        [put, pause, Misbehave("cleanup"), DeletePlot(namespace, name)],
        [put, pause, Fail("lose_response", {"resource": "plots"}), DeletePlot(namespace, name)],
        [
            put,
            pause,
            Fail("expire_watch", broken),
            Compact(),
            Misbehave("race"),
            replace(put, color="gold"),
        ],
        [put, pause, Fail("silence_watch", broken), Misbehave("race"), replace(put, copies=2)],
        [Misbehave("stubborn"), put, pause, StopReplica(0), StartReplica()],
        [put, pause, *anew, pause, other, Wait(65.0), put],
        [put, pause, late, BreakWatches(), Wait(4.0), Misbehave("race"), other, pause, Compact(), Wait(30.0)],
    )
    return chance.choice(together)


def _step(chance: Random, operator: Operator) -> Step:
    roll = chance.random()
    if roll < 0.45:
        return _write(chance)
    if roll < 0.62:
        return _fault(chance)
    if roll < 0.74:
        return Wait(chance.choice((0.0, 0.05, 1.0, 3.0, 20.0, 65.0, 400.0)))
    if roll < 0.84:
        return Misbehave(
            chance.choice(
                (
                    "raise first",
                    "raise last",
                    "raise temporary",
                    "hang",
                    "slow",
                    "race",
                    "stubborn",
                    "map",
                    "cleanup",
                    "cancel",
                )
            )
        )
    which = chance.randrange(3)
    rare: Sequence[Step] = (
        Compact(),
        BreakWatches(),
        Heal(),
        RestartServer(chance.choice((0.0, 2.0, 40.0))),
        CrashReplica(which),
        CrashReplica(which),
        StopReplica(which),
        StartReplica(),
        CutOff(which, chance.choice((1.0, 25.0, 80.0))),
        PauseReplica(which, chance.choice((1.0, 20.0, 90.0))) if operator.elects else Compact(),
    )
    return chance.choice(rare)
