"""The API of a case: verbs of the Kubernetes API, each response of which is recorded."""

from __future__ import annotations

import http.client
import json
import time
import urllib.parse
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, Self, TypeAlias

from tests.conformance.resources import path_of

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from tests.conformance.target import Target

Plain: TypeAlias = dict[str, Any]
Query: TypeAlias = "str | int | bool | list[str]"

PATCH_TYPES = {
    "json": "application/json-patch+json",
    "merge": "application/merge-patch+json",
    "strategic": "application/strategic-merge-patch+json",
    "apply": "application/apply-patch+yaml",
}
COMPARED_HEADERS = ("Allow", "Content-Type", "Location", "Retry-After", "Warning", "WWW-Authenticate")
"""The headers compared in each response. A case may add more where it is about them."""

USER_AGENT = "case/1.0 (conformance)"
"""The part before the slash is the manager of what a case writes, unless it names another."""

LONGEST_SHOWN_BODY = 4096
MAX_WAIT = "10"
"""Seconds that a case waits for what the server does in its own time."""
LONGEST_WAIT_FOR_RESPONSE = 20
"""Seconds that a case waits for what the server makes in its own time."""


@dataclass
class Step:
    """One request, and all that is recorded of its response; nothing is normalised yet."""

    method: str
    path: str
    query: dict[str, list[str]]
    sent_headers: dict[str, str]
    sent: object
    status: int = 0
    headers: dict[str, list[str]] = field(default_factory=dict)
    body: object = None
    events: list[Plain] | None = None
    error: str = ""


class CallResponse:
    """The response of the server, for a script to continue from.

    Missing parts are empty and no error: the comparison detects a wrong response, and the script must get that far.
    """

    def __init__(self, step: Step) -> None:
        self.status = step.status
        self.body: Plain = step.body if isinstance(step.body, dict) else {}
        self.headers = step.headers

    @property
    def metadata(self) -> Plain:
        found = self.body.get("metadata")
        return found if isinstance(found, dict) else {}

    @property
    def name(self) -> str:
        return str(self.metadata.get("name", ""))

    @property
    def uid(self) -> str:
        return str(self.metadata.get("uid", ""))

    @property
    def version(self) -> str:
        return str(self.metadata.get("resourceVersion", ""))

    @property
    def token(self) -> str:
        """The continue token of the next page."""
        return str(self.metadata.get("continue", ""))


class Watch:
    """A stream that is open."""

    def __init__(self, step: Step, response: http.client.HTTPResponse | None) -> None:
        self._step = step
        self._response = response

    def read(self, count: int) -> Self:
        """Take the next events, exactly so many."""
        for _ in range(count):
            if not self._read_one():
                break
        return self

    def read_to_the_end(self) -> Self:
        """Take what comes until the server closes the stream."""
        while self._read_one():
            pass
        return self

    def _read_one(self) -> bool:
        if self._response is None or self._step.events is None or self._step.error:
            return False
        try:
            line = self._response.readline()
        except (OSError, http.client.HTTPException) as error:
            self._step.error = _described(error)
            return False
        if line:
            self._step.events.append(json.loads(line))
        return bool(line)


