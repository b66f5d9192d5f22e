"""Admission webhooks for cases: a scripted HTTPS server that both servers call, and the configurations that name it.

Certificates are made for each process. Configurations are written unrecorded, so that recordings hold neither
certificates nor ports; the reviews that arrive are recorded as steps.
"""

from __future__ import annotations

import base64
import functools
import json
import ssl
import threading
import urllib.parse
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias

import trustme
from tests.conformance.api import Step

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator

    from tests.conformance.api import Api, Plain

Answer: TypeAlias = "Callable[[Plain], Plain | bytes | tuple[int, bytes] | None]"
"""Makes the response to a review: a review, a body, a status code and a body, or None to hang until the end."""

MUTATING = "mutatingwebhookconfigurations"
VALIDATING = "validatingwebhookconfigurations"
_KINDS = {MUTATING: "MutatingWebhookConfiguration", VALIDATING: "ValidatingWebhookConfiguration"}
_PATH = "/apis/admissionregistration.k8s.io/v1"
_PROBE = "probe"
_SHOWN_HEADERS = ("Accept", "Content-Type", "User-Agent")


def respond(review: Plain, **response: Any) -> Plain:
    """Return the review of a response."""
    uid = review["request"]["uid"]
    return {"apiVersion": review["apiVersion"], "kind": "AdmissionReview", "response": {"uid": uid, **response}}


def allow(**response: Any) -> Answer:
    """Allow every request."""
    return lambda review: respond(review, allowed=True, **response)


def deny(**response: Any) -> Answer:
    """Deny every request."""
    return lambda review: respond(review, allowed=False, **response)


def patch(*operations: Plain, **response: Any) -> Answer:
    """Allow every request, and change its object by a JSON patch."""
    return patch_text(json.dumps(operations), **response)


def patch_text(text: str, **response: Any) -> Answer:
    """Allow every request, with a patch that may be malformed."""
    encoded = base64.b64encode(text.encode()).decode()
    return lambda review: respond(review, **{"allowed": True, "patch": encoded, "patchType": "JSONPatch", **response})


def send(body: bytes | str, code: int = 200) -> Answer:
    """Send a body as it is."""
    data = body.encode() if isinstance(body, str) else body
    return lambda _review: (code, data)


def hang(_review: Plain) -> None:
    """Send nothing until the end of the case."""


