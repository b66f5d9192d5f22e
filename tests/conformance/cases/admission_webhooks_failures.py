"""Admission webhooks that cannot be called: they are down, hang, have a wrong certificate or send errors."""

from __future__ import annotations

import socket
from typing import TYPE_CHECKING, Any

import trustme
from tests.conformance.case import area
from tests.conformance.objects import config_map, service
from tests.conformance.webhooks import (
    MUTATING,
    VALIDATING,
    allow,
    bundle,
    configure,
    deny,
    hang,
    hook_of,
    mutate,
    patch,
    patch_text,
    scripted_webhook,
    send,
    validate,
)

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain
    from tests.conformance.webhooks import ScriptedWebhook

case = area("Admission webhooks: failures")


def unused_port() -> int:
    """A port where nothing listens."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        return int(listening.getsockname()[1])


def configure_both(api: Api, server: ScriptedWebhook, client: Plain, **fields: Any) -> None:
    """Configure a mutating webhook that fails open, and a validating one that fails closed."""
    configure(api, server, MUTATING, hook_of(api, "m", client, failurePolicy="Ignore", **fields))
    configure(api, server, VALIDATING, hook_of(api, "v", client, failurePolicy="Fail", **fields))


@case("nothing listens")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        configure_both(api, server, {"url": f"https://127.0.0.1:{unused_port()}/x", "caBundle": bundle()})
        api.create("configmaps", config_map("a"))


@case("a failed call is ignored, if the policy says so")
def _(api: Api) -> None:
    client = {"url": f"https://127.0.0.1:{unused_port()}/x", "caBundle": bundle()}
    with scripted_webhook(api) as server:
        configure(api, server, MUTATING, hook_of(api, "m", client, failurePolicy="Ignore"))
        configure(api, server, VALIDATING, hook_of(api, "v", client, failurePolicy="Ignore"))
        api.create("configmaps", config_map("a"))
        api.delete("configmaps", "a")


@case("a failed call refuses the request by default")
def _(api: Api) -> None:
    client = {"url": f"https://127.0.0.1:{unused_port()}/x", "caBundle": bundle()}
    with scripted_webhook(api) as server:
        configure(api, server, MUTATING, hook_of(api, "m", client))
        api.create("configmaps", config_map("a"))
        api.list("configmaps")


@case("a denial is never ignored")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, deny(status={"message": "no"}), failurePolicy="Ignore")
        api.create("configmaps", config_map("a"))


@case("responses that are rubbish are ignored, if the policy says so")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, send("rubbish"), failurePolicy="Ignore")
        mutate(api, server, send("rubbish"), failurePolicy="Ignore")
        api.create("configmaps", config_map("a"))
        server.show_calls(api)


@case("patches that do not apply are never ignored")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(api, server, patch({"op": "remove", "path": "/foo"}), failurePolicy="Ignore")
        api.create("configmaps", config_map("a"))
        server.answers["/a"] = patch({"op": "add", "path": "/data", "value": 1})
        api.create("configmaps", config_map("a"))
        server.answers["/a"] = patch_text("x")
        api.create("configmaps", config_map("a"))


@case("a webhook that hangs")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, hang, timeoutSeconds=1)
        api.create("configmaps", config_map("a"))
        server.show_calls(api)


@case("a webhook that hangs is ignored, if the policy says so")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        mutate(
            api,
            server,
            hang,
            patch({"op": "add", "path": "/data", "value": {"k": "v"}}),
            timeoutSeconds=1,
            failurePolicy="Ignore",
        )
        api.create("configmaps", config_map("a"))
        server.show_calls(api, in_order=True)


@case("the timeout of the request ends the call of a webhook")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, hang)
        api.create("configmaps", config_map("a"), timeout="1s")
        api.get("configmaps", "a")


@case("the timeout of the request counts, whatever the failure policy")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        api.create("configmaps", config_map("a"))
        mutate(api, server, hang, allow(), failurePolicy="Ignore")
        api.create("configmaps", config_map("b"), timeout="1s")
        api.list("configmaps")
        server.show_calls(api, once=True)


@case("timeouts of requests that make no sense")
def _(api: Api) -> None:
    for value in ("0s", "-1s", "x", "1", "", "100h", "1.5s"):
        api.create("configmaps", config_map("a"), timeout=value, dryRun="All")


@case("a port that says nothing")
def _(api: Api) -> None:
    with scripted_webhook(api) as server, socket.create_server(("127.0.0.1", 0)) as listening:
        client = {"url": f"https://127.0.0.1:{listening.getsockname()[1]}/x", "caBundle": bundle()}
        configure(api, server, VALIDATING, hook_of(api, "v", client, timeoutSeconds=1))
        api.create("configmaps", config_map("a"))


@case("the timeout is part of the request")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        hooks = [
            hook_of(api, name, server.at(name), **fields)
            for name, fields in (("a", {}), ("b", {"timeoutSeconds": 1}), ("c", {"timeoutSeconds": 30}))
        ]
        configure(api, server, VALIDATING, *hooks)
        api.create("configmaps", config_map("a"))
        server.show(api)


@case("a certificate of an unknown authority")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        configure_both(api, server, {**server.at("x"), "caBundle": bundle(trustme.CA())})
        api.create("configmaps", config_map("a"))


@case("no bundle: the authorities of the system")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        configure_both(api, server, {"url": server.at("x")["url"]})
        api.create("configmaps", config_map("a"))


@case("a certificate of another host")
def _(api: Api) -> None:
    with scripted_webhook(api, names=("localhost", "a.example.com")) as other, scripted_webhook(api) as server:
        configure_both(api, server, other.at("x"))
        api.create("configmaps", config_map("a"))


@case("a certificate of another address")
def _(api: Api) -> None:
    with scripted_webhook(api, names=("localhost", "127.0.0.2", "::1")) as other, scripted_webhook(api) as server:
        configure_both(api, server, other.at("x"))
        api.create("configmaps", config_map("a"))


@case("a webhook without TLS")
def _(api: Api) -> None:
    with scripted_webhook(api, tls=False) as plain, scripted_webhook(api) as server:
        configure_both(api, server, plain.at("x"))
        api.create("configmaps", config_map("a"))


@case("a webhook that closes the connection")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, send("", 0))
        api.create("configmaps", config_map("a"))


@case("a webhook that does not speak HTTP")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        validate(api, server, send("hello\r\n\r\n", 0))
        api.create("configmaps", config_map("a"))


@case("a response that ends early")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        head = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nContent-Length: 100\r\n\r\n"
        validate(api, server, send(f"{head}{{", 0))
        api.create("configmaps", config_map("a"))


@case("error codes of a webhook")
def _(api: Api) -> None:
    codes = [201, 204, 206, 300, 304, 400, 401, 403, 404, 405, 406, 409, 410, 413, 415, 418, 422]
    codes += [429, 500, 501, 502, 503, 504, 599]
    with scripted_webhook(api) as server:
        remaining = iter(codes)
        validate(api, server, lambda _review: (next(remaining), b"sorry"))
        for _code in codes:
            api.create("configmaps", config_map("a"))


@case("error codes with text")
def _(api: Api) -> None:
    codes = [400, 403, 406, 415, 418, 500, 503]
    with scripted_webhook(api, content_type="text/plain; charset=utf-8") as server:
        remaining = iter(codes)
        validate(api, server, lambda _review: (next(remaining), b" sorry \n"))
        for _code in codes:
            api.create("configmaps", config_map("a"))
        server.answers["/a"] = send("x" * 3000, 500)
        api.create("configmaps", config_map("a"))


@case("error codes with a Status")
def _(api: Api) -> None:
    status = '{"kind":"Status","apiVersion":"v1","status":"%s","message":"m","reason":"Forbidden","code":403}'
    with scripted_webhook(api) as server:
        validate(api, server, send(status % "Failure", 403))
        api.create("configmaps", config_map("a"))
        server.answers["/a"] = send(status % "Failure", 500)
        api.create("configmaps", config_map("a"))
        server.answers["/a"] = send(status % "Success", 500)
        api.create("configmaps", config_map("a"))
        server.answers["/a"] = send('{"kind":"Status","apiVersion":"v1","status":"Failure"}', 500)
        api.create("configmaps", config_map("a"))
        server.answers["/a"] = send(status % "Failure", 200)
        api.create("configmaps", config_map("a"))


@case("a redirect is followed")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        head = "HTTP/1.1 {} Moved\r\nLocation: /b\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        validate(api, server, send(head.format(307), 0))
        api.create("configmaps", config_map("a"))
        server.answers["/a"] = send(head.format(302), 0)
        api.create("configmaps", config_map("b"))
        server.show_calls(api, in_order=True)


@case("a webhook that asks for another attempt gets it")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        head = "HTTP/1.1 {} Busy\r\nRetry-After: {}\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"

        def answer(review: Plain) -> object:
            return allow()(review) if len(server.reviews) > 1 else send(head.format(503, 0), 0)(review)

        validate(api, server, answer)  # type: ignore[arg-type]
        api.create("configmaps", config_map("a"))
        server.show_calls(api)
        server.answers["/a"] = send(head.format(429, 0), 0)
        api.create("configmaps", config_map("b"))
        server.show_calls(api)
        server.answers["/a"] = send(head.format(404, 0), 0)
        api.create("configmaps", config_map("c"))
        server.show_calls(api)
        server.answers["/a"] = send(head.format(503, "x"), 0)
        api.create("configmaps", config_map("d"))
        server.show_calls(api)


@case("a webhook that asks for another attempt too late")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        head = "HTTP/1.1 503 Busy\r\nRetry-After: 5\r\nConnection: close\r\nContent-Length: 0\r\n\r\n"
        validate(api, server, send(head, 0), timeoutSeconds=1)
        api.create("configmaps", config_map("a"))
        server.show_calls(api)


@case("a Service that does not exist")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        place = {"name": "hook", "namespace": api.namespace}
        configure_both(api, server, {"service": place, "caBundle": bundle()})
        api.create("configmaps", config_map("a"))
        configure(api, server, VALIDATING, hook_of(api, "v", {"service": {**place, "path": "/p", "port": 8443}}))
        api.create("configmaps", config_map("b"))


@case("a Service without that port")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        api.create("services", service("hook"))
        configure_both(api, server, {"service": {"name": "hook", "namespace": api.namespace}, "caBundle": bundle()})
        api.create("configmaps", config_map("a"))


@case("a Service with an external name")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        api.create("services", service("hook", spec={"type": "ExternalName", "externalName": "localhost"}))
        configure(
            api, server, VALIDATING, hook_of(api, "v", server.service("path", deny(status={"message": "reached"})))
        )
        api.create("configmaps", config_map("a"))
        server.show_calls(api)


@case("the certificate of a Service bears its name")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        api.create("services", service("other", spec={"type": "ExternalName", "externalName": "localhost"}))
        client = server.service("path")
        client["service"]["name"] = "other"
        configure(api, server, VALIDATING, hook_of(api, "v", client))
        api.create("configmaps", config_map("a"))


@case("other errors count as well, where one webhook fails")
def _(api: Api) -> None:
    with scripted_webhook(api) as server:
        client = {"url": f"https://127.0.0.1:{unused_port()}/x", "caBundle": bundle()}
        configure(api, server, MUTATING, hook_of(api, "a", client), hook_of(api, "b", server.at("b", deny())))
        api.create("configmaps", config_map("a"))
        server.show_calls(api)
