"""Waiting for objects: what ``--for`` says, progress while it is not so yet, and the end of patience."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from masthead._cli.client_warnings import telling_warnings
from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.progress import Work
from masthead._cli.templates import JsonPathError, parse_path_argument, value_text
from masthead._client.conditions import ObjectWaitCondition, WaitCondition, condition_is, deleted, exists
from masthead._client.readiness import ready
from masthead.errors import DeadlineError, MastheadError, ObjectFailedError

if TYPE_CHECKING:
    import masthead
    from masthead._client.documents import Source
    from masthead._meta.object import Object
    from masthead._meta.unstructured import Unstructured

__all__ = ["parse_condition", "seconds_to_wait", "wait_for", "label_of"]


def parse_condition(text: str) -> WaitCondition[Object]:
    """Read the value of ``--for``.

    Raises:
        CommandError: If it is not a condition.
    """
    form, _, rest = text.partition("=")
    match form:
        case "ready" if not rest:
            return ready()
        case "delete" if not rest:
            return deleted()
        case "create" if not rest:
            return exists()
        case "condition" if rest:
            type_, _, status = rest.partition("=")
            return condition_is(type_, status or "True")
        case "jsonpath" if rest:
            return _jsonpath_is(rest)
        case _:
            pass
    raise CommandError(
        f"--for has no form {text!r}",
        hint="write ready, delete, create, condition=NAME[=STATUS] or jsonpath={PATH}[=VALUE]",
        code=ExitCode.USAGE,
    )


def _jsonpath_is(text: str) -> ObjectWaitCondition[Object]:
    """A path has a value, or any value if none is given."""
    path_text, closing, wanted = text.rpartition("}=") if "}=" in text else (text, "", "")
    try:
        path = parse_path_argument(f"{path_text}}}" if closing else path_text)
    except JsonPathError as error:
        raise CommandError(f"--for=jsonpath: {error}", code=ExitCode.USAGE) from None

    def values(obj: Object) -> list[str]:
        return [value_text(each) for each in path.find(obj.to_dict())]

    def test(obj: Object) -> bool:
        found = values(obj)
        return wanted in found if closing else bool(found)

    def says(obj: Object | None) -> str:
        if obj is None:
            return "it does not exist"
        return f"{path.text} is {', '.join(values(obj)) or 'not set'}"

    return ObjectWaitCondition(test, f"{path.text} is {wanted or 'set'}", says)


def seconds_to_wait(given: float | None, default: float) -> float:
    """How long to wait: the option, or a default; for ever if it is below zero."""
    seconds = default if given is None else given
    return math.inf if seconds < 0 else seconds


def wait_for(
    client: masthead.Client,
    source: Source,
    condition: WaitCondition[Object],
    *,
    total: int,
    timeout: float,
    no_color: bool,
    done: str = "condition met",
) -> None:
    """Wait for objects, with a line for each for which the condition holds.

    Args:
        client: The client.
        source: The objects, or their manifests.
        condition: What to wait for.
        total: How many objects there are.
        timeout: Seconds to wait; ``math.inf`` for ever.
        no_color: Whether the option ``--no-color`` is given.
        done: What the lines say.

    Raises:
        CommandError: If it takes too long, or an object has failed.
        MastheadError: As any call.
    """
    with Work("waiting", total=total, no_color=no_color) as work, telling_warnings(work.warn):
        watched = _told(condition, work, done)
        try:
            client.wait_for_all(source, watched, timeout=timeout)
        except DeadlineError as error:
            raise _timed_out(error) from None
        except ObjectFailedError as error:
            raise CommandError(str(error), hint="masthead get ... -o yaml shows its status") from None


def _told(condition: WaitCondition[Object], work: Work, done: str) -> WaitCondition[Unstructured]:
    """The same condition, which tells of progress whenever it is tested."""
    met: set[str] = set()

    def test(obj: Unstructured | None) -> bool:
        holds = condition(obj)
        if obj is None:
            if holds:
                work.advance()
            return holds
        label = label_of(obj)
        if not holds:
            work.detail(f"{label}: {condition.says(obj)}")
        elif label not in met:
            met.add(label)
            work.advance()
            work.line(f"{label} {done}")
        return holds

    return WaitCondition(test, condition.description, condition.says)


def label_of(obj: Unstructured) -> str:
    """An object as kubectl names it in lines: ``deployment.apps/web``."""
    gvk = obj.gvk
    kind = f"{gvk.kind}.{gvk.group}" if gvk.group else gvk.kind
    return f"{kind.lower()}/{obj.metadata.name}"


def _timed_out(error: MastheadError) -> CommandError:
    head, *rest = str(error).splitlines()
    lines = [head, *(f"  {each.strip()}" for each in rest if each.startswith(" "))]
    return CommandError("\n".join(lines), hint="wait longer with --timeout", code=ExitCode.TIMEOUT)