class ScriptedWebhook:
    """An HTTPS server on loopback that answers reviews by path.

    Args:
        namespace: The namespace of the case, for the names of its certificate.
        tls: Whether it speaks TLS.
        content_type: The media type of its responses.
        names: The names of its certificate; by default all by which cases reach it.

    Attributes:
        content_type: The same.
        answers: The answer of each path; a path without one allows everything.
        reviews: The reviews that have arrived, each with its path, query and headers.
        ended: Set at the end of the case.
        probes: The numbers of the webhooks that tell whether configurations are in use, by resource.
    """

    def __init__(self, namespace: str, *, tls: bool, content_type: str, names: tuple[str, ...]) -> None:
        self.content_type = content_type
        self.answers: dict[str, Answer] = {}
        self.reviews: list[Step] = []
        self.ended = threading.Event()
        self.probes: dict[str, list[str]] = {}
        self._namespace = namespace
        handler = type("Handler", (_Handler,), {"webhook": self})
        self._server = _Server(("127.0.0.1", 0), handler)
        if tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            certificate = authority().issue_cert(*(names or ("127.0.0.1", "localhost", f"hook.{namespace}.svc")))
            certificate.configure_cert(context)
            listening = self._server.socket
            self._server.socket = context.wrap_socket(listening, server_side=True, do_handshake_on_connect=False)
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,), daemon=True)
        self._thread.start()

    @property
    def port(self) -> int:
        """The port on 127.0.0.1."""
        return int(self._server.server_address[1])

    def at(self, path: str, answer: Answer | None = None) -> Plain:
        """Return a client configuration by URL; the path gets an answer."""
        if answer is not None:
            self.answers[f"/{path}"] = answer
        return {"url": f"https://127.0.0.1:{self.port}/{path}", "caBundle": bundle()}

    def service(self, path: str, answer: Answer | None = None) -> Plain:
        """Return a client configuration by a Service named ``hook``."""
        if answer is not None:
            self.answers[f"/{path}"] = answer
        service = {"name": "hook", "namespace": self._namespace, "path": f"/{path}", "port": self.port}
        return {"service": service, "caBundle": bundle()}

    def next_probe(self, resource: str) -> str:
        """Return the number of one more probe."""
        numbers = self.probes.setdefault(resource, [])
        numbers.append(f"{resource[0]}{len(numbers)}")
        return numbers[-1]

    def show(self, api: Api) -> None:
        """Record the reviews that have arrived since the last time, in the order of their paths."""
        reviews, self.reviews = self.reviews, []
        api.steps.extend(sorted(reviews, key=lambda step: step.path))

    def show_calls(self, api: Api, *, in_order: bool = False, once: bool = False) -> None:
        """Record which requests each webhook has got since the last time.

        Args:
            api: The API of the case.
            in_order: Whether the order of the calls counts; validating webhooks are called at the same time.
            once: Whether a repeated call is shown once: the real server repeats a deletion if its cache lags behind.
        """
        reviews, self.reviews = self.reviews, []
        calls = [_describe_call(review) for review in reviews]
        calls = list(dict.fromkeys(calls)) if once else calls
        api.steps.append(Step("CALLS", "", {}, {}, None, body=calls if in_order else sorted(calls)))

    def close(self) -> None:
        """Release whatever hangs, and stop."""
        self.ended.set()
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    def receive(self, target: str, headers: dict[str, str], body: bytes) -> Plain | bytes | tuple[int, bytes] | None:
        """Keep a review, and answer it."""
        parts = urllib.parse.urlsplit(target)
        review: Plain = json.loads(body)
        request = review["request"]
        if request["resource"]["resource"] == "leases" and request["name"] == _PROBE:
            return respond(review, allowed=parts.path != f"/{_PROBE}")
        step = Step("REVIEW", parts.path, urllib.parse.parse_qs(parts.query), headers, None, body=review)
        self.reviews.append(step)
        return self.answers.get(parts.path, allow())(review)


def _describe_call(step: Step) -> str:
    assert isinstance(step.body, dict)
    request = step.body["request"]
    gvr = request["resource"]
    resource = "/".join(filter(None, (gvr["group"], gvr["version"], gvr["resource"], request.get("subResource", ""))))
    return f"{step.path} {request['operation']} {resource} {request.get('name', '')}"


class _Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: object, client_address: object) -> None:
        """Say nothing of handshakes that fail, which is what some cases are about."""


class _Handler(BaseHTTPRequestHandler):
    webhook: ClassVar[ScriptedWebhook]
    disable_nagle_algorithm = True

    def do_POST(self) -> None:
        """Answer a review."""
        body = self.rfile.read(int(self.headers["Content-Length"]))
        shown = {name: self.headers[name] for name in _SHOWN_HEADERS if name in self.headers}
        answer = self.webhook.receive(self.path, shown, body)
        if answer is None:
            self.webhook.ended.wait()
            self.close_connection = True
            return
        code, data = answer if isinstance(answer, tuple) else (200, answer)
        if not isinstance(data, bytes):
            data = json.dumps(data).encode()
        if code == 0:  # no HTTP at all
            self.wfile.write(data)
            self.close_connection = True
            return
        self.send_response(code)
        self.send_header("Content-Type", self.webhook.content_type)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def do_GET(self) -> None:
        """Answer what follows a redirect."""
        self.send_response(200)
        self.send_header("Content-Type", self.webhook.content_type)
        self.send_header("Content-Length", "5")
        self.end_headers()
        self.wfile.write(b"a GET")

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of http.server
        """Say nothing."""


@functools.cache
def authority() -> trustme.CA:
    """The authority of the certificates."""
    return trustme.CA()


def bundle(trusted: trustme.CA | None = None) -> str:
    """The certificate of an authority, as configurations have it."""
    return base64.b64encode((trusted or authority()).cert_pem.bytes()).decode()


