"""Go's reading of YAML, which it makes JSON of: what is refused for its size, and the words for what is not YAML."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any, Final, cast

from masthead._server.wire.go_scanner import JsonError
from masthead._server.wire.limits import BODY_LIMIT, MOST_YAML_VALUES, too_large

if TYPE_CHECKING:
    from masthead._meta.yaml import AliasExpansion

__all__ = ["decode_yaml"]


def decode_yaml(body: bytes) -> object:
    """Read the first YAML document of a body.

    Raises:
        JsonError: It is not YAML; the message is that of Go's reader.
        StatusFailure: It stands for more than a body may hold.
    """
    from masthead._meta import yaml
    from masthead.errors import DecodeError

    try:
        is_measured = _refuse_large_yaml(body)
    except DecodeError:
        # libyaml's own descent has no limit, so that nothing else may be asked about this body.
        raise JsonError(f"yaml: exceeded max depth of {_DEEPEST}") from None
    try:
        documents = yaml.load_all(body, is_measured=is_measured)
    except DecodeError as error:
        if problem := _yaml_problem(body):
            raise JsonError(f"yaml: {problem}") from None
        # differs from Go: it takes a key that stands twice, and only warns of it.
        raise JsonError(f"yaml: {error}") from None
    return documents[0] if documents else None


def _refuse_large_yaml(body: bytes) -> bool:
    """Refuse what would be more than a body may hold, were it written without aliases.

    Returns:
        Whether it could be measured; if not, it is not YAML.

    Raises:
        DecodeError: It nests too deeply.
        JsonError: Nearly all of it is aliases.
        StatusFailure: It is too large.
    """
    import yaml as pyyaml

    from masthead._meta import yaml
    from masthead.errors import DecodeError

    try:
        measured = yaml.measure(body, most=MOST_YAML_VALUES)
    except (pyyaml.YAMLError, ValueError) as error:
        if isinstance(error, DecodeError):
            raise
        return False  # what is wrong is found out when it is read
    if _aliases_too_much(measured):
        raise JsonError("yaml: document contains excessive aliasing")
    if measured.size > BODY_LIMIT:
        raise too_large(f"limit is {BODY_LIMIT}")
    if measured.values > MOST_YAML_VALUES:
        raise too_large(f"limit is {MOST_YAML_VALUES} values in YAML")
    return True


def _aliases_too_much(measured: AliasExpansion) -> bool:
    """Tell whether Go's reader refuses a document for its aliases: the larger it is, the fewer may stand for the rest."""
    fewest, most = 400_000, 4_000_000
    share = (min(max(measured.values, fewest), most) - fewest) / (most - fewest)
    allowed = 0.99 - 0.89 * share
    return measured.aliased > 100 and measured.values > 1000 and measured.aliased / measured.values > allowed


_DEEPEST: Final = 10_000
"""How deep Go's reader goes, which is in the message; here it is `masthead._meta.yaml.MAX_DEPTH`."""


def _yaml_problem(body: bytes) -> str:
    """Say what libyaml, of which Go's reader is a port, finds wrong with the first document."""
    import yaml
    from yaml.scanner import ScannerError

    loader = cast("Any", getattr(yaml, "CSafeLoader", yaml.SafeLoader))(body)
    loader.yaml_implicit_resolvers = {}  # what the words mean does not matter, and takes long for long ones
    try:
        loader.check_node()
        loader.get_node()
    except yaml.MarkedYAMLError as error:
        mark = cast("Any", error.problem_mark)
        if error.problem == "found undefined alias":
            line = cast("str", body.decode("utf-8", "replace").splitlines()[mark.line])
            alias = re.compile(r"\*([\w-]*)").match(line, mark.column)
            return f"unknown anchor '{alias[1] if alias else ''}' referenced"
        # Go counts from one for what is no word or sign, from zero for what is in the wrong place, and leaves
        # the first line out.
        number = mark.line + isinstance(error, ScannerError) if mark.line else 0
        return f"line {number}: {error.problem}" if number else str(error.problem)
    except yaml.YAMLError as error:
        return str(getattr(error, "reason", error))
    finally:
        loader.dispose()
    return ""
