"""Scripts of scenarios: what a seed stands for, before anything happens.

A scenario is plain data. Its repr is Python that recreates it, so that a failing one can be read, minimised by hand,
and played again.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from random import Random
from typing import TYPE_CHECKING, Final, Literal, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

NAMESPACES: Final = ("default", "kube-public", "kube-system")
"""The namespaces of every new server."""
COLORS: Final = ("red", "blue", "green")
MATCHED: Final = "red"
"""The color that every selector selects."""
SELECTORS: Final = ("", "", f"color={MATCHED}", "color in (red,blue)")

Resource: TypeAlias = Literal["configmaps", "pods"]
Hold: TypeAlias = Literal["lazy", "eager", "compact"]


@dataclass(frozen=True)
class Handler:
    """How a handler behaves.

    Attributes:
        name: Its name.
        takes: How many seconds each of its calls takes; 0 for a plain function.
        fails_every: Each so-manieth call raises; 0 for none.
        resync: Its resync period.
    """

    name: str
    takes: float = 0.0
    fails_every: int = 0
    resync: float | None = None


@dataclass(frozen=True)
class Informer:
    """How an informer is made."""

    handlers: tuple[Handler, ...] = (Handler("first"),)
    namespaces: tuple[str, ...] = ()
    selector: str = ""
    hold: Hold = "lazy"
    is_delta_fifo: bool = False
    page_size: int = 0
    watch_list: bool = True
    buffer_limit: int = 1000
    resync: float = 0.0
    stall_after: float | None = None


@dataclass(frozen=True)
class Put:
    """Create an object, or update it if it exists."""

    namespace: str
    name: str
    color: str


@dataclass(frozen=True)
class Delete:
    """Delete an object, if it exists."""

    namespace: str
    name: str


@dataclass(frozen=True)
class Recreate:
    """Delete an object, and create another of the same name at once."""

    namespace: str
    name: str
    color: str


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
class Restart:
    """The server stops, and comes back on the same port.

    One that loses its data is away for a while: if another took its place between the response of a list and the watch
    after it, that could not be detected.
    """

    keeps_data: bool
    down: float = 0.5
    has_watch_list: bool = True
    crashes: bool = False


@dataclass(frozen=True)
class Wait:
    """Time passes."""

    seconds: float


@dataclass(frozen=True)
class FallAsleep:
    """Suspend the machine: time passes, and nothing runs meanwhile."""

    seconds: float


@dataclass(frozen=True)
class SetClock:
    """The server's clock is set forward, or back."""

    seconds: float


@dataclass(frozen=True)
class Join:
    """Another handler comes."""

    informer: int
    handler: Handler


@dataclass(frozen=True)
class Leave:
    """A handler goes."""

    informer: int
    handler: str


@dataclass(frozen=True)
class AddIndex:
    """An index is added."""

    informer: int


Step: TypeAlias = (
    "Put | Delete | Recreate | Fail | Heal | Compact | Restart | Wait | FallAsleep | SetClock | Join | Leave | AddIndex"
)


@dataclass(frozen=True)
class Scenario:
    """One scenario.

    Attributes:
        seed: For what is left to chance while it is played: delays, and uids.
        informers: Who watches.
        before: What is there, or goes wrong, before they start.
        steps: What happens then, one after the other.
        resource: What is watched.
        has_watch_list: Whether the server knows watches that begin with the state.
    """

    seed: int
    informers: tuple[Informer, ...]
    before: tuple[Step, ...] = ()
    steps: tuple[Step, ...] = ()
    resource: Resource = "configmaps"
    has_watch_list: bool = True

    @property
    def needs_file(self) -> bool:
        """Whether the server has to keep its objects in a file."""
        return any(isinstance(step, Restart) and step.keeps_data for step in self.steps)

    def __str__(self) -> str:
        def rows(items: Sequence[object]) -> str:
            return "".join(f"\n        {item!r}," for item in items)

        return (
            f"Scenario(\n    seed={self.seed},\n    resource={self.resource!r},\n"
            f"    has_watch_list={self.has_watch_list},\n"
            f"    informers=({rows(self.informers)}\n    ),\n    before=({rows(self.before)}\n    ),\n"
            f"    steps=({rows(self.steps)}\n    ),\n)"
        )


def scenario_of(seed: int) -> Scenario:
    """The scenario of a seed."""
    chance = Random(seed)
    resource: Resource = "pods" if chance.random() < 0.2 else "configmaps"
    informers = tuple(_informer(chance) for _ in range(chance.choice((1, 1, 2))))
    before = tuple(_write(chance) for _ in range(chance.randint(0, 5)))
    if chance.random() < 0.3:
        before = (*before, _fault(chance))
    steps = tuple(_step(chance, number, len(informers)) for number in range(chance.randint(6, 22)))
    return Scenario(
        seed=seed,
        informers=informers,
        before=before,
        steps=_with_partings(chance, informers, steps),
        resource=resource,
        has_watch_list=chance.random() < 0.8,
    )


