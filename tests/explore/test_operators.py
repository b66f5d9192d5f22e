"""The proof set without faults: both versions of an operator do what they should, and come to rest."""

from __future__ import annotations

from collections import Counter
from typing import Literal

import pytest

from masthead.testing import Environment, in_virtual_time
from tests.explore.operators.catalog import OPERATORS, external_of, maker_of


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize("version", ["buggy", "fixed"])
def test_operator_rests_after_its_workload(name: str, version: Literal["buggy", "fixed"]) -> None:
    operator = OPERATORS[name]
    make, external = maker_of(operator, version), external_of(operator)
    arguments = [external()] if external is not None else []

    @in_virtual_time
    async def run() -> None:
        async with Environment(lambda: make(*arguments), crds=operator.CRDS) as env:
            await operator.workload(env)
            assert env.writes
            assert env.missing_permissions == []
            env.clear()
            await env.advance(60)
            assert env.writes == []

    run()


def test_the_set_has_the_patterns_of_sieve() -> None:
    assert Counter(operator.PATTERN for operator in OPERATORS.values()) == {
        "crash": 4,
        "stale": 3,
        "unobserved": 3,
        "conflict": 2,
    }
