"""A conversion webhook on the loopback interface, whose responses a test chooses."""

from __future__ import annotations

import base64
import http.server
import json
import ssl
import threading
from typing import TYPE_CHECKING, Any, Self, TypeAlias

import trustme

if TYPE_CHECKING:
    from collections.abc import Callable
    from types import TracebackType

    Plain: TypeAlias = dict[str, Any]


class ConversionWebhook:
    """Converts objects by appending to their color; `change` may spoil the review that it responds with."""

    def __init__(self) -> None:
        authority = trustme.CA()
        certificate = authority.issue_cert("127.0.0.1", "conversion.default.svc")
        self.ca_bundle = base64.b64encode(authority.cert_pem.bytes()).decode()
        self.reviews: list[Plain] = []
        self.change: Callable[[Plain], object] = lambda _: None
        self.code = 200
        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), self._handler())
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        certificate.configure_cert(context)
        self._server.socket = context.wrap_socket(self._server.socket, server_side=True)
        self._thread = threading.Thread(target=self._server.serve_forever, daemon=True)

    @property
    def port(self) -> int:
        return int(self._server.server_address[1])

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.port}/convert"

    def conversion(self, **config: Any) -> Plain:
        """The conversion of a definition."""
        client = {"url": self.url, "caBundle": self.ca_bundle, **config}
        client = {key: value for key, value in client.items() if value is not None}
        return {
            "strategy": "Webhook",
            "webhook": {"conversionReviewVersions": ["v1"], "clientConfig": client},
        }

    def __enter__(self) -> Self:
        self._thread.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()

    def respond(self, review: Plain) -> Plain:
        """Convert the objects of a review."""
        self.reviews.append(review)
        request = review["request"]
        converted = [
            {
                **each,
                "apiVersion": request["desiredAPIVersion"],
                "spec": {**each.get("spec", {}), "color": each.get("spec", {}).get("color", "") + "!"},
            }
            for each in request["objects"]
        ]
        result = {"status": "Success"}
        response = {"uid": request["uid"], "result": result, "convertedObjects": converted}
        made = {"apiVersion": review["apiVersion"], "kind": "ConversionReview", "response": response}
        self.change(made)
        return made

    def _handler(self) -> type[http.server.BaseHTTPRequestHandler]:
        webhook = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                sent = self.rfile.read(int(self.headers["Content-Length"]))
                body = json.dumps(webhook.respond(json.loads(sent))).encode()
                self.send_response(webhook.code)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - the name of the base class
                """Keep the output of tests clean."""

        return Handler
