"""`Kubelet`: the controls of containers, for tests."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeVar

from masthead._module import set_module
from masthead.errors import ArgumentError, NotFoundError
from masthead_server.argument_checks import check_exit_code, check_flag, check_text, check_whole_number
from masthead_server.kubelet.container_files import ContainerFiles
from masthead_server.kubelet.container_log import ContainerLog
from masthead_server.kubelet.container_states import ContainerEnd
from masthead_server.kubelet.handlers import check_handler
from masthead_server.kubelet.pod_names import pod_pattern, pod_ref
from masthead_server.kubelet.ports import KUBELET_PORT
from masthead_server.wire.failures import StatusFailure

if TYPE_CHECKING:
    from collections.abc import Callable, Coroutine

    from masthead._meta.object import Object
    from masthead_server.kubelet.container_probe import ProbeHandler
    from masthead_server.kubelet.containers import ContainerRef
    from masthead_server.kubelet.filesystem import FileSystem
    from masthead_server.kubelet.handlers import Handler, HandlerRegistry, PodPattern
    from masthead_server.kubelet.lifecycle import PodLifecycle
    from masthead_server.kubelet.node_controls import KubeletNodes
    from masthead_server.kubelet.ports import PortListener, PortTarget
    from masthead_server.kubelet.probe_rules import ProbeKind
    from masthead_server.kubelet.runtime import PodRuntime

__all__ = ["Kubelet"]

ResultT = TypeVar("ResultT")
HandlerT = TypeVar("HandlerT", bound="Handler")
ProbeHandlerT = TypeVar("ProbeHandlerT", bound="ProbeHandler")


class CallInLoop(Protocol):
    """Calls a function in the server's event loop from any thread."""

    def __call__(self, act: Callable[[], ResultT], /) -> ResultT:
        """Call it, and return what it returns."""
        ...


