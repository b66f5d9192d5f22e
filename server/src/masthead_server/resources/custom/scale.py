"""The scale of a custom resource: read from and written to the paths that its definition names."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final, TypeAlias, cast

from masthead._schema.errors import invalid
from masthead_server.resources.scale import NO_REPLICAS, scale_of
from masthead_server.wire.failures import StatusFailure, bad_request

if TYPE_CHECKING:
    from masthead._schema.errors import FieldError
    from masthead_server.resources.custom.definition import ScalePaths
    from masthead_server.wire.plain import Plain

__all__ = ["PathScale"]

_MAX_INT32: Final = 2**31 - 1
_Found: TypeAlias = tuple[object, str]


class PathScale:
    """The scale of objects whose replicas and selector lie at these paths."""

    def __init__(self, paths: ScalePaths) -> None:
        self._paths = paths

    def read(self, found: Plain) -> Plain:
        """Return the Scale of an object.

        Raises:
            StatusFailure: If there are no replicas, or if a value has the wrong type.
        """
        scale = self.read_for_update(found)
        # kube-apiserver distinguishes unset replicas from 0, and cannot show a Scale without any.
        if scale["spec"].get("replicas") == NO_REPLICAS:
            problem = f'the spec replicas field "{self._paths.spec_replicas}" does not exist'
            raise StatusFailure(500, "InternalError", f"Internal error occurred: {problem}", details=_cause(problem))
        return scale

    def read_for_update(self, found: Plain) -> Plain:
        """Return the Scale that an update changes; an object without replicas has `NO_REPLICAS`.

        Raises:
            StatusFailure: If a value has the wrong type.
        """
        replicas, problem = _integer_at(found, self._paths.spec_replicas)
        present, other_problem = _integer_at(found, self._paths.status_replicas)
        selector, last_problem = _text_at(found, self._paths.label_selector)
        # Only the first error is reported, in kube-apiserver's order.
        if first := problem or other_problem or last_problem:
            raise StatusFailure(500, "", first)
        return scale_of(found, NO_REPLICAS if replicas is None else replicas, present or 0, selector)

    def set_replicas(self, found: Plain, replicas: int) -> None:
        """Set the replicas of an object.

        Raises:
            StatusFailure: If the update has left them out, or if there is no place for them.
        """
        if replicas == NO_REPLICAS:
            raise bad_request(f'the spec replicas field "{self._paths.spec_replicas}" cannot be empty')
        *owners, name = _steps(self._paths.spec_replicas)
        owner = found
        for index, step in enumerate(owners):
            # The spec of an object may be missing; the path is created for the replicas.
            inner = owner.setdefault(step, {})
            if not isinstance(inner, dict):
                path = ".".join(["", *owners[: index + 1]])
                raise StatusFailure(500, "", f"value cannot be set because {path} is not a map[string]interface{{}}")
            owner = cast("Plain", inner)
        owner[name] = replicas

    def spec_errors(self, found: Plain) -> list[FieldError]:
        """Return the errors of an object's desired replicas."""
        return _replica_errors(found, self._paths.spec_replicas)

    def status_errors(self, found: Plain) -> list[FieldError]:
        """Return the errors of an object's current replicas and selector."""
        errors = _replica_errors(found, self._paths.status_replicas)
        _, problem = _text_at(found, self._paths.label_selector)
        return [*errors, invalid(self._paths.label_selector, "", problem)] if problem else errors


def _replica_errors(found: Plain, path: str) -> list[FieldError]:
    value, problem = _integer_at(found, path)
    if problem:
        return [invalid(path, 0, problem)]
    if value is not None and value < 0:
        return [invalid(path, value, "should be a non-negative integer")]
    if value is not None and value > _MAX_INT32:
        return [invalid(path, value, f"should be less than or equal to {_MAX_INT32}")]
    return []


_MISSING: Final = object()


def _steps(path: str) -> list[str]:
    return path.removeprefix(".").split(".")


def _value_at(found: Plain, path: str) -> _Found:
    """Return the value at a path, `_MISSING` if it is not set, or the error if a value on the way is no object."""
    value = cast("object", found)
    steps = _steps(path)
    for index, step in enumerate(steps):
        if not isinstance(value, dict):
            # A null ends the path like a missing field.
            if value is None:
                return _MISSING, ""
            way = "".join(f".{name}" for name in steps[: index + 1])
            return (
                None,
                (
                    f"{way} accessor error: {_format_value(value)} is of the type {_go_type(value)}, "
                    "expected map[string]interface{}"
                ),
            )
        owner = cast("Plain", value)
        if step not in owner:
            return _MISSING, ""
        value = cast("object", owner[step])
    return value, ""


def _integer_at(found: Plain, path: str) -> tuple[int | None, str]:
    value, problem = _value_at(found, path)
    if problem or value is _MISSING:
        return None, problem
    # In Python a boolean is an integer; in JSON it is not.
    if isinstance(value, int) and not isinstance(value, bool):
        return value, ""
    return None, _wrong_type(path, value, "int64")


def _text_at(found: Plain, path: str) -> tuple[str, str]:
    if not path:
        return "", ""
    value, problem = _value_at(found, path)
    if problem or value is _MISSING:
        return "", problem
    return (value, "") if isinstance(value, str) else ("", _wrong_type(path, value, "string"))


def _wrong_type(path: str, value: object, wanted: str) -> str:
    way = "".join(f".{step}" for step in _steps(path))
    return f"{way} accessor error: {_format_value(value)} is of the type {_go_type(value)}, expected {wanted}"


_GO_TYPES: Final[dict[type, str]] = {
    bool: "bool",
    int: "int64",
    float: "float64",
    str: "string",
    list: "[]interface {}",
    dict: "map[string]interface {}",
    type(None): "<nil>",
}


def _go_type(value: object) -> str:
    return _GO_TYPES[type(value)]


def _format_value(value: object) -> str:
    """Write a value as Go's ``%v`` does."""
    if value is None:
        return "<nil>"
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        # Go prints maps in the order of their keys.
        pairs = sorted(cast("Plain", value).items())
        return f"map[{' '.join(f'{key}:{_format_value(pair)}' for key, pair in pairs)}]"
    if isinstance(value, list):
        return f"[{' '.join(map(_format_value, cast('list[object]', value)))}]"
    return f"{value:g}" if isinstance(value, float) else str(value)


def _cause(problem: str) -> Plain:
    return {"causes": [{"message": problem}]}
