"""Follows a rollout to its end, with a line whenever its progress changes."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._cli.client_warnings import telling_warnings
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.rollout_status import rollout_progress
from masthead._cli.terminal import say, write
from masthead._client.conditions import WaitCondition
from masthead._errors.base import format_seconds
from masthead.errors import DeadlineError

if TYPE_CHECKING:
    from masthead._cli.workloads import SelectedWorkload
    from masthead._meta.unstructured import Unstructured

__all__ = ["follow_rollout"]


def follow_rollout(workload: SelectedWorkload, revision: int, timeout: float) -> None:
    """Wait until a rollout is complete.

    Args:
        workload: The workload.
        revision: The revision that a Deployment must be at; 0 for any.
        timeout: Seconds to wait; ``math.inf`` for ever.

    Raises:
        CommandError: If the rollout fails or takes too long, or the object is deleted.
        MastheadError: As any call.
    """
    follower = _Follower(workload, revision)
    complete: WaitCondition[Unstructured] = WaitCondition(follower.test, "its rollout is complete")
    with telling_warnings(say):
        try:
            workload.resource.wait_for(workload.name, complete, timeout=timeout)
        except DeadlineError:
            raise CommandError(
                f"timed out waiting for {workload.line_name} after {format_seconds(timeout)} s",
                hint="wait longer with --timeout",
                code=ExitCode.TIMEOUT,
            ) from None


class _Follower:
    """Prints the progress of a rollout."""

    def __init__(self, workload: SelectedWorkload, revision: int) -> None:
        self._workload = workload
        self._revision = revision
        self._line = ""

    def test(self, obj: Unstructured | None) -> bool:
        """Whether the rollout is complete.

        Raises:
            CommandError: If it has failed, or the object was deleted.
        """
        # A successor of the same name has another rollout, and possibly never ends it.
        if obj is None or obj.metadata.uid != self._workload.obj.metadata.uid:
            raise CommandError(f"{self._workload.line_name}: object has been deleted")
        progress = rollout_progress(obj, self._revision)
        # Many events change nothing that the line shows.
        if progress.line != self._line:
            write(f"{progress.line}\n")
        self._line = progress.line
        return progress.is_done
