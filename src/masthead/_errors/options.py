"""The errors for arguments that a call does not take."""

from __future__ import annotations

import functools
import inspect
from typing import TYPE_CHECKING, Final, TypeVar, cast

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["explain_arguments", "explain_options"]

_SYNONYMS: Final[Mapping[str, str]] = {
    "chunk_size": "page_size",
    "config_file": "kubeconfig",
    "copies": "replicas",
    "field": "field_selector",
    "fields": "field_selector",
    "label": "label_selector",
    "labels": "label_selector",
    "lines": "tail_lines",
    "manager": "field_manager",
    "match_labels": "label_selector",
    "ns": "namespace",
    "owner": "field_manager",
    "page_token": "continue_",
    "request_timeout": "timeout",
    "selector": "label_selector",
    "since": "resource_version",
    "tail": "tail_lines",
    "token": "continue_",
    "validate": "field_validation",
    "version": "resource_version",
}
"""Names in other clients and in kubectl, where spelling alone does not lead to ours."""

_SHOWN: Final = 6
"""The maximum number of options that a message lists."""
_IN_NAMESPACE: Final = "choose the namespace before the verb: client.core_v1.pods('default')"
_ADVICE: Final[Mapping[str, str]] = {
    **{
        f"{verb} {option}": _IN_NAMESPACE
        for verb in (
            "create",
            "delete",
            "exec",
            "get",
            "logs",
            "open_exec",
            "port_forward",
            "table",
            "wait_for",
            "watch",
        )
        for option in ("namespace", "ns")
    },
    "exec *": "pass the command as a list, such as ['ls', '-l']",
    "exec input": "pass text, bytes or a file as stdin",
    "exec shell": "pass the command as ['sh', '-c', TEXT]",
    "get default": "catch NotFoundError, or ask the indexer: get_by_key returns None",
    "port_forward ports": "pass them one after the other: port_forward('web', 80, 443)",
    "watch timeout": "did you mean 'timeout_seconds', which ends the loop?",
}
"""What to write instead of an option of a method, where no other option means it."""

F = TypeVar("F", bound="Callable[..., object]")


def explain_arguments(method: F) -> F:
    """Decorate a method so that the error for a wrong argument names the right one."""
    if inspect.iscoroutinefunction(method):

        @functools.wraps(method)
        async def explained_coroutine(*args: object, **options: object) -> object:
            try:
                return await method(*args, **options)
            except TypeError as error:
                if _is_of_the_call(error):
                    raise _explain_call(error, method, args, options) from None
                raise
            finally:
                # They may hold credentials, and tools print the variables of every frame of a traceback.
                del args, options

        return cast("F", explained_coroutine)

    @functools.wraps(method)
    def explained(*args: object, **options: object) -> object:
        try:
            return method(*args, **options)
        except TypeError as error:
            if _is_of_the_call(error):
                raise _explain_call(error, method, args, options) from None
            raise
        finally:
            del args, options

    return cast("F", explained)


def _is_of_the_call(error: TypeError) -> bool:
    """Whether Python refused the arguments: an error from within the method has another frame."""
    return error.__traceback__ is not None and error.__traceback__.tb_next is None


def _explain_call(
    error: TypeError, method: Callable[..., object], args: tuple[object, ...], options: Mapping[str, object]
) -> TypeError:
    is_special = method.__name__.startswith("__")
    called = type(args[0]).__name__ if is_special else method.__name__
    # The first one is self.
    parameters = list(inspect.signature(method).parameters.values())[1:]
    known = [one.name for one in parameters if one.kind not in {one.VAR_POSITIONAL, one.VAR_KEYWORD}]
    # Further keywords are options, which the method itself checks.
    takes_options = any(one.kind is one.VAR_KEYWORD for one in parameters)
    unknown = None if takes_options else next((name for name in options if name not in known), None)
    if unknown is not None:
        instead = _ADVICE.get(f"{called} {unknown}") or _nearest(unknown, known)
        return TypeError(f"{called}() got an unexpected keyword argument {unknown!r}; {instead}")
    positional = [one.name for one in parameters if one.kind is one.POSITIONAL_OR_KEYWORD]
    surplus = len(args) - 1 - len(positional)
    if surplus <= 0:
        return error
    others = ", ".join([name for name in known if name not in positional][:_SHOWN])
    advice = [_ADVICE.get(f"{called} *", ""), f"pass {others} by keyword" if others else ""]
    # Other clients take the namespace there.
    if positional[:1] in (["name"], ["obj"]) and len(positional) == 1:
        advice.append("choose the namespace before the verb, as in pods('default').get('web')")
    taken = f"takes {', '.join(positional)}, and got {surplus} more" if positional else "takes keywords only"
    return TypeError("; ".join([f"{called}() {taken}", *filter(None, advice)]))


def explain_options(
    error: TypeError,
    call: str,
    takes: Callable[..., object],
    options: Mapping[str, object],
    hint: Callable[[str], str] = lambda _: "",
) -> TypeError:
    """Return the error for unknown options, with the name of the call and the nearest option.

    Args:
        error: The error of the class; returned unchanged if no option is unknown.
        call: The call as the user writes it: ``pods.list()``.
        takes: The class whose parameters are the options.
        options: The options of the call.
        hint: Returns what to write instead of an option; empty for the nearest option.
    """
    known = list(inspect.signature(takes).parameters)
    unknown = next((name for name in options if name not in known), None)
    if unknown is None:
        return error
    advice = hint(unknown) or _nearest(unknown, known)
    return TypeError(f"{call} got an unexpected keyword argument {unknown!r}; {advice}")


def _nearest(name: str, known: list[str]) -> str:
    import difflib  # for an error only, because programs must start quickly

    # Other clients mark options with an underscore: _continue, _request_timeout.
    plain = name.strip("_").lower()
    synonym = _SYNONYMS.get(plain, "")
    near = [synonym] if synonym in known else difflib.get_close_matches(plain, known, n=1)
    return f"did you mean {near[0]!r}?" if near else f"it takes {', '.join(known)}"
