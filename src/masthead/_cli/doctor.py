"""Gathers the facts for ``doctor``: from the configuration, the network and the server.

Checks are isolated: an exception is the finding of its check, and the others run. Checks that depend on a failed one
are skipped.
"""

from __future__ import annotations

import asyncio
import time
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Final

from masthead._cli import diagnosis
from masthead._cli.diagnosis import Diagnosis
from masthead._cli.doctor_credentials import check_credentials
from masthead._cli.doctor_network import check_dns, check_tcp, check_tls
from masthead._cli.failures import explain
from masthead._config.address import split_address
from masthead._errors.base import counted
from masthead.errors import ForbiddenError, MastheadError, NotFoundError, UnauthorizedError

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Awaitable, Callable, Sequence

    from masthead import aio
    from masthead._cli.shared_options import State
    from masthead._config.model import Config
    from masthead._transport.contract import Transport, TransportRequest, TransportResponse

__all__ = ["CHECKS", "examine"]

_PATIENCE: Final = 10.0
"""Seconds that one check may take."""
_SAMPLES: Final = 5
_USUAL: Final = (
    ("get", "", "pods"),
    ("list", "", "pods"),
    ("watch", "", "pods"),
    ("create", "", "pods"),
    ("delete", "", "pods"),
    ("create", "", "pods/exec"),
    ("get", "", "pods/log"),
    ("list", "", "secrets"),
    ("list", "", "events"),
    ("patch", "apps", "deployments"),
    ("create", "coordination.k8s.io", "leases"),
    ("list", "", "nodes"),
)
"""What most programs and people do: verb, group and resource."""
CHECKS: Final = (
    "configuration", "credentials", "dns", "tcp", "tls", "http", "identity", "clock", "version", "discovery",
    "namespace", "access", "latency", "watch", "throttling",
)  # fmt: skip
"""The checks, in their order."""
_KNOWN_USERS: Final = frozenset({"version", "discovery", "namespace", "access", "watch"})
"""The checks that a server answers only to users that it knows."""


class CheckRecorder:
    """A transport that remembers what the responses say about the server.

    Args:
        inner: The transport.
    """

    def __init__(self, inner: Transport) -> None:
        self._inner = inner
        self.responses = 0
        self.refusals = 0
        self.flow_schemas = 0
        self.date = ""
        self.sent = self.received = datetime.now(UTC)

    async def send(self, request: TransportRequest) -> TransportResponse:
        """Send a request, and read the head of its response."""
        sent = datetime.now(UTC)
        response = await self._inner.send(request)
        self.responses += 1
        self.refusals += response.status == 429
        self.flow_schemas += bool(response.header("X-Kubernetes-PF-FlowSchema-UID"))
        self.date, self.sent, self.received = response.header("Date"), sent, datetime.now(UTC)
        return response

    async def close(self) -> None:
        """Close the transport."""
        await self._inner.close()


async def examine(state: State, on_check: Callable[[str], object]) -> AsyncIterator[Diagnosis]:
    """Run all checks, one after the other.

    Args:
        state: The shared options.
        on_check: Is called with the name of each check before it runs.
    """
    # Without a configuration there is no address to check, so that all other checks are skipped.
    on_check("configuration")
    try:
        config = state.config()
    except MastheadError as error:
        said = explain(error)
        yield Diagnosis("configuration", "fail", said.line, said.hint)
        for name in CHECKS[1:]:
            yield _skip_check(name, "configuration")
        return
    yield _configuration(config)
    now = datetime.now(UTC)
    # In a thread, because it reads files.
    for finding in await asyncio.to_thread(check_credentials, config, now):
        yield finding
    async for finding in _network(config, on_check):
        yield finding
        # DNS, TCP, TLS and HTTP build on each other; a second failure would only repeat the first.
        if finding.mark == "fail":
            for name in CHECKS[CHECKS.index(finding.check) + 1 :]:
                yield _skip_check(name, finding.check)
            return
    async for finding in _server(state, on_check):
        yield finding


def _skip_check(name: str, failed: str) -> Diagnosis:
    return Diagnosis(name, "skip", f"not checked, because {failed} failed", "", {"needs": failed})


