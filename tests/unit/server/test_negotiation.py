"""Parsing of Accept headers, however long they are."""

from __future__ import annotations

import pytest

from masthead._server.wire.failures import StatusFailure
from masthead._server.wire.negotiation import MediaTypeOptions, negotiate


def test_media_type_parameters_beyond_the_limit_are_ignored() -> None:
    few, many = ";x=1" * 15, ";x=1" * 16
    with pytest.raises(StatusFailure):
        negotiate(f"application/json{few};as=Table")
    assert negotiate(f"application/json{many};as=Table") == MediaTypeOptions()
