"""The annotated arguments of reconcilers are checked at the registration."""

# Without postponed annotations, as in a file of a beginner; quoted ones are text.

import re
from collections.abc import Callable
from typing import Any, Optional

import pytest

import masthead
import masthead.aio
from masthead.api.core.v1 import ConfigMap, Secret
from masthead.errors import ArgumentError
from masthead.meta import Object, Unstructured

Context = masthead.aio.ReconcileContext[ConfigMap]


async def swapped(b: ConfigMap, ctx: Context) -> None: ...
async def swapped_text(b: "ConfigMap | None", ctx: "masthead.aio.ReconcileContext[ConfigMap]") -> None: ...
async def alias(b: "Optional[ConfigMap]", ctx: "Context") -> None: ...  # noqa: UP045
async def no_context(b: ConfigMap) -> None: ...
async def second(b: Any, ctx: Context) -> None: ...
async def two_objects(b: Secret, obj: ConfigMap) -> None: ...
async def untyped_object(b: "Unstructured", obj: object) -> None: ...
def in_thread(b: ConfigMap | None, ctx: masthead.ReconcileContext[ConfigMap]) -> None: ...


class Method:
    async def reconcile(self, b: ConfigMap, ctx: Context) -> None: ...


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (swapped, "takes the object first and then the context, and is called the other way round"),
        (swapped_text, "takes the object first and then the context"),
        (alias, "takes the object first and then the context"),
        (no_context, "takes the object alone, and is called with the context"),
        (second, "takes the context as its second argument, and is called with the object"),
        (two_objects, "takes an object as its first argument, and is called with the context"),
        (untyped_object, "takes an object as its first argument, and is called with the context"),
        (in_thread, "takes the object first and then the context"),
        (Method, "takes the object first and then the context"),
        (Method(), "takes the object first and then the context"),
    ],
)
def test_arguments_in_another_order_are_refused(function: Any, problem: str) -> None:
    app = masthead.Manager("signatures")
    with pytest.raises(ArgumentError) as caught:
        app.controller(ConfigMap)(function)
    assert problem in str(caught.value)
    assert "ReconcileContext[ConfigMap], obj: ConfigMap | None)`" in str(caught.value)


def test_the_message_has_the_right_signature_for_the_kind_of_function() -> None:
    app = masthead.Manager("signatures")
    with pytest.raises(
        ArgumentError, match=r"swapped\(b: .*ConfigMap, ctx: .*`async def swapped\(ctx: masthead\.aio\."
    ):
        app.controller(ConfigMap)(swapped)
    with pytest.raises(ArgumentError, match=r"`def in_thread\(ctx: masthead\.ReconcileContext\[ConfigMap\], obj: "):
        app.controller(ConfigMap)(in_thread)


async def waits(ctx: masthead.ReconcileContext[ConfigMap], obj: ConfigMap) -> None: ...
async def waits_as_text(ctx: "masthead.ReconcileContext[ConfigMap]", obj: "ConfigMap") -> None: ...
def blocks(ctx: masthead.aio.ReconcileContext[ConfigMap], obj: ConfigMap) -> None: ...
async def other_kind(ctx: Context, obj: Secret) -> None: ...
async def other_kind_or_none(ctx: Context, obj: "Secret | None") -> None: ...


@pytest.mark.parametrize(
    ("function", "problem"),
    [
        (
            waits,
            "waits is a coroutine function, and is called with a masthead.aio.ReconcileContext, not with a masthead.",
        ),
        (waits_as_text, "waits_as_text is a coroutine function, and is called with a masthead.aio.ReconcileContext"),
        (
            blocks,
            "blocks is a plain function, and is called with a masthead.ReconcileContext, not with a masthead.aio.",
        ),
        (other_kind, "other_kind takes a Secret, and is called with objects of v1, kind ConfigMap"),
        (other_kind_or_none, "other_kind_or_none takes a Secret"),
    ],
)
def test_a_context_of_the_other_facade_or_an_object_of_another_kind_is_refused(function: Any, problem: str) -> None:
    with pytest.raises(ArgumentError, match=re.escape(problem)):
        masthead.Manager("signatures").controller(ConfigMap)(function)


async def untyped(a, b): ...  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
async def untyped_context(a): ...  # type: ignore[no-untyped-def] # noqa: ANN001, ANN201
async def usual(ctx: Context, obj: ConfigMap) -> None: ...
async def optional(ctx: "masthead.aio.ReconcileContext[ConfigMap]", obj: "ConfigMap | None") -> None: ...
async def context_alone(ctx: Context) -> None: ...
async def unknown_names(ctx: "SomeContext", obj: "SomeObject") -> None: ...  # type: ignore[name-defined] # noqa: F821
async def any_object(ctx: Any, obj: Object) -> None: ...
async def one_of_two(ctx: Context, obj: "Secret | ConfigMap | None") -> None: ...
async def a_part(ctx: object, obj: "dict[str, ConfigMap]") -> None: ...


@pytest.mark.parametrize(
    "function",
    [untyped, untyped_context, usual, optional, context_alone, unknown_names, any_object, one_of_two, a_part],
)
def test_other_functions_are_accepted(function: Callable[..., Any]) -> None:
    app = masthead.Manager("signatures")
    app.controller(ConfigMap)(function)
    assert app.controllers[0].function.given is function
