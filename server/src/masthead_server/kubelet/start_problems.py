"""Containers that cannot be created: host names are too long, objects are missing, or images cannot be pulled."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.containers import ContainerRef
from masthead_server.kubelet.environment import ContainerConfigError
from masthead_server.kubelet.images import BACK_OFF, PULL, ImagePullError
from masthead_server.kubelet.pod_host import host_name_problem
from masthead_server.kubelet.pods import container_names, container_of, status_of
from masthead_server.wire.plain import part, text

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine
    from typing import Any

    from masthead_server.clock import Timer
    from masthead_server.kubelet.events import PodEvents
    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.wire.plain import Plain

__all__ = ["StartProblems"]

_PULL_PAUSE: Final = 1.0
"""Seconds between a failed pull and the report that the next pull has to wait."""


class StartProblems:
    """Reports such containers, and retries once the problem may be solved.

    Args:
        runtime: The pods.
        make_events: Returns the recorder of Events.
        proceed: Starts the containers of a pod that can start now.
    """

    def __init__(
        self,
        runtime: PodRuntime,
        make_events: Callable[[], PodEvents],
        proceed: Callable[[ContainerRef], Coroutine[Any, Any, None]],
    ) -> None:
        self._runtime = runtime
        self._events = make_events
        self._proceed = proceed
        self._unconfigured: set[ContainerRef] = set()
        self._pulls: dict[ContainerRef, Timer | None] = {}
        """Pods with absent images, with the timer of the next pull; None for no further pull."""

    def report(self, pod: Plain, ref: ContainerRef) -> None:
        """Report the containers of a pod that cannot be created, and remember the pod for a retry."""
        if problem := host_name_problem(pod):
            message = f"Failed to create pod sandbox: {problem}"
            self._events().about_pod(pod, "FailedCreatePodSandBox", message, is_warning=True)
            return
        of_pod, is_unconfigured = ContainerRef(ref.namespace, ref.pod), False
        for name in container_names(pod):
            waiting = part(part(status_of(pod, name) or {}, "state"), "waiting")
            reason = text(waiting, "reason")
            if reason == ContainerConfigError.reason:
                is_unconfigured = True
                self._events().warn(pod, name, "Failed", f"Error: {text(waiting, 'message')}")
            elif reason:
                self._report_image(pod, of_pod, name, reason)
        if is_unconfigured:
            self._unconfigured.add(of_pod)
        else:
            self._unconfigured.discard(of_pod)

    def _report_image(self, pod: Plain, ref: ContainerRef, name: str, reason: str) -> None:
        """Report a failed pull, and schedule the next attempt."""
        images, now = self._runtime.images, self._runtime.now()
        try:
            images.check(pod, container_of(pod, name) or {}, now)
        except ImagePullError as error:
            # Another container of the pod may use the same image.
            if error.reason != reason:
                return
            self._events().pulling_failed(pod, name, error)
            if reason == PULL:
                images.note_failure(pod, error.image, now)
                self._pull_later(ref, _PULL_PAUSE)
            elif reason == BACK_OFF:
                self._pull_later(ref, images.remaining(pod, error.image, now))
            else:
                self._pulls.setdefault(ref, None)

    def _pull_later(self, ref: ContainerRef, seconds: float) -> None:
        cluster = self._runtime.cluster
        if (timer := self._pulls.get(ref)) is not None:
            timer.cancel()
        self._pulls[ref] = cluster.clock.call_later(
            seconds, lambda: cluster.background.insist(lambda: self._proceed(ref))
        )

    async def pull_again(self) -> None:
        """Retry all failed pulls, because images may be present now.

        Raises:
            JournalError: A change could not be stored.
        """
        for ref in tuple(self._pulls):
            self._drop_pull(ref)
            await self._proceed(ref)

    def _drop_pull(self, ref: ContainerRef) -> None:
        if (timer := self._pulls.pop(ref, None)) is not None:
            timer.cancel()

    def blocked(self, namespace: str) -> list[str]:
        """Return the pods of a namespace that wait for a ConfigMap or Secret."""
        return sorted(ref.pod for ref in self._unconfigured if ref.namespace == namespace)

    def is_blocked(self, ref: ContainerRef) -> bool:
        """Tell whether a pod waits for a ConfigMap or Secret."""
        return ContainerRef(ref.namespace, ref.pod) in self._unconfigured

    def forget(self, namespace: str, pod: str) -> None:
        """Forget a finished pod."""
        ref = ContainerRef(namespace, pod)
        self._unconfigured.discard(ref)
        self._drop_pull(ref)
        self._runtime.images.forget(namespace, pod)

    def close(self) -> None:
        """Forget all timers."""
        for timer in self._pulls.values():
            if timer is not None:
                timer.cancel()