def shrunk(scenario: Scenario, is_failing: Callable[[Scenario], bool], attempts: int = 60) -> Scenario:
    """A smaller scenario that fails as well, found by leaving out one step after the other."""
    for part in ("steps", "before", "informers"):
        number = 0
        while number < len(items := getattr(scenario, part)) and attempts:
            smaller = replace(scenario, **{part: items[:number] + items[number + 1 :]})
            attempts -= 1
            if smaller.informers and is_failing(smaller):
                scenario = smaller
            else:
                number += 1
    return scenario


def _informer(chance: Random) -> Informer:
    namespaces = tuple(chance.sample(NAMESPACES, k=chance.choice((0, 0, 0, 1, 2))))
    resync = chance.choice((0.0, 0.0, 0.0, 30.0))
    return Informer(
        handlers=tuple(_handler(chance, f"h{number}") for number in range(chance.randint(1, 2))),
        namespaces=namespaces,
        selector=chance.choice(SELECTORS),
        hold=chance.choice(("lazy", "lazy", "eager", "compact")),
        is_delta_fifo=len(namespaces) < 2 and chance.random() < 0.15,
        page_size=chance.choice((0, 0, 1, 2, 3)),
        watch_list=chance.random() < 0.75,
        buffer_limit=chance.choice((1000, 1000, 1, 3)),
        resync=resync,
        stall_after=chance.choice((None, None, None, 20.0)),
    )


def _handler(chance: Random, name: str) -> Handler:
    return Handler(
        name,
        takes=chance.choice((0.0, 0.0, 0.0, 0.05, 1.5)),
        fails_every=chance.choice((0, 0, 0, 2, 3)),
        resync=chance.choice((None, None, 0.0)),
    )


def _write(chance: Random) -> Step:
    namespace, name = chance.choice(NAMESPACES), chance.choice("abcde")
    roll = chance.random()
    if roll < 0.2:
        return Delete(namespace, name)
    make = Recreate if roll < 0.3 else Put
    return make(namespace, name, chance.choice(COLORS))


_FAULTS: Final[Mapping[str, Callable[[Random], dict[str, object]]]] = {
    "drop_watch": lambda chance: {"after": chance.randint(0, 4)},
    "cut_watch": lambda chance: {"after": chance.randint(0, 4)},
    "silence_watch": lambda chance: {"after": chance.randint(0, 4)},
    "expire_watch": lambda chance: {"after": chance.randint(0, 4)},
    "fail": lambda chance: {
        "code": chance.choice((403, 404, 429, 500, 503)),
        "verb": chance.choice(("list", "watch", "read")),
    },
    "throttle": lambda chance: {"retry_after": chance.choice((0, 1, 7, 30)), "verb": "read"},
    "expire": lambda _: {},
    "too_large_version": lambda _: {},
    "hold_bookmarks": lambda chance: {"times": chance.choice((None, 1, 2))},
    "repeat_bookmarks": lambda chance: {"count": chance.randint(2, 3), "times": None},
    "stale_lists": lambda chance: {"by": chance.randint(1, 6), "times": None},
}
"""The faults, with their random arguments."""


def _fault(chance: Random) -> Fail:
    name = chance.choice(tuple(_FAULTS))
    how: dict[str, object] = {"times": chance.choice((1, 1, 2, 4)), **_FAULTS[name](chance)}
    if chance.random() < 0.15:
        how["namespace"] = chance.choice(NAMESPACES)
    return Fail(name, how)


def _step(chance: Random, number: int, informers: int) -> Step:
    roll = chance.random()
    if roll < 0.45:
        return _write(chance)
    if roll < 0.66:
        return _fault(chance)
    if roll < 0.82:
        return Wait(chance.choice((0.0, 0.1, 1.0, 3.0, 12.0, 65.0, 100.0, 650.0)))
    rare: Sequence[Step] = (
        Compact(),
        Compact(),
        _restart(chance, keeps_data=True),
        _restart(chance, keeps_data=False),
        FallAsleep(chance.choice((5.0, 200.0, 7200.0))),
        SetClock(chance.choice((-86400.0, -40.0, 40.0, 86400.0))),
        Heal(),
        Join(chance.randrange(informers), _handler(chance, f"late{number}")),
        Join(chance.randrange(informers), _handler(chance, f"late{number}")),
        AddIndex(chance.randrange(informers)),
    )
    return chance.choice(rare)


def _restart(chance: Random, *, keeps_data: bool) -> Restart:
    return Restart(
        keeps_data=keeps_data,
        down=chance.choice((0.0 if keeps_data else 0.5, 2.0, 40.0)),
        has_watch_list=chance.random() < 0.9,
        crashes=chance.random() < 0.5,
    )


def _with_partings(chance: Random, informers: Sequence[Informer], steps: Sequence[Step]) -> tuple[Step, ...]:
    """Let some of the handlers leave again, behind the step with which they came."""
    parted = list(steps)
    for number, step in enumerate(steps):
        if isinstance(step, Join) and chance.random() < 0.4:
            parted.insert(chance.randint(number + 1, len(parted)), Leave(step.informer, step.handler.name))
    if chance.random() < 0.2:
        first = chance.randrange(len(informers))
        parted.insert(chance.randint(0, len(parted)), Leave(first, informers[first].handlers[0].name))
    return tuple(parted)