@set_module("masthead.server")
class Kubelet:
    """Controls what runs in the pods of an embedded server: `Server.kubelet`.

    Methods take a pod as ``name`` (in the namespace ``default``), as ``namespace/name``, or as an object. For handlers,
    ``name`` means pods of that name in any namespace, and ``*`` means all pods. Arguments of a wrong type are refused
    with a TypeError. All methods are thread-safe.
    """

    def __init__(
        self,
        runtime: PodRuntime,
        find_lifecycle: Callable[[], PodLifecycle],
        call: CallInLoop,
        perform: Callable[[Callable[[], Coroutine[Any, Any, None]]], None],
    ) -> None:
        self._runtime = runtime
        # Created by the first call, so that it is called in the server's event loop only.
        self._find_lifecycle = find_lifecycle
        self._call = call
        self._perform = perform

    @property
    def nodes(self) -> KubeletNodes:
        """The controls of the nodes, which can fail and recover."""
        from masthead_server.kubelet.node_controls import KubeletNodes

        return KubeletNodes(self._call(lambda: self._find_lifecycle().nodes), self._call, self._perform)

    @property
    def log_limit(self) -> int:
        """Bytes of a container's log, 64 MiB by default; older lines are dropped. Applies to new containers."""
        return self._runtime.limits.log

    @log_limit.setter
    def log_limit(self, limit: int) -> None:
        check_whole_number("log_limit", limit, minimum=0)
        self._runtime.limits.log = limit

    @property
    def file_limit(self) -> int:
        """Bytes of a container's files, 64 MiB by default; above that, its disk is full. Applies to new containers."""
        return self._runtime.limits.files

    @file_limit.setter
    def file_limit(self, limit: int) -> None:
        check_whole_number("file_limit", limit, minimum=0)
        self._runtime.limits.files = limit

    def exec(
        self, pod: str, *, container: str | None = None, command: str | None = None
    ) -> Callable[[HandlerT], HandlerT]:
        """Register a handler of commands in a pod: a decorator.

        The handler gets an `ExecProcess` if it is a coroutine function. A plain function gets a `BlockingExecProcess`,
        and runs in a thread. It returns the exit code, None for 0, or raises SystemExit. Any other exception is logged,
        and the client gets an internal error. When the client goes away, a coroutine is cancelled, and a plain function
        finds stdin ended and gets a BrokenPipeError when it writes. The handler with the most precise pattern wins;
        among equals, the last one. Without a handler, the built-in shell runs the command.

        Args:
            pod: The pods: ``web``, ``shop/web``, ``*``.
            container: The container; None for any.
            command: The first word of the command; None for any.

        Raises:
            TypeError: If an argument has another type.
            ArgumentError: If the pod is neither a name, nor ``*``.
        """
        return self._register(self._runtime.exec_handlers, pod_pattern(pod, container, command))

    def attach(self, pod: str, *, container: str | None = None) -> Callable[[HandlerT], HandlerT]:
        """Register a handler of clients that attach to a container: a decorator; see `exec`.

        Without a handler, the client reads the container's further output until the container ends, and writes to the
        main process.

        Args:
            pod: The pods: ``web``, ``shop/web``, ``*``.
            container: The container; None for any.

        Raises:
            TypeError: If an argument has another type.
            ArgumentError: If the pod is neither a name, nor ``*``.
        """
        return self._register(self._runtime.attach_handlers, pod_pattern(pod, container))

    def main(self, pod: str, *, container: str | None = None) -> Callable[[HandlerT], HandlerT]:
        """Register the main process of a container: a decorator; see `exec`.

        Its output is the container's log. Its stdin is the input of attached clients, if the container sets
        ``stdin: true``. When it returns, the container ends with that exit code and is restarted according to its
        policy: the first time immediately, then after 10 seconds and more (``CrashLoopBackOff``). When its pod is
        deleted, a coroutine is cancelled, as by SIGTERM: it may return an exit code, or continue until the end of the
        grace period, when it is killed. Without a handler, the built-in shell runs the container's command if it knows
        all of it; otherwise the container just runs, and an init container completes immediately.

        Args:
            pod: The pods: ``web``, ``shop/web``, ``*``.
            container: The container; None for any.

        Raises:
            TypeError: If an argument has another type.
            ArgumentError: If the pod is neither a name, nor ``*``.
        """
        return self._register(self._runtime.main_handlers, pod_pattern(pod, container))

    def probe(
        self, pod: str, *, container: str | None = None, kind: ProbeKind | None = None
    ) -> Callable[[ProbeHandlerT], ProbeHandlerT]:
        """Register a function that decides about probes: a decorator.

        It gets a `ContainerProbe` in each period of a matching probe, on the server's clock, and returns True for a
        success or False. An exception is a failure, too, and so is any other value, even None, which is logged as well.
        A coroutine function runs in the server's event loop, a plain one in a thread.
        Without a handler, the built-in shell runs commands of probes, requests and connections reach the listeners of
        `listen`, and all other probes succeed.

        Args:
            pod: The pods: ``web``, ``shop/web``, ``*``.
            container: The container; None for any.
            kind: ``startup``, ``readiness`` or ``liveness``; None for any.

        Raises:
            TypeError: If an argument has another type.
            ArgumentError: If the pod is neither a name, nor ``*``, or if there is no such kind.
        """
        if kind is not None:
            from masthead_server.kubelet.probe_rules import check_probe_kind  # which servers without pods do not need

            check_probe_kind(kind)
        pattern = pod_pattern(pod, container, kind)

        def register(handler: ProbeHandlerT) -> ProbeHandlerT:
            check_handler(handler)

            def add() -> None:
                self._runtime.probe_handlers.add(pattern, handler)
                self._find_lifecycle().wake_probes()

            self._call(add)
            return handler

        return register

    def set_ready(self, pod: str | Object, is_ready: bool, *, container: str | None = None) -> None:
        """Set the readiness of a container, regardless of its probe, until the pod is deleted.

        Args:
            pod: The pod.
            is_ready: Whether it is ready.
            container: The container; None for all.

        Raises:
            NotFoundError: If there is no such pod.
            ArgumentError: If the pod is an object without a name or namespace, or has no such container.
        """
        check_flag("is_ready", is_ready)
        self._force(pod, container, "readiness", is_success=is_ready)

    def set_started(self, pod: str | Object, is_started: bool, *, container: str | None = None) -> None:
        """Set whether a container has started, regardless of its startup probe, until the pod is deleted.

        Args:
            pod: The pod.
            is_started: Whether it has started.
            container: The container; None for all.

        Raises:
            NotFoundError: If there is no such pod.
            ArgumentError: If the pod is an object without a name or namespace, or has no such container.
        """
        check_flag("is_started", is_started)
        self._force(pod, container, "startup", is_success=is_started)

    def _force(self, pod: str | Object, container: str | None, kind: ProbeKind, *, is_success: bool) -> None:
        ref = pod_ref(pod, container)
        self._change(ref, lambda ref: self._find_lifecycle().force_probe(ref, kind, is_success=is_success))

    def fail_liveness(self, pod: str | Object, *, container: str | None = None, output: str = "") -> None:
        """Let the liveness probe of a container fail: the container is killed, and its restart policy applies.

        Args:
            pod: The pod.
            container: The container; None for all.
            output: The output of the probe, for the Event.

        Raises:
            NotFoundError: If there is no such pod.
            ArgumentError: If the pod is an object without a name or namespace, or has no such container.
        """
        check_text("output", output)
        self._change(pod_ref(pod, container), lambda ref: self._find_lifecycle().fail_liveness(ref, output))

    def fail_pull(self, image: str, *, error: str = "not found") -> None:
        """Let image pulls fail: containers wait with ``ErrImagePull`` and ``ImagePullBackOff``.

        With ``imagePullPolicy: Never``, they wait with ``ErrImageNeverPull``. Running containers are not affected.

        Args:
            image: The image, or a pattern such as ``broken/*``.
            error: The error message of the registry.

        Raises:
            ArgumentError: If the image is empty.
        """
        _check_image(image)
        check_text("error", error)
        self._call(lambda: self._runtime.images.fail(image, error))

    def allow_pull(self, image: str) -> None:
        """Let image pulls succeed again; waiting containers start.

        Args:
            image: The image, or the pattern passed to `fail_pull`.

        Raises:
            TypeError: If the image is no text.
            ArgumentError: If `fail_pull` was not called with it.
        """
        _check_image(image)

        async def allow() -> None:
            self._runtime.images.allow(image)
            await self._find_lifecycle().problems.pull_again()

        self._perform(allow)

    def _register(self, handlers: HandlerRegistry[Handler], pattern: PodPattern) -> Callable[[HandlerT], HandlerT]:
        def register(handler: HandlerT) -> HandlerT:
            check_handler(handler)
            # In the event loop, which reads the handlers without a lock.
            self._call(lambda: handlers.add(pattern, handler))
            return handler

        return register

    def listen(self, pod: str, port: int, target: PortTarget, *, allow_remote: bool = False) -> PortListener:
        """Listen on a port of pods, for port-forward and proxies.

        The listener accepts connections while a container of the pod runs. If there are several for a port, the one
        with the most precise pattern accepts them; among equals, the last.

        Args:
            pod: The pods: ``web``, ``shop/web``, ``*``.
            port: The pods' port.
            target: A port of this machine, a host and a port, or a coroutine function. It gets an
                `asyncio.StreamReader` and an `asyncio.StreamWriter`, runs in the server's event loop, and ends the
                connection when it returns; an exception is logged, and breaks the connection.
            allow_remote: Whether the target may be another machine.

        Raises:
            ValueError: If a port does not exist, or if the target is another machine and that is not allowed.
            TypeError: If the target is of another type.
        """
        listener = self._runtime.ports.add(pod_pattern(pod), port, target, allow_remote=allow_remote)
        # Probes of this port depend on the new listener from now on.
        self._call(lambda: self._find_lifecycle().wake_probes())
        return listener

    def listen_on_node(
        self, node: str, target: PortTarget, *, port: int = KUBELET_PORT, allow_remote: bool = False
    ) -> PortListener:
        """Listen on a port of a node, for proxies; by default on the kubelet's port.

        Args:
            node: The node's name.
            target: The target, as for `listen`.
            port: The node's port.
            allow_remote: Whether the target may be another machine.

        Raises:
            ValueError: If a port does not exist, or if the target is another machine and that is not allowed.
            TypeError: If the target is of another type.
        """
        check_text("the node", node, may_be_empty=False)
        return self._runtime.ports.add(node, port, target, allow_remote=allow_remote)

    def log(self, pod: str | Object, *, container: str | None = None) -> ContainerLog:
        """Return the log of a container, to print to; the pod need not exist yet.

        Args:
            pod: The pod.
            container: The container; None for the first one.

        Raises:
            ArgumentError: If the pod is an object without a name or namespace.
        """
        ref = pod_ref(pod, container)
        # Resolved with every write: the pod may have been created or replaced since the last one.
        return ContainerLog(lambda data, stream: self._call(lambda: self._runtime.resolve(ref).print(data, stream)))

    def files(self, pod: str | Object, *, container: str | None = None) -> ContainerFiles:
        """Return the files of a container by path; the pod need not exist yet.

        Args:
            pod: The pod.
            container: The container; None for the first one.

        Raises:
            ArgumentError: If the pod is an object without a name or namespace.
        """
        ref = pod_ref(pod, container)

        def within(act: Callable[[FileSystem], ResultT]) -> ResultT:
            return self._call(lambda: act(self._runtime.resolve(ref).files))

        return ContainerFiles(within)

    def start(self, pod: str | Object) -> None:
        """Bind a pod to a node, unless it has one, and start it; it becomes ready when its probes succeed.

        Raises:
            NotFoundError: If there is no such pod.
            ArgumentError: If the pod is an object without a name or namespace.
        """
        self._change(pod_ref(pod), lambda ref: self._find_lifecycle().start(ref))

    def succeed(self, pod: str | Object) -> None:
        """End every container of a pod with exit code 0: its phase is ``Succeeded``.

        Raises:
            NotFoundError: If there is no such pod.
            ArgumentError: If the pod is an object without a name or namespace.
        """
        self._change(pod_ref(pod), lambda ref: self._find_lifecycle().finish(ref, 0))

    def fail(self, pod: str | Object, *, exit_code: int = 1, reason: str = "Error") -> None:
        """End every container of a pod with an exit code: its phase is ``Failed``, whatever its restart policy.

        Args:
            pod: The pod.
            exit_code: The exit code; not 0.
            reason: The reason in the status of its containers.

        Raises:
            NotFoundError: If there is no such pod.
            ArgumentError: If the pod is an object without a name or namespace, or if the exit code is not between 1 and
                255.
        """
        check_exit_code("exit_code", exit_code)
        # With exit code 0, the phase would be Succeeded.
        if not exit_code:
            raise ArgumentError("exit code 0 is success: call succeed instead", value=exit_code)
        check_text("reason", reason)
        self._change(pod_ref(pod), lambda ref: self._find_lifecycle().finish(ref, exit_code, reason=reason))

    def crash(
        self,
        pod: str | Object,
        *,
        container: str | None = None,
        exit_code: int = 1,
        reason: str = "",
        message: str = "",
    ) -> None:
        """End a container as if its process had exited; its restart policy applies.

        Args:
            pod: The pod.
            container: The container; None for all.
            exit_code: The exit code.
            reason: The reason in its status; empty for ``Error``, or ``Completed`` with exit code 0.
            message: Its termination message.

        Raises:
            NotFoundError: If there is no such pod.
            ArgumentError: If the pod is an object without a name or namespace, or has no such container; or if the
                exit code is not between 0 and 255.
        """
        _check_end(exit_code, reason)
        check_text("message", message)
        end = ContainerEnd(exit_code, reason, message)
        self._change(pod_ref(pod, container), lambda ref: self._find_lifecycle().crash(ref, end))

    def oom(self, pod: str | Object, *, container: str | None = None) -> None:
        """End a container as if it had exceeded its memory limit: exit code 137, reason ``OOMKilled``; see `crash`.

        Args:
            pod: The pod.
            container: The container; None for all.

        Raises:
            NotFoundError: If there is no such pod.
            ArgumentError: If the pod is an object without a name or namespace, or has no such container.
        """
        self._change(pod_ref(pod, container), lambda ref: self._find_lifecycle().run_out_of_memory(ref))

    def restart(self, pod: str | Object, *, container: str | None = None, exit_code: int = 1, reason: str = "") -> None:
        """Restart a container: its commands and streams end, and a new log begins, with the old one as ``previous``.

        Args:
            pod: The pod.
            container: The container; None for all.
            exit_code: The exit code of the ended run.
            reason: The reason in its status, such as ``OOMKilled``; empty for ``Error``, or ``Completed`` with exit
                code 0. A container that was not running keeps the exit code and reason of its last run.

        Raises:
            NotFoundError: If there is no such pod.
            ArgumentError: If the pod is an object without a name or namespace, or has no such container; or if the
                exit code is not between 0 and 255.
        """
        _check_end(exit_code, reason)
        self._change(pod_ref(pod, container), lambda ref: self._find_lifecycle().restart(ref, exit_code, reason))

    def crash_loop(self, pod: str | Object, *, container: str | None = None, exit_code: int = 1) -> None:
        """End a container, and put it into ``CrashLoopBackOff``. `restart` starts it.

        Args:
            pod: The pod.
            container: The container; None for all.
            exit_code: The exit code of the ended run.

        Raises:
            NotFoundError: If there is no such pod.
            ArgumentError: If the pod is an object without a name or namespace, or has no such container; or if the
                exit code is not between 0 and 255.
        """
        check_exit_code("exit_code", exit_code)
        self._change(pod_ref(pod, container), lambda ref: self._find_lifecycle().crash_loop(ref, exit_code))

    def evict(self, pod: str | Object, *, message: str = "The node was low on resource: memory.") -> None:
        """Fail a pod as a kubelet does on a node under resource pressure, with the reason ``Evicted``.

        Raises:
            NotFoundError: If there is no such pod.
            ArgumentError: If the pod is an object without a name or namespace.
        """
        check_text("message", message)
        self._change(pod_ref(pod), lambda ref: self._find_lifecycle().evict(ref, message))

    def _change(self, ref: ContainerRef, change: Callable[[ContainerRef], Coroutine[Any, Any, None]]) -> None:
        try:
            self._perform(lambda: change(ref))
        # Verbs of the server raise errors of the wire format; Python callers expect exceptions of the client.
        except StatusFailure as failure:
            raise NotFoundError(
                failure.message, verb="get", resource="pods", namespace=ref.namespace, name=ref.pod
            ) from None


def _check_image(image: str) -> None:
    check_text("the image", image)
    if not image.strip():
        raise ArgumentError("no image has an empty name: name one, or a pattern such as broken/*", value=image)


def _check_end(exit_code: int, reason: str) -> None:
    check_exit_code("exit_code", exit_code)
    check_text("reason", reason)
