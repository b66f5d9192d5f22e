"""The verbs of logs."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Generic, TypeVar, cast

from masthead._client.log_follow import FOLLOW_READ_TIMEOUT
from masthead._client.log_group import LogGroup, MergedLogs
from masthead._client.log_pods import ContainerFilter
from masthead._client.log_query import LogQuery
from masthead._client.log_source import LogSource
from masthead._client.logs import LogStream
from masthead._client.read_verbs import ReadVerbs
from masthead._client.watch_event import WatchEvent
from masthead._errors.options import explain_arguments
from masthead._meta.object import Object
from masthead._module import set_module
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    import re
    from collections.abc import AsyncGenerator, Callable, Iterable
    from datetime import datetime

    from masthead._client.options import FieldSelection, LabelSelection, Query
    from masthead._rest.call import Call
    from masthead.errors import LogStreamError

__all__ = ["LogVerbs"]

T = TypeVar("T", bound=Object)


@set_module("masthead.aio.clientset")
class LogVerbs(ReadVerbs[T], Generic[T]):
    """For resources with a log subresource: pods."""

    @explain_arguments
    def logs(
        self,
        name: str,
        *,
        container: str | None = None,
        follow: bool = False,
        restarts: bool = False,
        previous: bool = False,
        since: datetime | None = None,
        since_seconds: int | None = None,
        tail_lines: int | None = None,
        limit_bytes: int | None = None,
        timestamps: bool = False,
        insecure_skip_tls_verify_backend: bool = False,
        read_timeout: float | None = None,
    ) -> LogStream:
        """Stream the log of a container.

        ::

            async for line in pods.logs("web", follow=True):
                print(line)

            text = await pods.logs("web", tail_lines=100).read()

        Args:
            name: The pod's name.
            container: The container; may be left out if there is only one. Of several, the one is taken that the pod's
                annotation ``kubectl.kubernetes.io/default-container`` names, else the first.
            follow: Follow the log, over lost connections, until the container ends. A container that
                has not started yet is waited for.
            restarts: With `follow`, go on with the next instance when the container is started again, until the pod
                ends.
            previous: The log of the previous instance of the container.
            since: Only lines from this time on, to the second.
            since_seconds: Only lines of the last so many seconds.
            tail_lines: Start with the last so many lines.
            limit_bytes: End after so many bytes.
            timestamps: Prefix each line with its timestamp.
            insecure_skip_tls_verify_backend: Do not verify the kubelet's certificate.
            read_timeout: Seconds without a byte after which the connection is considered dead. None for the client's
                default. With `follow`, the log is then requested again from where it was: after 300 seconds by default.

        Raises:
            ArgumentError: If options contradict each other, or one is invalid.
            TimeError: If `since` is not a datetime, or has no time zone.
            StatusError: While reading, if the server refuses.
        """
        options = LogQuery(
            container=container,
            follow=follow,
            previous=previous,
            since=since,
            since_seconds=since_seconds,
            tail_lines=tail_lines,
            limit_bytes=limit_bytes,
            timestamps=timestamps,
            insecure_skip_tls_verify_backend=insecure_skip_tls_verify_backend,
        )
        # A followed log may be quiet for minutes; any other one is read without pauses.
        limit = FOLLOW_READ_TIMEOUT if read_timeout is None and follow else read_timeout
        return LogStream(self._log_source("", name, container or "", limit), options, restarts=restarts)

    def merged_logs(
        self,
        *,
        label_selector: LabelSelection | None = None,
        field_selector: FieldSelection | None = None,
        containers: str | Iterable[str] | re.Pattern[str] | None = None,
        init_containers: bool = False,
        ephemeral_containers: bool = False,
        follow: bool = False,
        previous: bool = False,
        since: datetime | None = None,
        since_seconds: int | None = None,
        tail_lines: int | None = None,
        limit_bytes: int | None = None,
        insecure_skip_tls_verify_backend: bool = False,
        read_timeout: float | None = None,
        max_streams: int = 200,
        on_error: Callable[[LogStreamError], None] | None = None,
    ) -> MergedLogs:
        """Merge the logs of many pods and containers, line by line.

        ::

            async with pods.merged_logs(label_selector="app=web", tail_lines=10) as lines:
                async for line in lines:
                    print(line)  # [pod/web-1/app] GET /

        With `follow`, pods join when they start and leave when they are deleted, and containers go on when they are
        started again; it ends when it is closed. Otherwise it ends after the last line.

        Args:
            label_selector: Only pods with matching labels.
            field_selector: Only pods with matching fields, such as ``spec.nodeName=node-1``.
            containers: Only the container of this name, of these names, or whose name as a whole matches a compiled
                regular expression.
            init_containers: Whether init containers are meant, too.
            ephemeral_containers: Whether ephemeral containers are meant, too.
            follow: Follow the logs as they are written, over lost connections.
            previous: The logs of the previous instances, of containers that have one.
            since: Only lines from this time on, to the second.
            since_seconds: Only lines of the last so many seconds.
            tail_lines: Start each log with its last so many lines; a container that starts later, with its first one.
            limit_bytes: End each log after so many bytes, not counting timestamps.
            insecure_skip_tls_verify_backend: Do not verify the kubelets' certificates.
            read_timeout: Seconds without a byte after which a connection is considered dead, and its log requested
                again from where it was; None for 300.
            max_streams: The maximum number of concurrent streams. Others wait until one of these ends.
            on_error: Called with the error of each log that ends early, on the event loop: it must not block. None to
                log a warning. What it raises ends the iteration.

        Raises:
            ArgumentError: If options contradict each other, or one is invalid.
            TimeError: If `since` is not a datetime, or has no time zone.
            SelectorError: If a selector is invalid.
            MastheadError: While iterating, if the pods cannot be listed or watched.
        """
        if max_streams < 1:
            raise ArgumentError(f"max_streams is {max_streams}; it must be at least 1", value=max_streams)
        options = LogQuery(
            follow=follow,
            previous=previous,
            since=since,
            since_seconds=since_seconds,
            tail_lines=tail_lines,
            limit_bytes=limit_bytes,
            insecure_skip_tls_verify_backend=insecure_skip_tls_verify_backend,
        )
        limit = FOLLOW_READ_TIMEOUT if read_timeout is None else read_timeout
        open_watch = functools.partial(
            self.watch, label_selector=label_selector, field_selector=field_selector, bookmarks=True
        )
        open_watch()  # so that an invalid selector raises in the caller

        async def pods() -> AsyncGenerator[WatchEvent[Object]]:
            if follow:
                async with open_watch() as events:
                    async for event in events:
                        yield cast("WatchEvent[Object]", event)
                return
            # Without follow, a list is enough, and needs no permission to watch.
            async for page in self.iter_pages(label_selector=label_selector, field_selector=field_selector):
                for pod in page.items:
                    yield WatchEvent("ADDED", cast("Object", pod))

        return MergedLogs(
            LogGroup(
                pods,
                lambda namespace, pod, container: self._log_source(namespace, pod, container, limit),
                ContainerFilter.of(containers, init=init_containers, ephemeral=ephemeral_containers),
                options,
                max_streams,
                on_error,
            )
        )

    def _log_source(self, namespace: str, name: str, container: str, read_timeout: float | None) -> LogSource:
        async def build_call(query: Query) -> Call:
            return self._build_call(
                await self._target(),
                "get",
                name=name,
                namespace=namespace,
                subresource="log",
                query=query,
                read_timeout=read_timeout,
            )

        async def get_pod() -> Object:
            return await self._read(name, namespace)

        return LogSource(self._context.rest, build_call, get_pod, container)
