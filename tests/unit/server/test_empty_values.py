"""Error texts show the empty lists and maps that a client sent."""

from __future__ import annotations

from masthead._schema.errors import invalid
from masthead_server.resources.validation.empty_values import restore_empty_values


def test_an_empty_list_within_a_struct_is_shown() -> None:
    error = invalid("spec", {"Devices": {"Requests": [{"Name": "a", "Selectors": None}], "Config": None}}, "wrong")
    sent = {"spec": {"devices": {"requests": [{"name": "a", "selectors": []}]}}}

    (restored,) = restore_empty_values([error], sent)

    assert restored.value == {"Devices": {"Requests": [{"Name": "a", "Selectors": []}], "Config": None}}


def test_the_value_itself_may_be_empty() -> None:
    sent = {"spec": {"items": [{"labels": {}}]}}

    (restored,) = restore_empty_values([invalid("spec.items[0].labels", None, "wrong")], sent)

    assert restored.value == {}


def test_a_value_that_was_not_sent_stays_null() -> None:
    errors = [invalid("spec.items[3].labels", None, "wrong"), invalid("spec.name", "a", "wrong")]

    assert restore_empty_values(errors, {"spec": {"items": []}}) == errors
