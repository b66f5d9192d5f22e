"""Scripts that the built-in shell cannot run: they are skipped as a whole, and reported."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Final

from masthead_server.kubelet.container_command import is_handled
from masthead_server.kubelet.pods import container_of
from masthead_server.wire.plain import metadata, part, text

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator

    from masthead_server.kubelet.events import PodEvents
    from masthead_server.kubelet.main_process import MainProcesses
    from masthead_server.kubelet.runtime import PodRuntime
    from masthead_server.wire.plain import Plain

__all__ = ["SkippedScripts"]

_log: Final = logging.getLogger("masthead.server.kubelet")
_MAX_WARNINGS: Final = 1000
"""Different problems that are logged; Events report further ones."""


class SkippedScripts:
    """Reports skipped scripts of starting containers: with an Event of each pod, and in the log once.

    Args:
        runtime: The pods and handlers.
        mains: Finds the commands of containers.
        events: The recorder of Events.
    """

    def __init__(self, runtime: PodRuntime, mains: MainProcesses, events: PodEvents) -> None:
        self._runtime = runtime
        self._mains = mains
        self._events = events
        self._logged: set[tuple[str, str]] = set()

    def report(self, pod: Plain, names: Iterable[str]) -> None:
        """Report the skipped scripts of containers, of their probes and of their hooks."""
        for name in names:
            for what, problem in self._find(pod, name):
                self._events.script_skipped(pod, name, f"{what} is not run, because {problem}")
                self._log_once(pod, name, what, problem)

    def _log_once(self, pod: Plain, name: str, what: str, problem: str) -> None:
        # A workload may have thousands of equal pods.
        if (name, problem) in self._logged or len(self._logged) >= _MAX_WARNINGS:
            return
        self._logged.add((name, problem))
        meta = metadata(pod)
        pod_name = f"{text(meta, 'namespace')}/{text(meta, 'name')}"
        _log.warning("pod %s, container %s: %s is not run, because %s", pod_name, name, what, problem)

    def _find(self, pod: Plain, name: str) -> Iterator[tuple[str, str]]:
        spec = container_of(pod, name) or {}
        # A process that was started is no reason to parse its script again.
        has_process = self._runtime.container(pod, name).process is not None
        if spec.get("command") and not has_process and (problem := self._mains.problem_with_script(pod, name)):
            yield "the script", problem
        for field in ("startupProbe", "livenessProbe", "readinessProbe"):
            if problem := self._problem(pod, name, part(spec, field)):
                yield f"the {field}, which succeeds,", problem
        for field in ("postStart", "preStop"):
            if problem := self._problem(pod, name, part(part(spec, "lifecycle"), field)):
                yield f"the {field} hook, which succeeds,", problem

    def _problem(self, pod: Plain, name: str, action: Plain) -> str:
        command = part(action, "exec").get("command")
        if not command:
            return ""
        from masthead_server.kubelet.shell.builtin import problem_with_script

        problem = problem_with_script(command)
        return "" if problem and is_handled(self._runtime, pod, name, command) else problem
