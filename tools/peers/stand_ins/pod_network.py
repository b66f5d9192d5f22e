"""Simulates the network of pods for a Python program: each address answers like a single-user server."""

from __future__ import annotations

import email.message
import io
import ssl
import urllib.error
import urllib.request
from typing import NoReturn


def _redirect(_opener: urllib.request.OpenerDirector, url: str, *_arguments: object, **_options: object) -> NoReturn:
    headers = email.message.Message()
    headers["Location"] = "/hub/login"
    raise urllib.error.HTTPError(url, 302, "Found", headers, io.BytesIO())


def _create_context(*_arguments: object, **_options: object) -> ssl.SSLContext:
    return ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)


def _ignore_chain(_context: ssl.SSLContext, **_options: object) -> None:
    """Do nothing, since the hub would unpack certificates in its container."""


urllib.request.OpenerDirector.open = _redirect  # type: ignore[method-assign, assignment]
ssl.create_default_context = _create_context
ssl.SSLContext.load_cert_chain = _ignore_chain  # type: ignore[method-assign, assignment]
