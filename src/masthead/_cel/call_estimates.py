"""What calls can cost, from the sizes of their operands, and how large their results can be."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, TypeAlias

from masthead._cel.costs import LIST_COST
from masthead._cel.nodes import LiteralNode
from masthead._cel.ranges import MAX, ONE, UNKNOWN, ZERO, Range

if TYPE_CHECKING:
    from collections.abc import Callable

    from masthead._cel.estimate import Operand, SizeOf

__all__ = ["estimate_call"]

_Estimate: TypeAlias = "tuple[Range, Range | None] | None"

_TRAVERSAL: Final = 0.1
_REGEX: Final = 0.25
_ADDRESS: Final = Range(4, 16)
_FORMAT_SIZE: Final = 64
_FORMAT_REGEX: Final = 128
_TEN: Final = Range(LIST_COST, LIST_COST)


class _Call:
    """A call whose cost is estimated."""

    def __init__(self, overload: str, target: Operand | None, args: list[Operand], size_of: SizeOf) -> None:
        self.overload = overload
        self.target = target
        self.args = args
        self.size_of = size_of

    def size(self, operand: Operand) -> Range:
        return operand.size or UNKNOWN

    def item_size(self, operand: Operand) -> Range:
        highest = self.size_of((*operand.path, "@items")) if operand.path else None
        return UNKNOWN if highest is None else Range(0, highest)

    def only(self) -> Range:
        """The size of the first argument."""
        return self.size(self.args[0])


def estimate_call(
    function: str, overload: str, target: Operand | None, args: list[Operand], size_of: SizeOf
) -> tuple[Range, Range | None]:
    """Return what a call costs beyond its arguments, and how large its result is.

    Args:
        function: The name of the function.
        overload: The overload.
        target: What a method is called on.
        args: The arguments.
        size_of: The largest size of a value, by its path.

    Returns:
        The cost, and the size; None if the size is not known.
    """
    call = _Call(overload, target, args, size_of)
    by_function = _BY_FUNCTION.get(function)
    # The order matters: the first estimator with an answer wins.
    for estimator in (_BY_OVERLOAD_FIRST.get(_sort_id(overload)), by_function, _BY_OVERLOAD.get(overload)):
        if estimator is not None and (found := estimator(call)) is not None:
            return found
    return ONE, None


def _sort_id(overload: str) -> str:
    """Overloads of sorting, for eight types each, are estimated alike."""
    for suffix in ("_sortByAssociatedKeys", "_sort"):
        if overload.startswith("list_") and overload.endswith(suffix):
            return suffix
    return overload


# Strings.


def _read_target(call: _Call) -> _Estimate:
    if call.target is None:
        return None
    size = call.size(call.target)
    return size.scaled(_TRAVERSAL), size


def _read_first(call: _Call) -> _Estimate:
    return call.only().scaled(_TRAVERSAL), None


def _url(call: _Call) -> _Estimate:
    return call.only().scaled(_TRAVERSAL), call.only()


def _replace(call: _Call) -> _Estimate:
    if call.target is None:
        return None
    size, old, new = call.size(call.target), call.size(call.args[0]), call.size(call.args[1])
    most, kept_most = _most_replaced(size.high, old.low, new.high)
    least, kept_least = _least_replaced(size.low, old.high, new.low)
    result = Range(least, most).times(new).plus(Range(kept_least, kept_most))
    return size.scaled(2 * _TRAVERSAL), result


def _most_replaced(size: int, old: int, new: int) -> tuple[int, int]:
    """How often the longest replacement is inserted, and how much of the text stays."""
    # An empty text matches before every character and at the end.
    if old == 0:
        return min(size + 1, MAX), size
    if new <= old:
        return 0, size
    return min(math.ceil(float(size) / float(old)), MAX), 0


def _least_replaced(size: int, old: int, new: int) -> tuple[int, int]:
    if old == 0:
        return min(size + 1, MAX), size
    if old <= new:
        return 0, size
    return min(math.ceil(float(size) / float(old)), MAX), 0


def _split(call: _Call) -> _Estimate:
    if call.target is None:
        return None
    size = call.size(call.target)
    most = size.high
    if len(call.args) > 1:
        count = call.args[1].node
        if isinstance(count, LiteralNode) and type(count.value) is int:
            # A negative count means no limit: the server converts it to an unsigned number.
            most = count.value % 2**64
    return size.scaled(2 * _TRAVERSAL), Range(0, most)


def _join(call: _Call) -> _Estimate:
    if call.target is None:
        return None
    count = call.size(call.target)
    size = ZERO
    if call.target.type.params:
        size = count.times(call.item_size(call.target))
    if call.args:
        # One separator less than items.
        separators = Range(max(count.low - 1, 0), max(count.high - 1, 0))
        size = size.plus(call.only().times(separators))
    return size.scaled(_TRAVERSAL), size


def _find(call: _Call) -> _Estimate:
    if call.target is None:
        return None
    size = call.size(call.target)
    text = size.plus(ONE).scaled(_TRAVERSAL)
    return text.times(call.only().scaled(_REGEX)), Range(0, size.high)


def _matches(call: _Call) -> _Estimate:
    if call.target is None:
        return None
    text = call.size(call.target).plus(ONE).scaled(_TRAVERSAL)
    return text.times(call.only().scaled(_REGEX)), None


def _contains(call: _Call) -> _Estimate:
    if call.target is None:
        return None
    text = call.size(call.target).scaled(_TRAVERSAL)
    return text.times(call.only().scaled(_TRAVERSAL)), None


def _format(call: _Call) -> _Estimate:
    if call.target is None:
        return None
    return call.size(call.target).scaled(_TRAVERSAL), None


def _string_to_bytes(call: _Call) -> _Estimate:
    size = call.only()
    return size.scaled(_TRAVERSAL), Range(size.low, size.high * 4 % 2**64)


def _bytes_to_string(call: _Call) -> _Estimate:
    size = call.only()
    return size.scaled(_TRAVERSAL), Range(size.low // 4, size.high)


def _quote(call: _Call) -> _Estimate:
    size = call.only()
    return size.scaled(_TRAVERSAL), Range((size.low + 2) % 2**64, (size.high * 2 + 2) % 2**64)


# Lists.


def _traverse_list(call: _Call) -> _Estimate:
    target = call.target
    if target is None:
        return None
    if not target.type.params:
        # A string: ``indexOf`` and ``lastIndexOf`` take both.
        return call.size(target).scaled(_TRAVERSAL), None
    cost = ONE
    if target.type.params[0].kind in {"string", "bytes"}:
        cost = cost.plus(call.item_size(target).scaled(_TRAVERSAL))
    return call.size(target).times(cost), None


def _in_list(call: _Call) -> _Estimate:
    return call.size(call.args[1]).scaled(1), None


def _add_list(call: _Call) -> _Estimate:
    return ONE, call.size(call.args[0]).plus(call.size(call.args[1]))


def _add_text(call: _Call) -> _Estimate:
    size = call.size(call.args[0]).plus(call.size(call.args[1]))
    return size.scaled(_TRAVERSAL), size


def _new_list(factor: float, size: Range) -> _Estimate:
    return size.scaled(factor).plus(ONE).plus(_TEN), size


def _constant(operand: Operand, default: int) -> int:
    if isinstance(operand.node, LiteralNode) and type(operand.node.value) is int:
        return max(operand.node.value, 0)
    return default


def _fixed_range(size: int) -> Range:
    size %= 2**64
    return Range(size, size)


def _slice(call: _Call) -> _Estimate:
    if call.target is None:
        return None
    start = _constant(call.args[0], 0)
    end = _constant(call.args[1], call.size(call.target).high)
    return _new_list(1, _fixed_range(end - start))


def _range(call: _Call) -> _Estimate:
    return _new_list(1, _fixed_range(_constant(call.args[0], MAX)))


def _reverse(call: _Call) -> _Estimate:
    return None if call.target is None else _new_list(1, call.size(call.target))


def _flatten(call: _Call) -> _Estimate:
    if call.target is None:
        return None
    depth = _constant(call.args[0], MAX) if call.args else 1
    return _new_list(float(depth), call.size(call.target))


def _distinct(call: _Call) -> _Estimate:
    if call.target is None:
        return None
    size = call.size(call.target)
    return _new_list(2.0, size.times(size))


def _sort(call: _Call) -> _Estimate:
    if call.target is None:
        return None
    sorted_ = call.args[0] if call.args else call.target
    size = call.size(sorted_)
    is_text = call.overload.startswith(("list_string_", "list_bytes_"))
    return _new_list(2.0 + _TRAVERSAL if is_text else 2.0, size.times(size))


def _sets(factor: float) -> Callable[[_Call], _Estimate]:
    def estimate(call: _Call) -> _Estimate:
        size = call.size(call.args[0]).times(call.size(call.args[1]))
        return size.scaled(factor).plus(ONE), None

    return estimate


# Comparisons.


def _compare(call: _Call) -> _Estimate:
    smallest = min(call.size(call.args[0]).high, call.size(call.args[1]).high)
    return Range(1 if smallest > 0 else 0, smallest).scaled(_TRAVERSAL), None


def _equality(call: _Call) -> _Estimate:
    left, right = call.args[0].type, call.args[1].type
    if left != right:
        return None
    if left.name in {"net.IP", "net.CIDR", "kubernetes.Quantity", "kubernetes.Semver"}:
        return ONE, None
    if left.name == "kubernetes.NamedFormat":
        return Range(1, _FORMAT_SIZE).scaled(_TRAVERSAL), None
    if left.name == "kubernetes.URL":
        size = call.args[1].size
        return Range(1, size.high if size else 1).scaled(_TRAVERSAL), None
    return None


# Addresses and formats.


def _one(_call: _Call) -> _Estimate:
    return ONE, None


def _ip(call: _Call) -> _Estimate:
    return _one(call) if call.overload == "cidr_ip" else _read_first(call)


def _is_canonical(call: _Call) -> _Estimate:
    return call.only().scaled(2 * _TRAVERSAL), None


def _contains_ip(call: _Call) -> _Estimate:
    cost = _ADDRESS.plus(_ADDRESS).scaled(_TRAVERSAL)
    if call.overload == "cidr_contains_ip_string":
        cost = cost.plus(call.only().scaled(_TRAVERSAL))
    return cost, None


def _contains_cidr(call: _Call) -> _Estimate:
    cost = _ADDRESS.plus(_ADDRESS).scaled(_TRAVERSAL).plus(_ADDRESS.scaled(_TRAVERSAL)).plus(ONE)
    if call.overload == "cidr_contains_cidr_string":
        cost = cost.plus(call.only().scaled(_TRAVERSAL))
    return cost, None


def _validate(call: _Call) -> _Estimate:
    return call.only().scaled(_TRAVERSAL).scaled(_FORMAT_REGEX * _REGEX), None


_Estimator: TypeAlias = "Callable[[_Call], _Estimate]"

_BY_OVERLOAD_FIRST: Final[dict[str, _Estimator]] = {
    "list_sets_contains_list": _sets(1),
    "list_sets_intersects_list": _sets(1),
    "list_sets_equivalent_list": _sets(2),
    "list_slice": _slice,
    "lists_range": _range,
    "list_reverse": _reverse,
    "list_flatten": _flatten,
    "list_flatten_int": _flatten,
    "list_distinct": _distinct,
    "_sort": _sort,
    "_sortByAssociatedKeys": _sort,
}
_BY_FUNCTION: Final[dict[str, _Estimator]] = {
    **dict.fromkeys(("isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"), _traverse_list),
    "url": _url,
    **dict.fromkeys(("lowerAscii", "upperAscii", "substring", "trim"), _read_target),
    "replace": _replace,
    "split": _split,
    "join": _join,
    **dict.fromkeys(("find", "findAll"), _find),
    **dict.fromkeys(("cidr", "isIP", "isCIDR", "quantity", "isQuantity", "semver", "isSemver"), _read_first),
    "ip": _ip,
    "ip.isCanonical": _is_canonical,
    "containsIP": _contains_ip,
    "containsCIDR": _contains_cidr,
    "validate": _validate,
    "_==_": _equality,
}
_BY_OVERLOAD: Final[dict[str, _Estimator]] = {
    "string_format": _format,
    "string_to_bytes": _string_to_bytes,
    "bytes_to_string": _bytes_to_string,
    "strings_quote": _quote,
    "starts_with_string": _read_first,
    "ends_with_string": _read_first,
    "in_list": _in_list,
    "matches_string": _matches,
    "contains_string": _contains,
    "add_string": _add_text,
    "add_bytes": _add_text,
    "add_list": _add_list,
    **dict.fromkeys(("equals", "not_equals"), _compare),
    **dict.fromkeys(
        (
            f"{verb}_{kind}"
            for verb in ("less", "less_equals", "greater", "greater_equals")
            for kind in ("string", "bytes")
        ),
        _compare,
    ),
}