class Api:
    """A server as one case sees it, with a namespace of the case's own.

    Attributes:
        namespace: A name that no other run has. Cluster-scoped names are to begin with it.
        steps: The requests and responses so far.
    """

    def __init__(self, target: Target, namespace: str) -> None:
        self.namespace = namespace
        self.steps: list[Step] = []
        self._target = target
        self._connection = target.connect()
        self._made: list[str] = []

    # Objects and lists

    def create(self, resource: str, body: object, sub: str = "", **query: Query) -> CallResponse:
        """Send a new object; `sub` is ``name/subresource``."""
        return self.request("POST", self.path(resource, sub), body, query=query)

    def get(self, resource: str, name: str, **query: Query) -> CallResponse:
        """Get an object, or ``name/subresource``."""
        return self.request("GET", self.path(resource, name), query=query)

    def list(self, resource: str, *, everywhere: bool = False, **query: Query) -> CallResponse:
        """List the objects of the case's namespace, or of all."""
        return self.request("GET", self.path(resource, everywhere=everywhere), query=query)

    def update(self, resource: str, name: str, body: object, **query: Query) -> CallResponse:
        """Put an object, or ``name/subresource``, in place of what is there."""
        return self.request("PUT", self.path(resource, name), body, query=query)

    def patch(self, resource: str, name: str, patch: object, *, by: str = "merge", **query: Query) -> CallResponse:
        """Change an object, or ``name/subresource``; `by` is one of `PATCH_TYPES` or a media type."""
        headers = {"Content-Type": PATCH_TYPES.get(by, by)}
        return self.request("PATCH", self.path(resource, name), patch, query=query, headers=headers)

    def apply(
        self, resource: str, name: str, configuration: object, manager: str = "one", **query: Query
    ) -> CallResponse:
        """Apply the configuration of an object, or of ``name/subresource``, as a manager."""
        return self.patch(resource, name, configuration, by="apply", fieldManager=manager, **query)

    def delete(self, resource: str, name: str, options: object = None, **query: Query) -> CallResponse:
        """Remove an object."""
        return self.request("DELETE", self.path(resource, name), options, query=query)

    def delete_all(self, resource: str, options: object = None, **query: Query) -> CallResponse:
        """Remove the objects of the case's namespace that the query selects."""
        return self.request("DELETE", self.path(resource), options, query=query)

    def watch(self, resource: str, *, events: int | None = None, everywhere: bool = False, **query: Query) -> None:
        """Take so many events, or all until the server closes the stream, and let go."""
        with self.watching(resource, everywhere=everywhere, **query) as stream:
            if events is None:
                stream.read_to_the_end()
            else:
                stream.read(events)

    @contextmanager
    def watching(self, resource: str, *, everywhere: bool = False, **query: Query) -> Iterator[Watch]:
        """Keep a watch open during the block."""
        parameters: dict[str, Query] = {"watch": True, **query}
        with self.stream(self.path(resource, everywhere=everywhere), query=parameters) as stream:
            yield stream

    def path(self, resource: str, rest: str = "", *, everywhere: bool = False) -> str:
        """The path of a resource, object or subresource."""
        return path_of(resource, "" if everywhere else self.namespace) + (f"/{rest}" if rest else "")

    def compact(self) -> None:
        """Make the server forget the versions that are not the newest."""
        self._target.compact()

    # Any request

    def request(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        query: Mapping[str, Query] | None = None,
        headers: dict[str, str] | None = None,
        compare: tuple[str, ...] = (),
        pick: Callable[[Any], object] | None = None,
    ) -> CallResponse:
        """Send a request, and record its response.

        Args:
            method: HTTP's.
            path: Where to, from the first slash on.
            body: Bytes or text as they are, else what is sent as JSON.
            query: What follows the question mark; one underscore behind a name is taken off.
            headers: More of them, or others. An empty one is not sent.
            compare: Headers of the response that are compared too.
            pick: Takes the part of a large body that is recorded.
        """
        step = self._step(method, path, body, query, headers)
        self._let_the_cache_catch_up(step)
        try:
            response = self._send(self._connection, step, body)
            step.body = _parsed(response, response.read())
            self._keep(step, response, compare)
            if pick is not None and step.body is not None:
                step.body = pick(step.body)
        except (OSError, http.client.HTTPException) as error:
            step.error = _described(error)
            self._connection.close()
        self._remember(step)
        return CallResponse(step)

    def show(self, what: str, value: object) -> None:
        """Record something that the script has computed from responses."""
        self.steps.append(Step("SHOW", what, {}, {}, None, body=value))

    @contextmanager
    def stream(
        self, path: str, *, query: Mapping[str, Query] | None = None, headers: dict[str, str] | None = None
    ) -> Iterator[Watch]:
        """Send a request whose response is a stream of events, and keep it open during the block."""
        step = self._step("GET", path, None, query, headers)
        self._let_the_cache_catch_up(step)
        connection = self._target.connect()
        try:
            response = self._send(connection, step, None)
            self._keep(step, response, ())
            streams = response.status == 200
            if streams:
                step.events = []
            else:
                step.body = _parsed(response, response.read())
            yield Watch(step, response if streams else None)
        except (OSError, http.client.HTTPException) as error:
            step.error = _described(error)
            step.events = []
            yield Watch(step, None)
        finally:
            connection.close()

    def _step(
        self,
        method: str,
        path: str,
        body: object,
        query: Mapping[str, Query] | None,
        headers: dict[str, str] | None,
    ) -> Step:
        parameters = {name.removesuffix("_"): _written(value) for name, value in (query or {}).items()}
        step = Step(method, path, parameters, headers or {}, _shown(body))
        self.steps.append(step)
        return step

    def _send(self, connection: http.client.HTTPConnection, step: Step, body: object) -> http.client.HTTPResponse:
        headers = {"Authorization": f"Bearer {self._target.token}", "User-Agent": USER_AGENT}
        if body is not None:
            headers["Content-Type"] = "application/json"
        headers |= step.sent_headers
        address = step.path + (f"?{urllib.parse.urlencode(step.query, doseq=True)}" if step.query else "")
        connection.request(
            step.method,
            urllib.parse.quote(address, safe="/?&=%:+~,.!()'*$@;"),
            body=_encoded(body),
            headers={name: value for name, value in headers.items() if value},
        )
        return connection.getresponse()

    @staticmethod
    def _keep(step: Step, response: http.client.HTTPResponse, compare: tuple[str, ...]) -> None:
        step.status = response.status
        for name in (*COMPARED_HEADERS, *compare):
            if found := response.headers.get_all(name):
                step.headers[name] = found

    # What a case does not see

    def quietly(self, method: str, path: str, body: object = None, **headers: str) -> tuple[int, Plain]:
        """Send a request that is not part of the case."""
        step = Step(method, path, {}, {name.replace("_", "-"): value for name, value in headers.items()}, None)
        try:
            response = self._send(self._connection, step, body)
            parsed = _parsed(response, response.read())
        except (OSError, http.client.HTTPException):
            self._connection.close()
            return 0, {}
        return response.status, parsed if isinstance(parsed, dict) else {}

    def await_event(self, path: str, name: str, is_met: Callable[[Plain], bool], *, since: str = "") -> None:
        """Wait, unrecorded, until an event of an object is as wanted, or the time is up.

        Its current state is the first event, unless only those since a version are wanted.
        """
        query = {
            "watch": ["true"],
            "fieldSelector": [f"metadata.name={name}"],
            "timeoutSeconds": [MAX_WAIT],
        }
        if since:
            query["resourceVersion"] = [since]
        connection = self._target.connect()
        try:
            response = self._send(connection, Step("GET", path, query, {}, None), None)
            while response.status == 200 and (line := response.readline()):
                if is_met(json.loads(line)):
                    return
        finally:
            connection.close()

    def await_response(
        self,
        path: str,
        is_met: Callable[[int, Plain], bool],
        *,
        method: str = "GET",
        body: Plain | None = None,
    ) -> None:
        """Wait, unrecorded, until the response to a request is as wanted, or the time is up."""
        deadline = time.monotonic() + LONGEST_WAIT_FOR_RESPONSE
        while not is_met(*self.quietly(method, path, body)) and time.monotonic() < deadline:
            pass

    def close(self) -> None:
        """Remove what the case made, and let go of the server."""
        for path in reversed(self._made):
            self._remove(path)
        self._connection.close()

    def _let_the_cache_catch_up(self, step: Step) -> None:
        """Reads at a version are served from a cache, which a list without one brings up to date."""
        if step.method == "GET" and ("resourceVersion" in step.query or "watch" in step.query):
            collection = step.path.replace("/watch/", "/")
            self.quietly("GET", f"{collection}?limit=1")

    def _remember(self, step: Step) -> None:
        if step.status != 201 or "dryRun" in step.query:
            return
        # A Table does not have the name of the object, and without it the path would be that of the collection.
        if step.method == "POST" and (name := CallResponse(step).name):
            self.remove_at_the_end(f"{step.path}/{name}")
        elif step.method in {"PUT", "PATCH"}:
            self.remove_at_the_end(step.path)

    def remove_at_the_end(self, path: str) -> None:
        """Keep in mind that something is there."""
        self._made.append(path)

    def _remove(self, path: str) -> None:
        path = urllib.parse.quote(path, safe="/:%")
        status, found = self.quietly("GET", path)
        if status != 200:
            return
        if found.get("metadata", {}).get("finalizers"):
            without = {"metadata": {"finalizers": None}}
            self.quietly("PATCH", path, without, Content_Type=PATCH_TYPES["merge"])
        self.quietly("DELETE", f"{path}?gracePeriodSeconds=0&propagationPolicy=Background")
        if found.get("kind") == "Namespace":
            # No controller is there to empty and finalize it.
            self.quietly(
                "PUT",
                f"{path}/finalize",
                {**found, "spec": {"finalizers": []}, "metadata": {"name": found["metadata"]["name"]}},
            )


