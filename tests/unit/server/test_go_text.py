"""Error texts show values as Go writes them."""

from __future__ import annotations

from typing import TYPE_CHECKING

from masthead._schema.errors import invalid
from masthead_server.resources.validation.go_text import write_as_go

if TYPE_CHECKING:
    from masthead_server.wire.plain import Plain


def test_an_empty_list_within_a_struct_is_shown() -> None:
    error = invalid("spec", {"Devices": {"Requests": [{"Name": "a", "Selectors": None}], "Config": None}}, "wrong")
    sent = {"spec": {"devices": {"requests": [{"name": "a", "selectors": []}]}}}

    (restored,) = write_as_go([error], sent)

    assert restored.value == {"Devices": {"Requests": [{"Name": "a", "Selectors": []}], "Config": None}}


def test_the_value_itself_may_be_empty() -> None:
    sent: Plain = {"spec": {"items": [{"labels": {}}]}}

    (restored,) = write_as_go([invalid("spec.items[0].labels", None, "wrong")], sent)

    assert restored.value == {}


def test_a_value_that_was_not_sent_stays_null() -> None:
    errors = [invalid("spec.items[3].labels", None, "wrong"), invalid("spec.name", "a", "wrong")]

    assert write_as_go(errors, {"spec": {"items": []}}) == errors


def test_maps_are_shown_by_the_order_of_their_keys_and_structs_are_not() -> None:
    error = invalid("spec.template", {"labels": {"b": "1", "a": "2"}, "Spec": {"Volumes": None, "Containers": []}}, "x")

    (shown,) = write_as_go([error], {})

    assert str(shown) == (
        'spec.template: Invalid value: {"labels":{"a":"2","b":"1"},"Spec":{"Volumes":null,"Containers":[]}}: x'
    )
