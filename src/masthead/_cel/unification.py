"""Which types fit which, and what the open types of an overload turn out to be."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from masthead._cel.types import DYN, Type, param

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["Substitutions", "most_general"]

_SCALARS: Final = frozenset({"bool", "bytes", "double", "int", "string", "uint", "duration", "timestamp", "struct"})
_NULLABLE: Final = frozenset({"opaque", "struct", "duration", "timestamp"})
_NESTED: Final = frozenset({"opaque", "list", "map", "type"})


class Substitutions:
    """The substitutions of open types so far. A failed comparison changes nothing."""

    def __init__(self) -> None:
        self._known: dict[str, Type] = {}
        self._undo: list[tuple[str, Type | None]] = []
        self._count = 0

    def new_variable(self) -> Type:
        """Return an open type."""
        self._count += 1
        return param(f"_var{self._count - 1}")

    def are_assignable(self, targets: Sequence[Type], values: Sequence[Type]) -> bool:
        """Whether types are assignable to others, pairwise; on success, records the substitutions."""
        # Substitutions of a failed attempt are undone, so that the next overload starts afresh.
        mark = len(self._undo)
        if self._all_fit(targets, values):
            self._undo.clear()
            return True
        self._roll_back(mark)
        return False

    def is_assignable(self, target: Type, value: Type) -> bool:
        """Whether a type is assignable to another; on success, records the substitutions."""
        return self.are_assignable((target,), (value,))

    def resolve(self, type_: Type, *, open_is_dyn: bool = False) -> Type:
        """Replace open types by what they are known to be, and others by ``dyn`` if wanted."""
        if type_.kind == "param":
            found = self._known.get(type_.name)
            if found is not None:
                return self.resolve(found, open_is_dyn=open_is_dyn)
            return DYN if open_is_dyn else type_
        if not type_.params:
            return type_
        params = tuple(self.resolve(parameter, open_is_dyn=open_is_dyn) for parameter in type_.params)
        return Type(type_.kind, type_.name, params)

    def rename(self, types: Sequence[Type]) -> list[Type]:
        """Return the types of an overload with fresh type variables."""
        fresh: dict[str, Type] = {}
        return [self._rename(type_, fresh) for type_ in types]

    def _rename(self, type_: Type, fresh: dict[str, Type]) -> Type:
        if type_.kind == "param":
            # The same name is the same variable within one overload.
            if type_.name not in fresh:
                fresh[type_.name] = self.new_variable()
            return fresh[type_.name]
        if not type_.params:
            return type_
        return Type(type_.kind, type_.name, tuple(self._rename(parameter, fresh) for parameter in type_.params))

    def _roll_back(self, mark: int) -> None:
        while len(self._undo) > mark:
            name, old = self._undo.pop()
            if old is None:
                del self._known[name]
            else:
                self._known[name] = old

    def _learn(self, variable: Type, type_: Type) -> None:
        self._undo.append((variable.name, self._known.get(variable.name)))
        self._known[variable.name] = type_

    def _all_fit(self, targets: Sequence[Type], values: Sequence[Type]) -> bool:
        return len(targets) == len(values) and all(map(self._fits, targets, values))

    def _fits(self, left: Type, right: Type) -> bool:
        if right.kind == "param":
            fits, is_known = self._substitutes(left, right)
            # A known substitution decides, also against the type.
            if fits or is_known:
                return fits
        if left.kind == "param":
            return self._substitutes(right, left)[0]
        if left.kind in {"dyn", "error"} or right.kind in {"dyn", "error"}:
            return True
        if left.kind == "null" or right.kind == "null":
            # Null is assignable to messages and to opaque types, but not to scalars.
            other = right if left.kind == "null" else left
            return other.kind == "null" or other.kind in _NULLABLE
        if left.kind in _SCALARS:
            return left.kind == right.kind and left.name == right.name
        if left.kind == "type":
            return right.kind == "type"
        return left.kind == right.kind and left.name == right.name and self._all_fit(left.params, right.params)

    def _substitutes(self, type_: Type, variable: Type) -> tuple[bool, bool]:
        """Whether a type can substitute an open one, and whether it does already."""
        if type_ == variable:
            return True, True
        known = self._known.get(variable.name)
        if known is not None:
            if type_ == known:
                return True, True
            # Of two compatible types the more general one wins.
            if self._fits(type_, known):
                general = most_general(type_, known)
                if self._is_free(variable, general):
                    self._learn(variable, general)
                return True, True
            return False, True
        # A variable must not occur in its own substitution: the type would be infinite.
        if self._is_free(variable, type_):
            self._learn(variable, type_)
            return True, False
        return False, False

    def _is_free(self, variable: Type, within: Type) -> bool:
        """Whether an open type does not occur in another."""
        if variable == within:
            return False
        if within.kind == "param":
            known = self._known.get(within.name)
            return known is None or self._is_free(variable, known)
        if within.kind in _NESTED:
            return all(self._is_free(variable, parameter) for parameter in within.params)
        return True


def most_general(left: Type, right: Type) -> Type:
    """Return the type that allows more."""
    return left if _is_less_specific(left, right) else right


def _is_less_specific(left: Type, right: Type) -> bool:
    if left.is_dynamic or left.kind == "param":
        return True
    if right.is_dynamic or right.kind == "param" or left.kind != right.kind:
        return False
    if left.kind == "type":
        return True
    if left.kind in {"opaque", "list", "map"}:
        if left.name != right.name or len(left.params) != len(right.params):
            return False
        return all(map(_is_less_specific, left.params, right.params))
    return left == right