@contextmanager
def scripted_webhook(
    api: Api, *, tls: bool = True, content_type: str = "application/json", names: tuple[str, ...] = ()
) -> Iterator[ScriptedWebhook]:
    """Run a webhook for one case; its configurations are removed at the end."""
    server = ScriptedWebhook(api.namespace, tls=tls, content_type=content_type, names=names)
    try:
        yield server
    finally:
        for resource in (VALIDATING, MUTATING):
            selector = urllib.parse.quote(f"case={api.namespace}")
            api.quietly("DELETE", f"{_PATH}/{resource}?labelSelector={selector}")
            for number in server.probes.get(resource, ()):
                _await_probe(api, number, is_active=False)
        server.close()


def rule(resources: str = "configmaps", operations: str = "*", groups: str = "*", versions: str = "*") -> Plain:
    """A rule; several values are separated by commas."""
    return {
        "apiGroups": groups.split(","),
        "apiVersions": versions.split(","),
        "resources": resources.split(","),
        "operations": operations.split(","),
    }


def hook_of(api: Api, name: str, client: Plain, *rules: Plain, **fields: Any) -> Plain:
    """A webhook for the namespace of a case."""
    return {
        "name": f"{name}.{api.namespace}.example.com",
        "clientConfig": client,
        "rules": list(rules) or [rule()],
        "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": api.namespace}},
        "sideEffects": "None",
        "admissionReviewVersions": ["v1"],
        **fields,
    }


def configure(api: Api, server: ScriptedWebhook, resource: str, *hooks: Plain, name: str = "b") -> None:
    """Write a configuration, and wait until the server uses it."""
    _write(api, resource, name, list(hooks))
    number = server.next_probe(resource)
    selector = {"matchLabels": {_PROBE: number}}
    probe = hook_of(api, _PROBE, server.at(_PROBE), rule("leases", "CREATE"), objectSelector=selector)
    # Caches of the server follow writes in their order. The name is the first of all: mutating webhooks are called in
    # the order of their configurations' names.
    _write(api, resource, f"0-{number}", [probe])
    _await_probe(api, number, is_active=True)


def validate(api: Api, server: ScriptedWebhook, *answers: Answer, **fields: Any) -> None:
    """Configure validating webhooks ``a``, ``b`` and so on, one for each answer."""
    _configure_answers(api, server, VALIDATING, answers, fields)


def mutate(api: Api, server: ScriptedWebhook, *answers: Answer, **fields: Any) -> None:
    """Configure mutating webhooks ``a``, ``b`` and so on, one for each answer."""
    _configure_answers(api, server, MUTATING, answers, fields)


def _configure_answers(
    api: Api, server: ScriptedWebhook, resource: str, answers: tuple[Answer, ...], fields: dict[str, Any]
) -> None:
    rules = fields.pop("rules", [rule()])
    names = "abcdefgh"[: len(answers)]
    hooks = [
        hook_of(api, letter, server.at(letter, answer), *rules, **fields)
        for letter, answer in zip(names, answers, strict=True)
    ]
    configure(api, server, resource, *hooks)


def _write(api: Api, resource: str, name: str, hooks: list[Plain]) -> None:
    metadata = {"name": f"{name}.{api.namespace}", "labels": {"case": api.namespace}}
    body = {"apiVersion": "admissionregistration.k8s.io/v1", "kind": _KINDS[resource], "metadata": metadata}
    path = f"{_PATH}/{resource}/{metadata['name']}"
    api.quietly("DELETE", path)
    status, document = api.quietly("POST", f"{_PATH}/{resource}", {**body, "webhooks": hooks})
    if status != 201:
        raise RuntimeError(f"the configuration of webhooks was refused: {document}")


def _await_probe(api: Api, number: str, *, is_active: bool) -> None:
    path = f"/apis/coordination.k8s.io/v1/namespaces/{api.namespace}/leases?dryRun=All"
    metadata = {"name": _PROBE, "labels": {_PROBE: number}}
    body = {"apiVersion": "coordination.k8s.io/v1", "kind": "Lease", "metadata": metadata}
    api.await_response(path, lambda status, _: (status != 201) == is_active, method="POST", body=body)
