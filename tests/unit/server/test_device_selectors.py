"""Device selectors compile, or are refused with the server's messages."""

from __future__ import annotations

import pytest

from masthead_server.resources.behavior import SlowValidation
from masthead_server.resources.builtin.resource.deviceclass import class_errors, is_extended_resource


def errors_of(*expressions: str) -> list[str]:
    selectors = [{"cel": {"expression": expression}} for expression in expressions]
    return [str(error) for error in class_errors({"spec": {"selectors": selectors}})]


@pytest.mark.parametrize(
    "expression",
    [
        "device.driver == 'example.com'",
        "device.attributes['example.com'].ready",
        "device.capacity['example.com'].memory.isGreaterThan(quantity('1Gi'))",
        "cel.bind(x, device.attributes['example.com'], x.a && x.b)",
        "device.allowMultipleAllocations",
    ],
)
def test_a_condition_about_a_device_is_accepted(expression: str) -> None:
    assert errors_of(expression) == []


def test_an_attribute_is_no_list() -> None:
    (error,) = errors_of("device.attributes['a'].b.all(x, x == 1)")

    assert "expression of type 'any' cannot be range of a comprehension" in error


def test_a_loop_in_a_loop_costs_too_much() -> None:
    loops = "device.attributes.all(a, " * 4 + "true" + ")" * 4

    (error,) = errors_of(loops)

    assert error == "spec.selectors[0].cel.expression: Forbidden: too complex, exceeds cost limit"


def test_long_expressions_are_compiled_in_a_thread() -> None:
    with pytest.raises(SlowValidation) as slow:
        errors_of(*["true || " * 100 + "true"] * 4)

    assert slow.value.find() == []


@pytest.mark.parametrize(
    ("name", "is_extended"),
    [("example.com/gpu", True), ("gpu", False), ("kubernetes.io/gpu", False), ("requests.example.com/gpu", False)],
)
def test_an_extended_resource_has_a_domain(name: str, is_extended: bool) -> None:
    assert is_extended_resource(name) is is_extended
