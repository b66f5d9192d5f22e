"""The values of ``-o``, and objects as YAML, JSON, names, paths and columns. Pure."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, Final, cast

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.go_json import escape
from masthead._errors.control_characters import BIDI

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from masthead._meta.plain import Plain

__all__ = ["Output", "listed", "parse_output", "sorted_plain"]

_UNSEEN: Final = re.compile(rf"[\x7f-\x9f{BIDI}\ud800-\udfff]")
"""Characters that JSON allows in strings, and that control a terminal."""
_FORMS: Final = ("wide", "yaml", "json", "name", "jsonpath=TEMPLATE", "custom-columns=SPEC")


@dataclass(frozen=True, slots=True)
class Output:
    """What ``-o`` asks for.

    Attributes:
        form: ``table``, ``wide``, ``name``, or ``objects`` for forms that need whole objects.
        render: The text of one object, or of a list of kind List; for ``objects`` only.
        is_data: Whether programs read it, character by character.
    """

    form: str
    render: Callable[[Plain], str]
    is_data: bool = False

    @property
    def is_table(self) -> bool:
        """Whether the server makes a table for it."""
        return self.form in {"table", "wide"}


def parse_output(text: str | None, *, keeps_order: bool = False) -> Output:
    """Parse the value of ``-o``.

    Args:
        text: The value.
        keeps_order: Whether JSON keeps the order of fields, which kubectl does with objects that it generates.

    Raises:
        CommandError: If there is no such form, or its template is invalid.
    """
    form, equals, argument = (text or "table").partition("=")
    match form:
        case "table" | "wide" | "name" if not equals:
            return Output(form, lambda _: "")
        case "yaml" | "json" if not equals:
            return Output("objects", _yaml if form == "yaml" else _json_in_order if keeps_order else _json)
        case "jsonpath" | "custom-columns" if argument:
            return Output("objects", _template(form, argument), is_data=form == "jsonpath")
        case _:
            pass
    raise CommandError(f"-o has no form {text!r}", hint=f"write {', '.join(_FORMS)}", code=ExitCode.USAGE)


def _yaml(obj: Plain) -> str:
    from masthead._cli.go_yaml import dump

    return dump(obj)


def _json(obj: Plain) -> str:
    text = json.dumps(obj, indent=4, sort_keys=True, ensure_ascii=False)
    # json.dumps with ensure_ascii would escape all of Chinese and Arabic as well.
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def _json_in_order(obj: Plain) -> str:
    text = escape(json.dumps(obj, indent=4, ensure_ascii=False))
    return _UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text) + "\n"


def _template(form: str, argument: str) -> Callable[[Plain], str]:
    from masthead._cli.templates import JsonPathError, Template

    try:
        return Template.parse(argument).render if form == "jsonpath" else _columns(argument)
    except JsonPathError as error:
        raise CommandError(f"-o {form}: {error}", code=ExitCode.USAGE) from None


def _columns(argument: str) -> Callable[[Plain], str]:
    from masthead._cli.templates import parse_columns
    from masthead._printers.layout import lay_out

    columns = parse_columns(argument)

    def render(obj: Plain) -> str:
        items = obj["items"] if obj.get("kind") == "List" else [obj]
        rows = [[column.cell(item) for column in columns] for item in items]
        return lay_out([[column.header for column in columns], *rows]) + "\n"

    return render


def sorted_plain(value: object) -> object:
    """The same data with sorted keys, as kubectl prints it."""
    if isinstance(value, dict):
        fields = cast("Plain", value)
        return {key: sorted_plain(fields[key]) for key in sorted(fields)}
    return [sorted_plain(item) for item in cast("list[object]", value)] if isinstance(value, list) else value


def listed(objects: Sequence[Plain]) -> Plain:
    """Objects as one of kind List, as kubectl prints several."""
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": list(objects)}
