"""Parsing of Accept headers, however long they are."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from masthead_server.wire.failures import StatusFailure
from masthead_server.wire.negotiation import MediaTypeOptions, negotiate


def test_media_type_parameters_beyond_the_limit_are_ignored() -> None:
    few, many = ";x=1" * 15, ";x=1" * 16
    with pytest.raises(StatusFailure):
        negotiate(f"application/json{few};as=Table")
    assert negotiate(f"application/json{many};as=Table") == MediaTypeOptions()


TABLE = "application/json;as=Table;v=v1;g=meta.k8s.io"


@pytest.mark.parametrize(
    ("accept", "chosen"),
    [
        (TABLE, ("application/json", "Table", "v1")),
        (TABLE.replace("json", "yaml"), ("application/yaml", "Table", "v1")),
        (TABLE.replace("v=v1", "v=v1beta1"), ("application/json", "Table", "v1beta1")),
        (f"{TABLE.replace('v=v1', 'v=v2')},application/json", ("application/json", "", "")),
        (f"application/json;q=0.5,{TABLE}", ("application/json", "Table", "v1")),
        (f"{TABLE};q=0.5,application/json", ("application/json", "", "")),
        (f"*/*,{TABLE}", ("application/json", "Table", "v1")),
        (f"application/json,{TABLE}", ("application/json", "", "")),
        (f"{TABLE};q=nan,application/json;q=0.1", ("application/json", "", "")),
    ],
)
def test_the_clause_that_the_client_prefers_is_chosen(accept: str, chosen: tuple[str, str, str]) -> None:
    assert negotiate(accept, has_table=True) == MediaTypeOptions(*chosen)


def test_what_has_no_table_is_written_as_the_next_clause_says() -> None:
    assert negotiate(f"{TABLE},application/json") == MediaTypeOptions()
    with pytest.raises(StatusFailure):
        negotiate(TABLE)


PIECES = [
    "application/json",
    "application/yaml",
    "*/*",
    "*",
    "/",
    ";",
    ",",
    "=",
    "q",
    "as",
    "g",
    "v",
    "0.5",
    "nan",
    "-1",
]


@given(st.lists(st.sampled_from(PIECES), max_size=30).map("".join), st.booleans())
def test_any_header_is_negotiated_or_refused(accept: str, is_watch: bool) -> None:
    try:
        found = negotiate(accept, is_watch=is_watch, has_table=True)
    except StatusFailure as failure:
        assert failure.code == 406  # noqa: PT017 - it may be refused
        return
    assert found.content_type in {"application/json", "application/yaml"}
