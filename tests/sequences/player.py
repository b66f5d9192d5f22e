"""Sends the requests of sequences to one server."""

from __future__ import annotations

import http.client
import itertools
import json
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from tests.sequences.sequence import JSON, MERGE_PATCH, Observation, Step

if TYPE_CHECKING:
    from collections.abc import Iterable

    from tests.conformance.target import Target

NAMESPACE = "sequences"
DEFINITIONS = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions"
ATTEMPTS = 20_000
"""Requests until a definition is served; each of them takes a while."""
_TIME = re.compile(r"20(?:2[6-9]|[3-9]\d)-\d\d-\d\dT\d\d:\d\d:\d\dZ")
"""The times of servers; sequences themselves use earlier ones."""
_UID = re.compile(r"[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_VERSION = re.compile(r'(resourceVersion\\*":\\*")\d+')
_IP = re.compile(r'"(10\.\d+\.\d+\.\d+)"')
_PRINTED = (
    re.compile(r"(missing in ')\{.*\}(')", re.DOTALL),
    re.compile(r'(Invalid value: ")\{.*\}(": )', re.DOTALL),
)
"""Objects in a message, whose fields have an order of their own."""
_CHANGED_LINES = re.compile(r"\n@@ .*", re.DOTALL)
"""The lines that differ between two pods as the source code of the real server declares them."""
_UNDECLARED = ": field not declared in schema"
"""The end of a message about a field: which one of an object is reported, and what else in it, is random."""
_NAMES = itertools.count()


@dataclass
class Facts:
    """What a server made up for an object, and what stands for it in sequences."""

    name: str
    rv: str = "0"
    stale: str = "0"
    uid: str = ""
    ip: str = ""
    times: set[str] = field(default_factory=set)

    def reveal(self, text: str) -> str:
        """Put this server's values into the text of a request."""
        for name in ("name", "rv", "stale", "uid", "ip"):
            text = text.replace(f"{{{name}}}", getattr(self, name))
        return text.replace("{now}", max(self.times, default="2026-01-01T00:00:00Z"))

    def conceal(self, text: str) -> str:
        """Take this server's values out of the text of a response."""
        self.times.update(_TIME.findall(text))
        text = _VERSION.sub(r"\1{rv}", _TIME.sub("{now}", text.replace(self.name, "{name}")))
        return _IP.sub('"{ip}"', _UID.sub("{uid}", text))

    def learn(self, body: Any) -> bool:
        """Learn the values of an object that was read or written; returns whether it is a new version of it."""
        metadata = body.get("metadata") or {}
        self.uid = metadata.get("uid", self.uid)
        self.ip = (body.get("spec") or {}).get("clusterIP", self.ip) if body.get("kind") == "Service" else self.ip
        version = metadata.get("resourceVersion", self.rv)
        if version == self.rv:
            return False
        self.stale, self.rv = self.rv, version
        return True


class Player:
    """Plays sequences on one server, one after the other; every sequence has an object of its own."""

    def __init__(self, target: Target) -> None:
        self._target = target
        self._connection = target.connect()
        self.facts = Facts("")

    def close(self) -> None:
        self._connection.close()

    def prepare(self, definitions: Iterable[Any]) -> None:
        """Make the namespace and the definitions that all sequences share."""
        self.begin()
        self.play(Step("POST", "/api/v1/namespaces", {"metadata": {"name": NAMESPACE}}))
        for definition in definitions:
            assert self.play(Step("POST", DEFINITIONS, definition)).status in {201, 409}

    def begin(self) -> None:
        """Begin a sequence: its object has a name that nothing else has."""
        self.facts = Facts(f"q{next(_NAMES):06d}q")

    def replay(self, steps: Iterable[Step]) -> list[Observation]:
        """Play a whole sequence, and remove what it made."""
        self.begin()
        steps = list(steps)
        observations = [self.play(step) for step in steps]
        self.clean(steps)
        return observations

    def play(self, step: Step) -> Observation:
        """Send one request; after a change of a definition, wait until it is served."""
        response = self._send(step)
        warnings = sorted(self.facts.conceal(each) for each in response.headers.get_all("Warning") or [])
        data = response.read()
        if response.headers.get_content_type() != JSON:
            return Observation(response.status, False, warnings, self.facts.conceal(data.decode()))
        found = json.loads(data)
        if found.get("kind") == "CustomResourceDefinition":
            self._await_definition(found)
            return Observation(response.status, False, warnings, None)
        body = json.loads(self.facts.conceal(json.dumps(found, separators=(",", ":"))))
        if response.status >= 300 or found.get("kind") == "Status":
            return Observation(response.status, False, warnings, _failure(body))
        is_new = "dryRun" not in step.path and self.facts.learn(found)
        if len(self.facts.times) > 1:
            _sort_entries(body)
        return Observation(response.status, is_new, warnings, body)

    def clean(self, steps: Iterable[Step]) -> None:
        """Delete the objects of the sequence."""
        steps = list(steps)
        paths = {step.path.partition("?")[0] for step in steps}
        paths |= {f"{DEFINITIONS}/{step.body['metadata']['name']}" for step in steps if step.path == DEFINITIONS}
        for path in sorted({re.sub(r"(\{name\})/\w+$", r"\1", path) for path in paths if "{name}" in path}):
            if path.endswith("{name}") or path.startswith(DEFINITIONS):
                self._send(Step("PATCH", path, {"metadata": {"finalizers": None}}, MERGE_PATCH)).read()
                self._send(Step("DELETE", path)).read()

    def _send(self, step: Step) -> http.client.HTTPResponse:
        content_type = {"Content-Type": step.content_type} if step.body is not None else {}
        headers = {"Authorization": f"Bearer {self._target.token}", "User-Agent": step.agent, **content_type}
        body = None if step.body is None else self.facts.reveal(json.dumps(step.body, sort_keys=True)).encode()
        try:
            self._connection.request(step.method, self.facts.reveal(step.path), body, headers)
            return self._connection.getresponse()
        except (ConnectionError, http.client.HTTPException):
            self._connection.close()
            raise

    def _await_definition(self, definition: Any) -> None:
        """Wait until all versions of a definition are served with its newest schemas, by the default of a marker."""
        spec = definition["spec"]
        for version in spec["versions"]:
            marker = version["schema"]["openAPIV3Schema"]["properties"]["marker"]["default"]
            api_version = f"{spec['group']}/{version['name']}"
            path = f"/apis/{api_version}/namespaces/{NAMESPACE}/{spec['names']['plural']}?dryRun=All"
            body = {"apiVersion": api_version, "kind": spec["names"]["kind"], "metadata": {"name": "marker"}}
            for _ in range(ATTEMPTS):
                response = self._send(Step("POST", path, body))
                data = response.read()
                if response.status == 201 and json.loads(data)["marker"] == marker:
                    break
            else:
                raise TimeoutError(f"{definition['metadata']['name']} is not served")


def _sort_entries(body: Any) -> None:
    """Sort managedFields as if all requests had been sent within one second: a server sorts entries by time first."""
    if entries := (body.get("metadata") or {}).get("managedFields"):
        order = ("operation", "time", "manager", "apiVersion", "subresource")
        entries.sort(key=lambda entry: [entry.get(name, "") for name in order])


def _failure(body: Any) -> Any:
    """The parts of a failure that are compared; what has no fixed order is sorted."""
    details = body.get("details") or {}
    causes = [[each.get("reason", ""), each.get("field", ""), _message(each)] for each in details.get("causes") or []]
    message = "\n".join(_lines(_message(body)))
    if len(causes) > 1:
        message = message.partition(":")[0]  # the causes follow, in any order
    return {
        "status": body.get("status", ""),
        "reason": body.get("reason", ""),
        "message": message,
        "details": {name: value for name, value in details.items() if name != "causes"},
        "causes": sorted(causes),
    }


def _message(body: Any) -> str:
    message = _CHANGED_LINES.sub("", body.get("message", ""))
    for printed in _PRINTED:
        message = printed.sub(r"\1{…}\2", message)
    return message


def _lines(message: str) -> list[str]:
    """The lines of a message, sorted; of those about types, only which objects have undeclared fields, if any has."""
    lines = sorted(message.split("\n"))
    if not any(line.endswith(_UNDECLARED) for line in lines):
        return lines
    head = [line for line in lines if not line.startswith("  .") and not line.endswith(_UNDECLARED)]
    return head + [line.rpartition(".")[0] for line in lines if line.endswith(_UNDECLARED)]
