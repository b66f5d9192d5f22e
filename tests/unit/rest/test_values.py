"""Calls and responses are values: compared by what they hold, never changed, and shown without what may be secret."""

from __future__ import annotations

import pytest

from masthead._rest.call import Call, Subject
from masthead._rest.response import Response


def call(**more: object) -> Call:
    return Call("POST", "/api/v1/secrets", Subject("create", "secrets"), **more)  # type: ignore[arg-type]


def test_a_call_shows_neither_its_query_nor_its_body_nor_its_headers() -> None:
    made = call(query=[("token", "hush")], body=b"hush", headers=[("Authorization", "hush")])

    for shown in (repr(made), str(made), str(made.__rich_repr__())):
        assert "/api/v1/secrets" in shown
        assert "hush" not in shown


def test_the_repr_of_a_response_shows_all_but_its_body() -> None:
    made = Response(200, b"hush", "application/json", about=Subject("get", "secrets"))

    assert repr(made) == (
        "Response(status=200, content_type='application/json', etag='', warnings=(), "
        "about=Subject(verb='get', resource='secrets', namespace='', name='', removal=''))"
    )
    assert "hush" not in str(made.__rich_repr__())


def test_values_compare_by_content_and_are_immutable() -> None:
    one, other = call(body=b"x"), call(body=b"x")

    assert one == other
    assert hash(one) == hash(other)
    assert one != call(body=b"y")
    for value, name in ((one, "body"), (one.subject, "verb"), (Response(200, b""), "status")):
        with pytest.raises(AttributeError):
            setattr(value, name, "changed")