def _configuration(config: Config) -> Diagnosis:
    # Nothing of the path: that of an embedded server holds its token.
    server = str(split_address(config.server))
    facts = {"server": server, "namespace": config.namespace, "origin": config.origin}
    where = f", from {config.origin}" if config.origin else ""
    line = f"{server}, namespace {config.namespace}{where}"
    if config.impersonate is not None:
        line += f", acting as {config.impersonate.user}"
    return Diagnosis("configuration", "ok", line, "", facts)


async def _network(config: Config, on_check: Callable[[str], object]) -> AsyncIterator[Diagnosis]:
    for name, check in (("dns", check_dns), ("tcp", check_tcp), ("tls", check_tls)):
        on_check(name)
        yield await isolated(name, check(config))


async def isolated(name: str, check: Awaitable[Diagnosis]) -> Diagnosis:
    """Run a check; what it raises, or that it takes too long, is its finding."""
    limit = asyncio.timeout(_PATIENCE)
    try:
        async with limit:
            return await check
    except MastheadError as error:  # the error of a deadline is a TimeoutError as well, and names the deadline
        said = explain(error)
        return Diagnosis(name, "fail", said.line, said.hint)
    except OSError as error:
        if limit.expired():
            line = f"took longer than {_PATIENCE:g} s"
            return Diagnosis(name, "fail", line, "the network or the server is slow")
        return Diagnosis(name, "fail", str(error), "check the address and the network")


async def _server(state: State, on_check: Callable[[str], object]) -> AsyncIterator[Diagnosis]:
    """The checks that make requests, with the credentials of the configuration."""
    async with state.connect_async() as client:
        recorders: list[CheckRecorder] = []

        def wrap(inner: Transport) -> Transport:
            recorders.append(CheckRecorder(inner))
            return recorders[-1]

        # Below retries and authentication, so that the recorder counts the 429s that retries hide.
        client.rest.wrap_transport(wrap)
        visit = _Visit(client, recorders[0])
        failed: dict[str, str] = {}
        for name in CHECKS[CHECKS.index("http") :]:
            if name in failed:
                yield _skip_check(name, failed[name])
                continue
            on_check(name)
            found = await isolated(name, getattr(visit, f"check_{name}")())
            yield found
            if name == "http" and found.mark == "fail":
                failed = dict.fromkeys(CHECKS, "http")
            if name == "identity" and found.mark == "fail":
                failed = dict.fromkeys(_KNOWN_USERS, "identity")