@contextmanager
def api_for_a_case(target: Target, namespace: str) -> Iterator[Api]:
    """Make the namespace that a case lives in, and remove it and all else afterwards."""
    api = Api(target, namespace)
    api.remove_at_the_end(f"/api/v1/namespaces/{namespace}")
    try:
        status, document = api.quietly("POST", "/api/v1/namespaces", {"metadata": {"name": namespace}})
        if status != 201:
            raise RuntimeError(f"the namespace {namespace} could not be made: {document}")
        yield api
    finally:
        api.close()


def _written(value: Query) -> list[str]:
    if isinstance(value, list):
        return value
    return [str(value).lower() if isinstance(value, bool) else str(value)]


def _encoded(body: object) -> bytes | None:
    if body is None or isinstance(body, bytes):
        return body
    return body.encode() if isinstance(body, str) else json.dumps(body).encode()


def _shown(body: object) -> object:
    written = _encoded(body) or b""
    if len(written) > LONGEST_SHOWN_BODY:
        return f"<{len(written)} bytes>"
    return body.decode("utf-8", "replace") if isinstance(body, bytes) else body


def _parsed(response: http.client.HTTPResponse, body: bytes) -> object:
    if not body:
        return None
    if "json" in response.headers.get("Content-Type", ""):
        try:
            return json.loads(body)
        except ValueError:
            pass
    return body.decode("utf-8", "replace")


def _described(error: Exception) -> str:
    return "no response in time" if isinstance(error, TimeoutError) else f"no response: {type(error).__name__}"
