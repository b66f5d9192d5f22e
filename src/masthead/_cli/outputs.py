"""The values of ``-o``, and objects as YAML, JSON, names, paths and columns. Pure."""

from __future__ import annotations

import json
import re
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Final, cast

from masthead._cli.failures import CommandError, ExitCode
from masthead._cli.go_json import escape
from masthead._errors.control_characters import BIDI
from masthead._value import Value

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from masthead._cli.templates import CustomColumn
    from masthead._meta.plain import Plain

__all__ = ["Output", "listed", "parse_output"]

_UNSEEN: Final = re.compile(rf"[\x7f-\x9f{BIDI}\ud800-\udfff]")
"""Characters that JSON allows in strings, and that control a terminal."""
_FORMS: Final = (
    "wide",
    "yaml",
    "json",
    "name",
    "jsonpath=TEMPLATE",
    "go-template=TEMPLATE",
    "custom-columns=SPEC",
    "or a file: jsonpath-file=FILE, go-template-file=FILE, custom-columns-file=FILE",
)
_ALIASES: Final = {"template": "go-template", "templatefile": "go-template-file"}
_TEMPLATES: Final = frozenset({"jsonpath", "jsonpath-as-json", "go-template"})
_FROM_FILE: Final = "-file"


class Output(Value):
    """What ``-o`` asks for.

    Attributes:
        form: ``table``, ``wide``, ``name``, or ``objects`` for forms that need whole objects.
        render: The text of one object, or of a list of kind List; for ``objects`` only.
        is_data: Whether programs read it, character by character.
        columns: The custom columns; empty for other forms.
    """

    form: str
    render: Callable[[Plain], str]
    is_data: bool = False
    columns: tuple[CustomColumn, ...] = ()

    @property
    def is_table(self) -> bool:
        """Whether the server makes a table for it."""
        return self.form in {"table", "wide"}


def parse_output(
    text: str | None,
    *,
    template: str = "",
    allows_missing: bool = True,
    headers: bool = True,
    keeps_order: bool = False,
) -> Output:
    """Parse the value of ``-o``.

    Args:
        text: The value; None for a table.
        template: The template, if a separate option has it.
        allows_missing: Whether fields that do not exist print nothing, or ``<no value>``, instead of being an error.
        headers: Whether custom columns have headings.
        keeps_order: Whether JSON keeps the order of fields, which kubectl does with objects that it generates.

    Raises:
        CommandError: If there is no such form, or its template is invalid.
    """
    # As in kubectl: a template alone is one of Go.
    form, equals, argument = (text or ("go-template" if template else "table")).partition("=")
    form = _ALIASES.get(form, form)
    argument = template or argument
    match form:
        case "table" | "wide" | "name" if not equals:
            return Output(form, lambda _: "")
        case "yaml" | "json" if not equals:
            return Output("objects", _yaml if form == "yaml" else _json_in_order if keeps_order else _json)
        case _ if argument and form.removesuffix(_FROM_FILE) in {*_TEMPLATES, "custom-columns"} - {"jsonpath-as-json"}:
            # The text of the template comes from the option, or from a file.
            is_file = form.endswith(_FROM_FILE)
            given = _read(form, argument) if is_file else argument
            return _templated(form, given, is_file=is_file, allows_missing=allows_missing, headers=headers)
        case "jsonpath-as-json" if argument:
            return _templated(form, argument, is_file=False, allows_missing=allows_missing, headers=headers)
        case _:
            pass
    raise CommandError(f"-o has no form {text!r}", hint=f"write {', '.join(_FORMS)}", code=ExitCode.USAGE)


def _read(form: str, path: str) -> str:
    try:
        return Path(path).read_text("utf-8")
    except (OSError, ValueError) as error:
        problem = getattr(error, "strerror", "") or "it is not text in UTF-8"
        raise CommandError(f"-o {form}: {path}: {problem}", code=ExitCode.USAGE) from None


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


def _templated(form: str, given: str, *, is_file: bool, allows_missing: bool, headers: bool) -> Output:
    """The output of a form with a template, whose errors name it."""
    from masthead._cli.go_template import GoTemplate, GoTemplateError
    from masthead._cli.templates import JsonPathError, Template, parse_column_lines, parse_columns

    kind = form.removesuffix(_FROM_FILE)
    columns: list[CustomColumn] = []
    render: Callable[[object], str]
    try:
        match kind:
            case "go-template":
                render = GoTemplate.parse(given, allows_missing=allows_missing).render
            case "custom-columns":
                columns = parse_column_lines(given) if is_file else parse_columns(given)
                render = partial(_lay_out_columns, columns, headers=headers)
            case _:
                parsed = Template.parse(given, allows_missing=allows_missing)
                render = parsed.render if kind == "jsonpath" else parsed.render_json
    except (JsonPathError, GoTemplateError) as error:
        raise CommandError(f"-o {form}: {error}", code=ExitCode.USAGE) from None

    def rendered(obj: Plain) -> str:
        try:
            return render(obj)
        # The template is well-formed, and does not fit this object.
        except (JsonPathError, GoTemplateError) as error:
            raise CommandError(f"-o {form}: {error}") from None

    return Output("objects", rendered, is_data=kind in _TEMPLATES, columns=tuple(columns))


def _lay_out_columns(columns: Sequence[CustomColumn], obj: object, *, headers: bool) -> str:
    from masthead._printers.layout import lay_out

    data = cast("Plain", obj)
    items = data["items"] if data.get("kind") == "List" else [data]
    rows = [[column.cell(item) for column in columns] for item in items]
    lines = [[column.header for column in columns], *rows] if headers else rows
    return f"{lay_out(lines)}\n" if lines else ""


def listed(objects: Sequence[Plain]) -> Plain:
    """Objects as one of kind List, as kubectl prints several."""
    return {"apiVersion": "v1", "kind": "List", "metadata": {"resourceVersion": ""}, "items": list(objects)}
