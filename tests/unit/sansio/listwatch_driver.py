"""Drives the list-watch machine as a reflector does, with a simulated clock, and checks each step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from tests.unit.sansio.listwatch_server import BUSY, REFUSED, SILENCE

from masthead._sansio.listwatch import ListWatchMachine
from masthead._sansio.listwatch_steps import (
    REOPEN_INTERVAL,
    SILENCE_LIMIT,
    Failure,
    List,
    Phase,
    Probe,
    Role,
    Stream,
    VerifyServer,
)

if TYPE_CHECKING:
    from tests.unit.sansio.listwatch_server import Server, StreamEvent, Thing, Watch

    from masthead._sansio.listwatch_steps import Step

SHORT: Final = (0.7 * SILENCE_LIMIT - 1, 0.9 * SILENCE_LIMIT)
"""How long a quiet stream is, in seconds."""
QUIET: Final = 10.0
"""How long the initial objects may take, in seconds."""


class Driver:
    """Maintains a cache by the steps of the machine, and checks each step.

    Attributes:
        now: The time.
        copy: The objects, as they are believed to be.
        requests: When each request was sent.
        states: How many new states were requested.
        history: The steps and their outcomes.
    """

    def __init__(
        self, server: Server, *, copy: dict[str, Thing] | None = None, version: str = "", page_size: int = 0
    ) -> None:
        self.server = server
        self.rng = server.rng
        self.now = 0.0
        self.machine = ListWatchMachine(random=server.rng.random, version=version, page_size=page_size)
        self.copy: dict[str, Thing] = copy or {}
        self.requests: list[float] = []
        self.states = 0
        self.history: list[tuple[float, Step, object]] = []
        self._collected: dict[str, Thing] = {}
        self._known: tuple[int, int] = (server.life, int(version or 0))
        self._failures = self._reconnects = 0
        self._fruitless = 0
        self._has_news = self._is_open = False
        self._chain = 0
        self._step = self._checked(self.machine.start(), None)

    def do(self) -> bool:
        """Execute one step; returns whether it was a watch that lasted until its timeout."""
        step = self._step
        if step.after:
            self.now += step.after
            self.server.live()
            self._chain = 0
        else:
            self.server.breathe()
        self._begin(step)
        was = self.now
        if isinstance(step, List):
            following, outcome = self._list(step)
        elif isinstance(step, Stream):
            following, outcome = self._stream(step)
        elif isinstance(step, Probe):
            following, outcome = self._probe(step)
        else:
            assert isinstance(step, VerifyServer)
            following, outcome = self._prove(step)
        if self.now > was:
            self._chain = 0
        self.history.append((was, step, outcome))
        self._step = self._checked(following, outcome)
        return outcome == "time is up"

    def _begin(self, step: Step) -> None:
        self.requests.append(self.now)
        if not (isinstance(step, List) and step.token):
            self._chain += 1
            assert self._chain <= 6, "requests without end, and without pause"
        self._has_news = self._is_open = False
        self._phase = self.machine.phase
        self.machine.begin(self.now)
        if isinstance(step, List | Stream) and step.restarts:
            self._collected = {}
            self.states += 1

    # The things to do; each returns the next step and what came of this one

    def _list(self, step: List) -> tuple[Step, object]:
        page = self.server.list(step)
        if isinstance(page, Failure):
            return self.machine.failed(self.now, page), page
        for thing in page.things:
            assert thing.name not in self._collected, "an object in two pages"
            self._collected[thing.name] = thing
        following = self.machine.page(str(page.version), page.token)
        if not page.token:
            self._complete(page.version)
            self._compare(self.server.life)
        return following, page

    def _small_request(self, step: VerifyServer | Probe) -> Failure | None:
        """Return the failure of a small request, which is repeated as long as there is no answer."""
        failure = self.server.failure()
        if failure is not None and failure.silent:
            began, self.now = self.now, self.now + step.timeout
            repetitions = range(1, int(step.timeout / step.repeat_after))
            self.requests.extend(began + number * step.repeat_after for number in repetitions)
        return failure

    def _prove(self, step: VerifyServer) -> tuple[Step, object]:
        if failure := self._small_request(step):
            return self.machine.failed(self.now, failure), failure
        is_same = False
        if self.copy:
            ours = self.rng.choice(list(self.copy.values()))
            theirs = self.server.objects.get(ours.name)
            is_same = (
                theirs is not None
                and theirs.uid == ours.uid
                and theirs.version >= ours.version
                and self.server.version >= int(step.version)
            )
        return self.machine.verified(is_same=is_same), "the same" if is_same else "another"

    def _probe(self, step: Probe) -> tuple[Step, object]:
        if failure := self._small_request(step):
            return self.machine.failed(self.now, failure), failure
        return self.machine.answered(), "answered"

    def _stream(self, step: Stream) -> tuple[Step, object]:
        watch = self.server.watch(step)
        if isinstance(watch, Failure):
            self._note_fruitless(watch, 0.0)
            return self.machine.failed(self.now, watch), watch
        self.machine.opened()
        self._is_open = True
        life, began = self.server.life, self.now
        ending = self._play(watch, began, began + step.seconds)
        if self.machine.phase is Phase.FOLLOWING:
            self._compare(life)
        if self._has_news or self.now - began >= REOPEN_INTERVAL:
            self._failures = self._reconnects = self._fruitless = 0
        else:
            self._note_fruitless(ending, self.now - began)
        if isinstance(ending, Failure):
            return self.machine.failed(self.now, ending), ending
        return self.machine.closed(self.now), ending

    def _note_fruitless(self, ending: Failure | str, lasted: float) -> None:
        """Count consecutive watches without events, except those of a throttling server."""
        if self.machine.phase is Phase.FOLLOWING:
            if isinstance(ending, Failure):
                is_quiet = ending.silent and self._is_open
                self._fruitless += ending.code != BUSY.code and not is_quiet
            else:
                self._fruitless += lasted < REOPEN_INTERVAL

    def _play(self, watch: Watch, began: float, until: float) -> Failure | str:
        """Take events until the stream ends; returns how it did."""
        server, rng, machine = self.server, self.rng, self.machine
        boots, fate = server.boots, server.ending()
        rounds = 0
        while self.now < until:
            batch = watch.batch()
            if fate is not None and rounds == fate[1]:
                self._take(batch[: rng.randrange(len(batch) + 1)])
                self.now = min(until, self.now + rng.choice(server.dying))
                return fate[0] or "closed"
            self._take(batch)
            rounds += 1
            if machine.phase is Phase.STREAMING and self.now >= began + QUIET:
                if rng.random() < 0.5:
                    machine.disable_initial_events()
                return SILENCE
            self.now = min(until, self.now + rng.choice((5.0, 60.0, 200.0)))
            server.live()
            if server.boots != boots:
                return REFUSED
        self._take(watch.batch())
        return "time is up"

    # The copy

    def _take(self, batch: list[StreamEvent]) -> None:
        for kind, thing, ends_initial in batch:
            before = self.machine.version
            role = self.machine.event(kind, str(thing.version), ends_initial=ends_initial)
            if role is Role.COMPLETE:
                self._complete(thing.version)
            elif role is Role.INITIAL:
                if kind == "DELETED":
                    self._collected.pop(thing.name, None)
                elif kind != "BOOKMARK":
                    self._collected[thing.name] = thing
            else:
                self._has_news = self._has_news or self.machine.version != before
                self._change(kind, thing)

    def _complete(self, version: int) -> None:
        life, known = self._known
        assert life != self.server.life or version >= known, "time went back"
        self._known = self.server.life, version
        self._fruitless = 0
        self.copy, self._collected = self._collected, {}

    def _change(self, kind: str, thing: Thing) -> None:
        """Apply a change, which must be the next one of its object."""
        assert thing.version >= self._known[1], "dispatched out of order"
        self._known = self.server.life, thing.version
        if kind == "BOOKMARK":
            return
        known = self.copy.get(thing.name)
        if kind == "ADDED":
            assert known is None, "added twice"
        else:
            assert known is not None, "changed, but never added"
            assert known.uid == thing.uid, "another object of this name"
            assert known.version < thing.version, "dispatched twice"
        if kind == "DELETED":
            del self.copy[thing.name]
        else:
            self.copy[thing.name] = thing

    def _compare(self, life: int) -> None:
        """Check that the cache equals the state of the server at its version."""
        assert self.copy == self.server.lives[life][int(self.machine.version)], "a state that never was"

    # The steps

    def _checked(self, step: Step, outcome: object) -> Step:
        assert step.after >= 0
        if isinstance(step, Stream):
            is_short = SHORT[0] <= step.seconds <= SHORT[1] and not step.initial_events
            assert 300 <= step.seconds < 600 or is_short
            assert step.initial_events == step.restarts
            assert not (step.after and not step.restarts), "a version is used behind a wait, without a proof"
        if isinstance(step, List):
            assert not (step.after and step.token), "a page's token is used behind a wait"
            is_unanswered = isinstance(outcome, Failure) and outcome.silent and not self._is_open
            assert not is_unanswered, "a list although the last request was not answered"
        if isinstance(step, List | Stream) and step.restarts and outcome is not None:
            self._check_that_a_new_state_is_due(step, outcome)
        self._check_delay(step, outcome)
        return step

    def _check_that_a_new_state_is_due(self, step: List | Stream, outcome: object) -> None:
        is_unfinished = self._phase in {Phase.STREAMING, Phase.PROBING, Phase.LISTING}
        if is_unfinished and self.machine.phase is not Phase.FOLLOWING:
            return  # the requested state is not complete yet
        if isinstance(step, List) and self._fruitless >= 2:
            return  # watches send nothing
        if isinstance(outcome, Failure):
            is_error_event = self._is_open and outcome.code not in {0, BUSY.code}
            is_refused = outcome.is_refusal and not self._is_open
            due = outcome.is_expired or outcome.too_large or is_refused or is_error_event
            assert due, f"a new state because of {outcome}"
            assert not outcome.too_large or step.version == "", (
                "requested again a version that the server does not have"
            )
        else:
            assert outcome == "another", f"a new state although {outcome}"

    def _check_delay(self, step: Step, outcome: object) -> None:
        """Check that delays grow with each failure, until a watch has events or lasts."""
        is_dropped = outcome == "closed" or (isinstance(outcome, Failure) and not outcome.code)
        if not step.after or (self._is_open and is_dropped and step.after <= 1.0 and self._may_resume(outcome)):
            return
        if isinstance(outcome, Failure) and self._is_unreachable(outcome):
            least, most = min(1.6, 0.2 * 2.0 ** min(self._reconnects, 9)), 1.6
            self._reconnects += 1
        else:
            least = min(30.0, 0.8 * 2.0**self._failures)
            most = 30.0
            self._failures += 1
        retry_after = outcome.retry_after or 0.0 if isinstance(outcome, Failure) else 0.0
        assert least <= step.after <= max(min(most, 2 * least), min(retry_after, 300.0)), (
            f"{step.after} s, not {least} to {2 * least} s"
        )
        assert step.after >= min(retry_after, 300.0), "retried before Retry-After"

    def _may_resume(self, outcome: object) -> bool:
        return self._has_news or (isinstance(outcome, Failure) and outcome.silent)

    def _is_unreachable(self, outcome: Failure) -> bool:
        is_small = self._phase in {Phase.VERIFYING, Phase.PROBING}
        return outcome.unreachable or outcome.silent or (is_small and outcome.is_dropped)
