"""Plain HTTP to a server: nothing of the library's own client, so that no bug hides on both sides."""

from __future__ import annotations

import http.client
import json
import re
import socket
import urllib.parse
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

Plain = dict[str, Any]
PATIENCE = 60.0
"""Seconds until a response counts as missing."""
MAPS = "/api/v1/namespaces/default/configmaps"
PODS = "/api/v1/namespaces/default/pods"
WATCH_LIST = "watch=1&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true"
JSON = "application/json"
MERGE_PATCH = "application/merge-patch+json"
JSON_PATCH = "application/json-patch+json"
APPLY_PATCH = "application/apply-patch+yaml"
KNOWN_500 = re.compile(
    r'(resourceVersion: Invalid value: ".*": )?strconv\.ParseUint: parsing '
    r"|resourceVersion should not be set on objects to be created$"
    r"|target\.(name|kind): "
    r"|Non-matching dry-run options in request and content: "
    r"|Internal error occurred: failed to allocate "
    r"|duplicate nodePort: "
    r'|invalid key: "'
    r"|map: map\[|unknown patch type: |expected a |expected slice or array type|list element types are not identical: "
    r"|value for key |unable to find api field |merging an object in json |merging lists cannot yet "
    r"|cannot merge lists without merge key |The order in patch list:|no elements in any of the given slices"
    r"|runtime error: hash of unhashable type "
    r"|failed to (create typed (patch|live) object|convert new object) \("
)
"""Messages of status 500 that kube-apiserver itself returns for errors of the client."""


@dataclass(frozen=True)
class CallResponse:
    """The response to a call."""

    code: int
    headers: Mapping[str, str]
    body: bytes

    @property
    def content_type(self) -> str:
        return self.headers.get("content-type", "")

    @property
    def json(self) -> Any:
        return json.loads(self.body)

    @property
    def failure(self) -> tuple[int, str, str]:
        """Code, reason and message of a Status, which it must be."""
        status = self.json
        assert (status["kind"], status["apiVersion"], status["status"]) == ("Status", "v1", "Failure"), status
        assert status["code"] == self.code
        return self.code, status.get("reason", ""), status["message"]


class Caller:
    """Sends requests over one connection, which is reopened when the server closed it."""

    def __init__(self, url: str, token: str | None = None) -> None:
        address = urllib.parse.urlsplit(url)
        assert address.hostname is not None
        assert address.port is not None
        self.host, self.port = address.hostname, address.port
        self._token = token
        self._connection = self.connect()

    def connect(self) -> http.client.HTTPConnection:
        return http.client.HTTPConnection(self.host, self.port, timeout=PATIENCE)

    def socket(self) -> socket.socket:
        """A connection for bytes that need not be HTTP."""
        return socket.create_connection((self.host, self.port), timeout=PATIENCE)

    def close(self) -> None:
        self._connection.close()

    def call(
        self,
        method: str,
        path: str,
        body: object = None,
        *,
        content_type: str | None = JSON,
        headers: Mapping[str, str] | None = None,
    ) -> CallResponse:
        """Send a request; a body that is no bytes is sent as JSON."""
        data = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        try:
            found = self._send(self._connection, method, path, data, content_type, headers or {})
            headers = {name.lower(): value for name, value in found.getheaders()}
            return CallResponse(found.status, headers, found.read())
        except BaseException:
            self._connection.close()  # the next call is to have a fresh one
            raise

    @contextmanager
    def watching(self, path: str, headers: Mapping[str, str] | None = None) -> Iterator[http.client.HTTPResponse]:
        """Open a watch, whose lines can then be read."""
        connection = self.connect()
        try:
            yield self._send(connection, "GET", path, None, None, headers or {})
        finally:
            connection.close()

    def events(self, path: str, count: int) -> list[Plain]:
        """The first so many events of a watch; fewer if it ends before."""
        with self.watching(path) as stream:
            assert stream.status == 200, stream.read()
            lines = [line for _ in range(count) if (line := stream.readline())]
        return [json.loads(line) for line in lines]

    def _send(
        self,
        connection: http.client.HTTPConnection,
        method: str,
        path: str,
        body: bytes | None,
        content_type: str | None,
        headers: Mapping[str, str],
    ) -> http.client.HTTPResponse:
        connection.putrequest(method, path, skip_accept_encoding=True)
        if self._token is not None and "Authorization" not in headers:
            connection.putheader("Authorization", f"Bearer {self._token}")
        if body is not None:
            connection.putheader("Content-Length", str(len(body)))
            if content_type is not None and "Content-Type" not in headers:
                connection.putheader("Content-Type", content_type)
        for name, value in headers.items():
            connection.putheader(name, value)
        connection.endheaders(body)
        return connection.getresponse()


def config_map(name: str, **rest: object) -> Plain:
    """A ConfigMap to send; keywords besides metadata's are its fields."""
    metadata = {key: rest.pop(key) for key in _OF_METADATA if key in rest}
    return {"kind": "ConfigMap", "apiVersion": "v1", "metadata": {"name": name, **metadata}, **rest}


_OF_METADATA = ("labels", "annotations", "finalizers", "resourceVersion", "uid", "namespace")
