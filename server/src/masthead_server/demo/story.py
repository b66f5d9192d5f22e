"""The plot: which chapters there are, what happens in each, and when. Pure."""

from __future__ import annotations

import random
from dataclasses import dataclass
from enum import Enum
from typing import Final

APPS: Final[tuple[str, ...]] = ("web", "api", "cart")
NODES: Final[tuple[str, ...]] = ("node-1", "node-2", "node-3", "node-4")
REPLICAS: Final = 4
DEFAULT_SECONDS: Final = 24.0
_CHAPTER_SECONDS: Final = 6.0
"""The length of a chapter of which everything can be seen."""
_MIN_CHAPTER_SECONDS: Final = 2.5
"""Enough for a silent watch to be noticed and opened again."""
_LONG: Final = 4.0
"""Chapters of this length have a second cut, or a second crash, in their middle."""


class Task(Enum):
    """What people and machines do to the cluster."""

    ROLLOUT = "rollout"
    DRAIN = "drain"
    CRASH = "crash"
    BUDGET = "budget"


class Injection(Enum):
    """The kind of an injected fault, by its name in tables."""

    CUT = "connections cut"
    SILENCE = "watch goes silent"
    GONE = "410 Gone"
    RESTART = "server restart"


EXPLANATIONS: Final = {
    Injection.CUT: "every connection to the server is cut",
    Injection.SILENCE: "the watch of pods stays open, but goes silent",
    Injection.GONE: "410 Gone: the version to continue from is too old",
    Injection.RESTART: "the server restarts; every connection is lost",
}
"""The faults in plain words."""


@dataclass(frozen=True, slots=True)
class Chapter:
    """One chapter: a task, and a fault during the task.

    Attributes:
        number: The number, from 1.
        task: The task.
        fault: The kind of the fault.
        subject: The app or the node.
        version: The version of the app after a rollout.
    """

    number: int
    task: Task
    fault: Injection
    subject: str
    version: int = 1

    @property
    def title(self) -> str:
        """The caption of the chapter."""
        match self.task:
            case Task.ROLLOUT:
                return f"Rolling out {self.subject} to v{self.version}"
            case Task.DRAIN:
                return f"Draining {self.subject}"
            case Task.CRASH:
                return f"A pod of {self.subject} crashes"
            case Task.BUDGET:
                return f"Deleting {self.subject}'s disruption budget"


class Action(Enum):
    """What a cue calls for."""

    BEGIN = "begin the task"
    INJECT = "inject the fault"
    CRASH_AGAIN = "crash the pod again"


@dataclass(frozen=True, slots=True)
class Cue:
    """An action, and the seconds from the start of its chapter until it is due."""

    after: float
    action: Action


def plan(seconds: float, seed: int) -> tuple[Chapter, ...]:
    """The chapters of a demo of some seconds; the same for the same seed.

    The tasks are always in the same order. The seed chooses apps and nodes, and which fault goes with which task. A
    demo that is too short for four chapters has the first ones; a long one begins again with other apps and nodes.
    """
    choice = random.Random(seed)
    tasks, faults = tuple(Task), tuple(Injection)
    chapters: list[Chapter] = []
    versions: dict[str, int] = {}
    subjects: dict[Task, str] = {}
    for at in range(_count(seconds)):
        if at % len(tasks) == 0:
            # Distinct subjects, so that a chapter does not undo the one before.
            rolled, crashing, unguarded = choice.sample(APPS, len(APPS))
            subjects = dict(zip(tasks, (rolled, choice.choice(NODES), crashing, unguarded), strict=True))
        task = tasks[at % len(tasks)]
        subject = subjects[task]
        if task is Task.ROLLOUT:
            versions[subject] = versions.get(subject, 1) + 1
        # A round later, each task meets another fault.
        fault = faults[(at + at // len(tasks) + seed - 1) % len(faults)]
        chapters.append(Chapter(at + 1, task, fault, subject, versions.get(subject, 1)))
    return tuple(chapters)


def cues(chapter: Chapter, seconds: float) -> tuple[Cue, ...]:
    """The cues of a chapter that lasts some seconds, in order."""
    if chapter.task is Task.BUDGET:
        # A controller repairs a budget within milliseconds. Right after the fault, it learns of the deletion late.
        found = [Cue(0.0, Action.INJECT), Cue(0.0, Action.BEGIN)]
    else:
        found = [Cue(0.0, Action.BEGIN), Cue(min(0.4, 0.15 * seconds), Action.INJECT)]
    if seconds >= _LONG and chapter.task is Task.CRASH:
        found.append(Cue(0.35 * seconds, Action.CRASH_AGAIN))
    if seconds >= _LONG and chapter.fault is Injection.CUT:
        found.append(Cue(0.5 * seconds, Action.INJECT))
    return tuple(sorted(found, key=lambda cue: cue.after))


def _count(seconds: float) -> int:
    """The number of chapters."""
    whole = len(Task)
    if seconds >= whole * _CHAPTER_SECONDS:
        return round(seconds / _CHAPTER_SECONDS)
    return max(1, min(whole, int(seconds / _MIN_CHAPTER_SECONDS)))
