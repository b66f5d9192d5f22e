"""Failures of requests, as clients receive them."""

from __future__ import annotations

import json

from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.request import status_response


def test_a_status_may_quote_a_header_that_is_no_utf_8() -> None:
    header = b"a\xff".decode("utf-8", "surrogateescape")
    response = status_response(StatusFailure(400, "BadRequest", f"{header} is not served"))
    assert json.loads(response.body)["message"] == "a? is not served"
