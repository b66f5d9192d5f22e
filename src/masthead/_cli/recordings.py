"""Chooses the kinds of a recording, runs it, and says how it goes."""

from __future__ import annotations

import asyncio
import time
from contextlib import asynccontextmanager, suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final
from urllib.parse import quote

from masthead._cli.connection import connection_error
from masthead._cli.failures import CommandError, explain
from masthead._cli.sizes import human_size
from masthead._errors.base import counted
from masthead._recorder.feeds import KindDetails
from masthead._recorder.recorder import Recorder, RecorderStatistics, learn_kinds, learn_version
from masthead._recording.redaction import DEFAULT_RULES
from masthead.errors import DeadlineError, StatusError, UnknownKindError

if TYPE_CHECKING:
    from collections.abc import AsyncGenerator, Sequence

    from masthead import aio
    from masthead._discovery.model import ServedResource

__all__ = ["RecordingRequest", "RecordingRun"]

_AT_ONCE: Final = 8
_LISTED_WITHIN: Final = 60.0
_TWICE_SERVED: Final = "events.events.k8s.io"
"""Events are the same objects in two groups."""


@dataclass(frozen=True, slots=True, kw_only=True)
class RecordingRequest:
    """What to record, and where.

    Attributes:
        kinds: The kinds; empty for all.
        path: The file.
        namespace: The namespace; None for all, and for cluster-scoped objects.
        label_selector: The label selector.
        field_selector: The field selector.
        max_bytes: The size at which another file begins.
        max_age: The age at which another file begins.
        keep: The number of files to keep.
        rules: What to leave out beside the values of Secrets.
        keep_secrets: Whether the values of Secrets are recorded.
    """

    kinds: Sequence[str]
    path: str
    namespace: str | None = None
    label_selector: str | None = None
    field_selector: str | None = None
    max_bytes: int | None = None
    max_age: float | None = None
    keep: int | None = None
    rules: Sequence[str] = ()
    keep_secrets: bool = False


