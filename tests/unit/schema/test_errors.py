"""Errors of fields: the text of a message, as kube-apiserver writes it."""

from __future__ import annotations

import pytest

from masthead._schema import errors


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (errors.required("spec.a"), "spec.a: Required value"),
        (errors.invalid("spec", "x\n", "no"), 'spec: Invalid value: "x\\n": no'),
        (errors.invalid("spec", 0.5, "no"), "spec: Invalid value: 0.5: no"),
        (errors.type_invalid("spec", 3, "no"), "spec: Invalid value: 3: no"),
        (errors.not_supported("f", "c", ["a", "b"]), 'f: Unsupported value: "c": supported values: "a", "b"'),
        (errors.forbidden("f", "no"), "f: Forbidden: no"),
        (errors.too_long("f", 3), "f: Too long: may not be more than 3 bytes"),
        (errors.too_long("f", 1), "f: Too long: may not be more than 1 byte"),
        (errors.too_many("f", 3, 2), "f: Too many: 3: must have at most 2 items"),
        (errors.too_many("f", 3, 1), "f: Too many: 3: must have at most 1 item"),
        (errors.duplicate("f[1]", {"a": 1}), 'f[1]: Duplicate value: {"a":1}'),
        (errors.not_found("f", "x"), 'f: Not found: "x"'),
        (errors.internal_error("f", "broken"), "f: Internal error: broken"),
    ],
)
def test_a_message_has_the_title_the_value_and_the_detail(error: errors.FieldError, text: str) -> None:
    assert str(error) == text


@pytest.mark.parametrize(
    ("number", "alone", "in_json"),
    [
        (1.0, "1", "1"),
        (0.00001, "1e-05", "0.00001"),
        (0.0000001, "1e-07", "1e-7"),
        (1e20, "1e+20", "100000000000000000000"),
        (2.0**53, "9.007199254740992e+15", "9007199254740992"),
        (999999.5, "999999.5", "999999.5"),
        (1e21, "1e+21", "1e+21"),
        (-2.5e-10, "-2.5e-10", "-2.5e-10"),
        (-0.0, "-0", "-0"),
        (123456.789, "123456.789", "123456.789"),
    ],
)
def test_floats_are_written_as_go_writes_them(number: float, alone: str, in_json: str) -> None:
    assert errors.format_value(number) == alone
    assert errors.format_value([number]) == f"[{in_json}]"
    assert errors.format_value({"a": number, "b": [None, True]}) == f'{{"a":{in_json},"b":[null,true]}}'


def test_what_html_would_read_is_escaped_in_json() -> None:
    assert errors.format_value({"<a>": "&"}) == '{"\\u003ca\\u003e":"\\u0026"}'
