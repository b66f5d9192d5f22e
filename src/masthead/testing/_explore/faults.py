"""The faults of a schedule, as values.

Numbers refer to the run itself: the n-th write or live read of the operator, or step of the workload, from 1.
Up to the first fault, a run equals its reference, so that the numbers of the reference apply.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import msgspec

__all__ = [
    "Absence",
    "Answer",
    "Crash",
    "EarlyStep",
    "Edit",
    "FailedRead",
    "HandOver",
    "HeldEvents",
    "OtherKeyOrder",
    "Moment",
    "PlannedFault",
    "Restart",
    "ServerRestart",
    "SlowController",
]

Moment: TypeAlias = Literal["before", "stored", "answered"]
"""Before a write is sent, after the server has stored it, or after the operator has got the response."""


class _Fault(msgspec.Struct, frozen=True, array_like=True, omit_defaults=True):
    pass


class Crash(_Fault, tag="crash", frozen=True):
    """The operator crashes at a write, and is started again.

    Attributes:
        write: The number of the write; 0 for a crash at a call of an external system.
        when: The moment.
        view: The revision at which the caches of the successor stand still; 0 for none.
        resources: The resources of that view, such as ``websites.example.com``; empty for all.
        last: The step at whose end the view is released; 0 for the current step.
        call: The number of the external call, if `write` is 0.
    """

    write: int
    when: Moment = "stored"
    view: int = 0
    resources: tuple[str, ...] = ()
    last: int = 0
    call: int = 0


class Restart(_Fault, tag="restart", frozen=True):
    """The operator is killed at the end of a step, when all is idle, and started again.

    Attributes:
        step: The step.
        view: As for `Crash`.
        resources: As for `Crash`.
        last: As for `Crash`.
    """

    step: int
    view: int = 0
    resources: tuple[str, ...] = ()
    last: int = 0


class Answer(_Fault, tag="answer", frozen=True):
    """A write gets another response.

    Attributes:
        write: The number of the write.
        outcome: ``conflict``, ``lost`` (the server has performed the write), or a status code such as ``503``.
        times: The number of writes in a row with this verb and object.
    """

    write: int
    outcome: str
    times: int = 1


class FailedRead(_Fault, tag="read", frozen=True):
    """A live read of a reconcile fails.

    Attributes:
        read: The number of the read.
        code: The status code.
    """

    read: int
    code: int = 503


class EarlyStep(_Fault, tag="early", frozen=True):
    """The next step of the workload begins before a write is sent: between a reconcile's read and its write.

    Attributes:
        write: The number of the write.
    """

    write: int


class Edit(_Fault, tag="edit", frozen=True):
    """Another client annotates the object of a write before the write is sent.

    Attributes:
        write: The number of the write; 0 to edit at the end of a step.
        step: The step, if `write` is 0.
        resource: The resource of the object, if `write` is 0.
        key: The object, if `write` is 0.
    """

    write: int
    step: int = 0
    resource: str = ""
    key: str = ""


class HeldEvents(_Fault, tag="hold", frozen=True):
    """The watches of a resource send nothing after a revision, until the end of a step.

    Attributes:
        resource: The resource, such as ``websites.example.com``.
        revision: The last revision that is sent.
        last: The step at whose end the events are released.
        is_lost: Whether the watch then ends with 410, so that the intermediate events are never seen.
    """

    resource: str
    revision: int
    last: int
    is_lost: bool = False


class Absence(_Fault, tag="absent", frozen=True):
    """The operator does nothing during some steps, and sees their outcome only.

    Attributes:
        first: The first step.
        last: The last step.
        how: ``down`` for a stopped operator, ``workers`` for paused workers whose caches follow.
    """

    first: int
    last: int
    how: Literal["down", "workers"] = "down"


class HandOver(_Fault, tag="hand over", frozen=True):
    """The leader is suspended before a write, until a standby leads.

    Attributes:
        write: The number of the write.
        view: The revision at which the standby's caches stand still; 0 for none.
        resources: As for `Crash`.
    """

    write: int
    view: int = 0
    resources: tuple[str, ...] = ()


class ServerRestart(_Fault, tag="server", frozen=True):
    """The API server restarts.

    Attributes:
        write: The write before which it restarts; 0 to restart at the end of a step.
        step: The step, if `write` is 0.
    """

    write: int
    step: int = 0


class OtherKeyOrder(_Fault, tag="order", frozen=True):
    """Independent keys are reconciled in another order.

    Attributes:
        order: ``lifo`` or ``random``.
    """

    order: Literal["lifo", "random"] = "lifo"


class SlowController(_Fault, tag="slow", frozen=True):
    """A built-in controller of the cluster is slow.

    Attributes:
        controller: Its name, such as ``garbagecollector``.
        seconds: The delay.
    """

    controller: str
    seconds: float = 30.0


PlannedFault: TypeAlias = (
    Crash
    | Restart
    | Answer
    | FailedRead
    | EarlyStep
    | Edit
    | HeldEvents
    | Absence
    | HandOver
    | ServerRestart
    | OtherKeyOrder
    | SlowController
)
