"""WSGI applications that use a client in ways that do not work everywhere, and answer with what happens."""

from __future__ import annotations

from typing import TYPE_CHECKING

import masthead

if TYPE_CHECKING:
    from collections.abc import Callable
    from wsgiref.types import StartResponse, WSGIApplication, WSGIEnvironment


def make_app(*, is_used: bool) -> WSGIApplication:
    """Create an application.

    Args:
        is_used: Whether client and informer start here, which may be before a fork.
    """
    client = masthead.Client()
    informer = masthead.SharedInformer(client.core_v1.pods())
    factory = masthead.SharedInformerFactory(client)
    factory.core_v1.pods.lister  # noqa: B018 - the factory has an informer from now on
    if is_used:
        informer.start()
        informer.wait_for_cache_sync(timeout=30)
    uses: dict[str, Callable[[], object]] = {
        "/client": lambda: len(client.core_v1.pods("default").list()),
        "/new-client": lambda: len(masthead.Client().core_v1.pods("default").list()),
        "/watch": lambda: next(client.core_v1.pods("default").watch()),
        "/start": informer.start,
        "/factory": factory.start,
        "/list": lambda: len(informer.lister.list()),
        "/state": lambda: informer.health.state,
    }

    def app(environ: WSGIEnvironment, start_response: StartResponse) -> list[bytes]:
        try:
            status, text = "200 OK", str(uses[environ["PATH_INFO"]]())
        except masthead.MastheadError as error:
            status, text = "500 Internal Server Error", f"{type(error).__name__}: {error}"
        start_response(status, [("Content-Type", "text/plain")])
        return [text.encode()]

    return app