class _Visit:
    """The checks of a server that can be reached."""

    def __init__(self, client: aio.Client, recorder: CheckRecorder) -> None:
        self._client = client
        self._recorder = recorder

    async def check_http(self) -> Diagnosis:
        """Whether an API server answers."""
        try:
            version = await self._client.discovery.server_version()
        # A refusal is an answer, too: credentials and permissions are the subject of later checks.
        except UnauthorizedError:
            return Diagnosis("http", "ok", "an API server answers, and does not know the user")
        except ForbiddenError:
            return Diagnosis("http", "ok", "an API server answers, and does not tell its version")
        return Diagnosis("http", "ok", f"an API server answers: {version.git_version}")

    async def check_identity(self) -> Diagnosis:
        """Who the server takes us for."""
        from masthead.api.authentication.v1 import SelfSubjectReview

        try:
            review = await self._client.authentication_v1.self_subject_reviews().create(SelfSubjectReview())
        except UnauthorizedError as error:
            hint = "log in again, or check the user of the context"
            return Diagnosis("identity", "fail", f"the server refuses the credentials: {error.message}", hint)
        except (NotFoundError, ForbiddenError):
            return Diagnosis("identity", "skip", "the server does not say who one is")
        user = review.status.user_info
        name, groups = user.username or "nobody", list(user.groups)
        line = f"{name} ({', '.join(groups)})" if groups else name
        # Without credentials many servers answer as anonymous instead of refusing with a 401.
        if name == "system:anonymous":
            hint = "the configuration has no credentials that count: log in, or check the user of the context"
            return Diagnosis("identity", "warn", line, hint)
        return Diagnosis("identity", "ok", line, "", {"user": name, "groups": groups})

    async def check_clock(self) -> Diagnosis:
        """Whether the clocks agree."""
        await self._probe()
        return diagnosis.judge_clock(_date(self._recorder.date), self._recorder.sent, self._recorder.received)

    async def check_version(self) -> Diagnosis:
        """Which version the server has."""
        version = await self._client.discovery.server_version()
        return diagnosis.judge_version(version.git_version, version.number)

    async def check_discovery(self) -> Diagnosis:
        """Whether all groups of the API can be discovered."""
        # The cache on disk would hide that an aggregated API is down now.
        self._client.discovery.invalidate()
        found = await self._client.discovery.resources()
        facts = {"resources": len(found), "groups": len(found.groups)}
        if not found.failures:
            line = f"{counted(len(found), 'resource')} in {counted(len(found.groups), 'group')}"
            return Diagnosis("discovery", "ok", line, "", facts)
        broken = ", ".join(sorted(map(str, found.failures)))
        hint = "the backends of aggregated APIs are down: masthead get apiservices shows them"
        return Diagnosis("discovery", "warn", f"cannot be discovered: {broken}", hint, facts)

    async def check_namespace(self) -> Diagnosis:
        """Whether the namespace exists."""
        name = self._client.namespace
        try:
            found = await self._client.core_v1.namespaces().get(name)
        except NotFoundError:
            hint = "name another one with -n, or create it; masthead get namespaces lists them"
            return Diagnosis("namespace", "fail", f"{name} does not exist", hint)
        except ForbiddenError:
            return Diagnosis("namespace", "skip", f"whether {name} exists may not be asked")
        if found.metadata.deletion_timestamp is not None:
            return Diagnosis("namespace", "warn", f"{name} is being deleted", "nothing can be created in it")
        return Diagnosis("namespace", "ok", f"{name} exists")

    async def check_access(self) -> Diagnosis:
        """What of the usual is allowed."""
        answers = await asyncio.gather(*(self._is_allowed(*attributes) for attributes in _USUAL))
        asked = [f"{verb} {resource}" for verb, _, resource in _USUAL]
        return diagnosis.judge_access(dict(zip(asked, answers, strict=True)), self._client.namespace)

    async def _is_allowed(self, verb: str, group: str, resource: str) -> bool:
        from masthead.api.authorization.v1 import SelfSubjectAccessReview

        plural, _, subresource = resource.partition("/")
        attributes = {
            "verb": verb,
            "group": group,
            "resource": plural,
            "subresource": subresource,
            # Nodes are cluster-scoped: a namespace would bring in RoleBindings, which never apply to them.
            "namespace": "" if plural == "nodes" else self._client.namespace,
        }
        asked = SelfSubjectAccessReview.from_dict({"spec": {"resourceAttributes": attributes}})
        review = await self._client.authorization_v1.self_subject_access_reviews().create(asked)
        return bool(review.status.allowed)

    async def check_latency(self) -> Diagnosis:
        """How quickly the server answers."""
        seconds: list[float] = []
        for _ in range(_SAMPLES):
            begin = time.perf_counter()
            await self._probe()
            seconds.append(time.perf_counter() - begin)
        return diagnosis.judge_latency(seconds)

    async def check_watch(self) -> Diagnosis:
        """Whether a watch delivers."""
        begin = time.perf_counter()
        try:
            async with (
                # Half of the check's time, so that silence is reported as such, and not as a slow check.
                asyncio.timeout(_PATIENCE / 2),
                # Metadata only, since no field is read.
                self._client.metadata("v1", "pods", namespace=self._client.namespace).watch(bookmarks=True) as events,
            ):
                await anext(events)
        except ForbiddenError as error:
            return diagnosis.judge_watch(None, explain(error).line, "informers need the verbs list and watch")
        except MastheadError as error:
            said = explain(error)
            return diagnosis.judge_watch(None, said.line, said.hint)
        except TimeoutError:
            return diagnosis.judge_watch(None, "")
        return diagnosis.judge_watch(time.perf_counter() - begin, "")

    async def check_throttling(self) -> Diagnosis:
        """Whether requests were turned away."""
        seen = self._recorder
        return diagnosis.judge_throttling(seen.refusals, seen.responses, seen.flow_schemas)

    async def _probe(self) -> None:
        """Make a small request; any answer will do."""
        try:
            await self._client.rest.get("/version")
        except (UnauthorizedError, ForbiddenError):
            return


def _date(header: str) -> datetime | None:
    try:
        return parsedate_to_datetime(header).astimezone(UTC)
    except ValueError:
        return None


def is_healthy(findings: Sequence[Diagnosis]) -> bool:
    """Whether no check has failed."""
    return all(finding.mark != "fail" for finding in findings)