class RecordingRun:
    """One run of the command.

    Args:
        request: What to record.
    """

    def __init__(self, request: RecordingRequest) -> None:
        self._request = request
        self._kinds: list[ServedResource] = []
        self._recorder: Recorder | None = None
        self._factory: aio.SharedInformerFactory | None = None
        self._began = time.monotonic()

    @property
    def statistics(self) -> RecorderStatistics:
        """What was recorded so far."""
        return RecorderStatistics() if self._recorder is None else self._recorder.statistics

    @property
    def connection_error(self) -> str:
        """The problem of one of the watches; empty without one."""
        healths = () if self._factory is None else self._factory.health.values()
        return next((error for health in healths if (error := connection_error(health))), "")

    async def choose_kinds(self, client: aio.Client) -> list[str]:
        """Choose the kinds that can be recorded; return a line about each that cannot.

        Raises:
            CommandError: If there is none.
            UnknownKindError: If the server does not have a kind.
            MastheadError: As any call.
        """
        limit = asyncio.Semaphore(_AT_ONCE)

        async def probe(resource: ServedResource) -> str:
            async with limit:
                return await self._probe(client, resource)

        wanted = await self._wanted(client)
        problems = await asyncio.gather(*(probe(resource) for resource in wanted))
        self._kinds = [resource for resource, problem in zip(wanted, problems, strict=True) if not problem]
        lines = [
            f"{resource.gvr.group_resource} are not recorded: {problem}"
            for resource, problem in zip(wanted, problems, strict=True)
            if problem
        ]
        if not self._kinds:
            raise CommandError("there is nothing to record", hint="; ".join(lines[:3]))
        return lines

    async def _wanted(self, client: aio.Client) -> list[ServedResource]:
        served = await client.discovery.preferred_resources()
        if self._request.kinds:
            found = [resource for kind in self._request.kinds for resource in await self._find(client, kind)]
            # A kind may be in a category that is named, too.
            resources = list({resource.gvr: resource for resource in found}.values())
        else:
            resources = [resource for resource in served if resource.gvr.group_resource != _TWICE_SERVED]
        return [
            resource
            for resource in resources
            if {"list", "watch"} <= {*resource.verbs}
            and (resource.namespaced or self._request.namespace is None or self._request.kinds)
        ]

    async def _find(self, client: aio.Client, kind: str) -> Sequence[ServedResource]:
        try:
            return [await client.mapper.find(kind)]
        # A kind takes precedence over a category with the same name.
        except UnknownKindError:
            try:
                return await client.mapper.category(kind)
            except UnknownKindError:
                pass
            raise

    async def _probe(self, client: aio.Client, resource: ServedResource) -> str:
        """Why a kind cannot be listed; empty if it can."""
        namespace = self._request.namespace
        prefix = f"/apis/{resource.gvr.group}" if resource.gvr.group else "/api"
        place = f"/namespaces/{quote(namespace, safe='')}" if namespace and resource.namespaced else ""
        try:
            # One object is enough to know, and an informer would only log its refusals.
            await client.rest.get(f"{prefix}/{resource.gvr.version}{place}/{resource.name}", query={"limit": "1"})
        except StatusError as error:
            # Forbidden, or of an aggregated API whose server is down: the other kinds are worth recording.
            return explain(error).line
        return ""

    @asynccontextmanager
    async def recording(self, client: aio.Client) -> AsyncGenerator[None]:
        """Record while the context is entered.

        Raises:
            RecordingError: If the file cannot be created.
            ArgumentError: If a rule or a selector is invalid.
        """
        from masthead._cache.factory.factory import SharedInformerFactory

        request = self._request
        factory = self._factory = SharedInformerFactory(
            client,
            namespace=request.namespace,
            label_selector=request.label_selector,
            field_selector=request.field_selector,
        )
        recorder = self._recorder = Recorder(
            factory,
            request.path,
            redact=(*(() if request.keep_secrets else DEFAULT_RULES), *request.rules),
            max_bytes=request.max_bytes,
            max_age=request.max_age,
            keep=request.keep,
        )
        details = {
            resource.gvr: KindDetails(resource.kind, resource.namespaced, resource.short_names)
            for resource in self._kinds
        }
        learn_kinds(recorder, details)
        learn_version(recorder, (await client.discovery.server_version()).git_version)
        for resource in self._kinds:
            # A class may not know whether a kind has namespaces; discovery does.
            factory.dynamic(resource.gvr, namespace=None if resource.namespaced else "")
        self._began = time.monotonic()
        async with recorder, factory:
            yield

    async def wait_until_listed(self) -> None:
        """Wait until all kinds were listed, but not for ever: one of them may be out of order."""
        if self._factory is not None:
            with suppress(DeadlineError):
                await self._factory.wait_for_cache_sync(_LISTED_WITHIN)

    def status(self) -> str:
        """How it goes, in a line."""
        statistics, passed = self.statistics, time.monotonic() - self._began
        problem = statistics.error or self.connection_error
        waiting = 0 if self._factory is None else sum(not health.is_synced for health in self._factory.health.values())
        parts = [
            f"recording {counted(len(self._kinds), 'kind')} for {passed:.0f} s",
            f"{counted(statistics.changes, 'change')} ({statistics.changes / max(passed, 1):.1f}/s)",
            human_size(statistics.bytes),
            *([f"{counted(waiting, 'kind')} not listed yet"] if waiting else []),
            *([counted(statistics.gaps, "gap")] if statistics.gaps else []),
            *([f"{counted(statistics.dropped, 'change')} lost"] if statistics.dropped else []),
            *([problem] if problem else []),
        ]
        return ", ".join(parts)

    def summary(self) -> str:
        """What was recorded."""
        statistics = self.statistics
        lost = f", {counted(statistics.dropped, 'change')} lost" if statistics.dropped else ""
        return (
            f"recorded {counted(statistics.changes, 'change')} of {counted(len(self._kinds), 'kind')} with "
            f"{counted(statistics.gaps, 'gap')}{lost}: {human_size(statistics.bytes)} in "
            f"{counted(statistics.files, 'file')}, {self._request.path}"
        )
