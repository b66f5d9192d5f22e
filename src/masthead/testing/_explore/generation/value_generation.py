"""Values of a schema: valid, impossible for a cluster to satisfy, or refused by the server."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Final, NamedTuple

import msgspec

from masthead._schema.defaulting import copy_json
from masthead._schema.formats import checked_format
from masthead._schema.schema import Json, Schema, is_list, is_object
from masthead._schema.validation import compile_validator
from masthead.testing._explore.generation.known_values import (
    FORMAT_SAMPLES,
    is_port,
    is_scale,
    suggest_strings,
    suspect_strings,
)
from masthead.testing._explore.generation.pattern_samples import sample_pattern

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator
    from random import Random

    from masthead._schema.validation import Validator

__all__ = ["CandidateValue", "Names", "ValueGenerator"]

Names = tuple[str, ...]
"""The names of the fields that lead to a value."""

_WORDS: Final = ("alpha", "beta", "gamma", "delta")
_MAX_DEPTH: Final = 8
_MAX_SCALE: Final = 10
"""The largest number of things that a workload asks for: each is an object, in each of many runs."""
_MAX_TEXT: Final = 300
"""The length up to which a maximum length is tried."""
_MANY: Final = 3
"""The number of items of a long list."""
_INT32: Final = 2**31 - 1


class CandidateValue(NamedTuple):
    """A value for a field.

    Attributes:
        value: The value.
        is_suspect: Whether an operator may be unable to satisfy it.
    """

    value: Json
    is_suspect: bool = False


class ValueGenerator:
    """Makes values by schemas.

    Args:
        rng: The source of randomness.
    """

    def __init__(self, rng: Random) -> None:
        self._rng = rng
        self._validators: dict[int, tuple[Schema, Validator]] = {}

    def fits(self, schema: Schema, value: Json) -> bool:
        """Whether a value is valid, apart from rules."""
        # With the schema, because its id must not be reused.
        known = self._validators.get(id(schema))
        if known is None:
            known = self._validators[id(schema)] = (schema, compile_validator(schema))
        return not known[1].errors(value, msgspec.UNSET)

    def build(self, schema: Schema, names: Names, variant: int = 0, *, depth: int = 0) -> Json:
        """Return a small value; different ones for different variants, where the schema allows it."""
        # The author of the schema considers the default a good value.
        if schema.has_default and variant == 0:
            return copy_json(schema.default)
        if schema.enum:
            return schema.enum[variant % len(schema.enum)]
        if schema.type == "object" or schema.properties or schema.is_map:
            return self._build_object(schema, names, variant, depth)
        if schema.type == "array":
            return self.build_items(schema, names, max(schema.min_items or 0, 1 if variant else 0), depth=depth)
        # A suspect value at the start would leave no good state to return to.
        usable = [candidate.value for candidate in self.scalars(schema, names) if not candidate.is_suspect]
        return usable[variant % len(usable)] if usable else _any_scalar(schema)

    def _build_object(self, schema: Schema, names: Names, variant: int, depth: int) -> dict[str, Json]:
        built: dict[str, Json] = {}
        extra = schema.additional_properties
        if schema.is_map and isinstance(extra, Schema):
            for number in range(max(schema.min_properties or 0, 1 if variant else 0)):
                built[_WORDS[(number + variant) % len(_WORDS)]] = self.build(extra, names, variant, depth=depth + 1)
            return built
        if schema.embedded_resource:
            built.update({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": _WORDS[variant % len(_WORDS)]}})
        if depth > _MAX_DEPTH:
            return built
        wanted = [*schema.required, *branch_fields(schema, variant)]
        # Enough fields for the minimum, in their order.
        missing = max(0, (schema.min_properties or 0) - len(set(wanted)))
        wanted += [name for name in schema.properties if name not in wanted][:missing]
        for name in dict.fromkeys(wanted):
            field = schema.properties.get(name)
            if field is not None and name not in built:
                built[name] = self.build(field, (*names, name), variant, depth=depth + 1)
        return built

    def build_items(
        self, schema: Schema, names: Names, count: int, current: Iterable[Json] = (), *, depth: int = 0
    ) -> list[Json]:
        """Return a list of up to `count` different items, which begins with current ones."""
        items = [copy_json(item) for item in current][:count]
        if schema.items is None:
            return items
        seen = {_identify(schema, item) for item in items}
        # Some variants repeat a key, so a list needs more attempts than items.
        for variant in range(count * 4):
            if len(items) >= count:
                break
            item = self._name_item(schema, self.build(schema.items, names, variant, depth=depth + 1), variant)
            identity = _identify(schema, item)
            if identity not in seen or not (schema.list_map_keys or schema.list_type == "set" or schema.unique_items):
                seen.add(identity)
                items.append(item)
        return items

    def _name_item(self, schema: Schema, item: Json, variant: int) -> Json:
        """Give an item of a list with keys a unique key."""
        if not is_object(item) or schema.items is None:
            return item
        for key in schema.list_map_keys:
            field = schema.items.properties.get(key)
            if field is not None:
                item[key] = self.build(field, (key,), variant)
        return item

    def candidates(self, schema: Schema, names: Names, current: Json) -> list[CandidateValue]:
        """Return other values for a field: boundary and interior ones, without the fields and items inside."""
        found: Iterator[CandidateValue]
        if schema.type == "array":
            found = self._lists(schema, names, current if is_list(current) else [])
        elif schema.type == "object" or schema.properties or schema.is_map:
            found = self._objects(schema, names, current if is_object(current) else {})
        else:
            found = self.scalars(schema, names, current)
        return list(_unique(found, current))

    def scalars(self, schema: Schema, names: Names, current: Json = None) -> Iterator[CandidateValue]:
        """Yield valid scalars of a schema, suspect ones last."""
        if schema.enum:
            yield from map(CandidateValue, schema.enum)
        elif schema.type == "boolean":
            # The opposite first, because a change needs another value.
            yield from (CandidateValue(not current), CandidateValue(bool(current)))
        elif schema.int_or_string:
            yield from self._valid(schema, _int_or_strings(names))
        elif schema.type in {"integer", "number"}:
            yield from self._valid(schema, _numbers(schema, names, current))
        elif schema.type == "string":
            yield from self._valid(schema, self._strings(schema, names))
        if schema.nullable:
            # Many operators expect a value even where the schema allows null.
            yield CandidateValue(None, is_suspect=True)

    def violations(self, schema: Schema, names: Names) -> list[Json]:
        """Return values that a schema forbids: just beyond its bounds, or of another type."""
        tried: list[Json] = []
        if schema.maximum is not None:
            tried.append(math.floor(schema.maximum) + 1)
        if schema.minimum is not None:
            tried.append(math.ceil(schema.minimum) - 1)
        if schema.max_length is not None and schema.max_length <= _MAX_TEXT:
            tried.append("a" * (schema.max_length + 1))
        # A text and a number: enumerations have one type.
        if schema.enum:
            tried += ["does-not-exist", -1]
        if schema.type == "string":
            tried += ["", "not/valid !", 1]
        elif schema.type in {"integer", "number", "boolean"}:
            tried.append("not-a-" + (names[-1].lower() if names else "value"))
        elif schema.type == "array":
            tried.append({})
        # Larger integers are floats to the server, and rounded.
        exact = [value for value in tried if not isinstance(value, int) or abs(value) <= _INT32]
        # Some guesses are valid, such as an empty text without a minimum length.
        return [value for value in exact if not self.fits(schema, value)]

    def _valid(self, schema: Schema, candidates: Iterable[CandidateValue]) -> Iterator[CandidateValue]:
        return (candidate for candidate in candidates if self.fits(schema, candidate.value))

    def _strings(self, schema: Schema, names: Names) -> Iterator[CandidateValue]:
        least, most = schema.min_length or 0, _MAX_TEXT if schema.max_length is None else schema.max_length
        samples = FORMAT_SAMPLES.get(checked_format(schema).replace("-", ""), ())
        texts = [*suggest_strings(names), *samples]
        if schema.pattern:
            texts += sample_pattern(schema.pattern, self._rng, min_length=least, max_length=most)
        # A change needs another value.
        if len(texts) < 2:
            texts += _WORDS
        if schema.pattern and schema.min_length:
            texts += [text.ljust(least, "a") for text in sample_pattern(schema.pattern, self._rng, max_length=most)]
        # The boundary of the length, as far as pattern and format allow it.
        texts += [text.ljust(least, "a") for text in _WORDS] if least > 5 else []
        texts += ["a" * most] if schema.max_length is not None and most <= _MAX_TEXT else []
        yield from (CandidateValue(text[:most]) for text in texts)
        yield from (CandidateValue(text, is_suspect=True) for text in suspect_strings(names))
        # Without a known suspect, an empty text is the likeliest surprise.
        if not suspect_strings(names) and not samples:
            yield CandidateValue("", is_suspect=True)
            if not schema.pattern:
                yield CandidateValue(f"not-a-{names[-1].lower() if names else 'value'}", is_suspect=True)

    def _lists(self, schema: Schema, names: Names, current: list[Json]) -> Iterator[CandidateValue]:
        most = _MANY if schema.max_items is None else min(schema.max_items, max(_MANY, len(current) + 1))
        # Only a removal of items is suspect: an operator may need at least one item.
        yield CandidateValue([], is_suspect=bool(current))
        for count in dict.fromkeys((1, len(current) + 1, most, schema.min_items or 0, len(current) - 1)):
            if 0 < count <= max(most, len(current)):
                yield CandidateValue(self.build_items(schema, names, count, current))
        # The order of a list should seldom matter, which operators forget.
        if len(current) > 1:
            yield CandidateValue(list(reversed(current)))

    def _objects(self, schema: Schema, names: Names, current: dict[str, Json]) -> Iterator[CandidateValue]:
        extra = schema.additional_properties
        if schema.is_map and isinstance(extra, Schema):
            yield CandidateValue({})
            for count in (1, _MANY):
                added = {word: self.build(extra, names, number) for number, word in enumerate(_WORDS[:count])}
                yield CandidateValue({**current, **added})
            # A key less: operators add keys more reliably than they remove them.
            if current:
                yield CandidateValue(dict(list(current.items())[1:]))
        for number in range(len(schema.one_of or schema.any_of)):
            yield CandidateValue(self._switch(schema, names, current, number))

    def _switch(self, schema: Schema, names: Names, current: dict[str, Json], number: int) -> dict[str, Json]:
        """Return an object with the fields of another alternative, and without those of the others."""
        branches = schema.one_of or schema.any_of
        # A field of another alternative could satisfy two of them, which `oneOf` forbids.
        others = {name for branch in branches for name in branch.required} - set(branches[number].required)
        switched = {name: copy_json(value) for name, value in current.items() if name not in others}
        for name in branches[number].required:
            if name in schema.properties and name not in switched:
                switched[name] = self.build(schema.properties[name], (*names, name))
        return switched


def branch_fields(schema: Schema, variant: int) -> tuple[str, ...]:
    """Return the fields that alternatives require: of one branch of ``oneOf`` and ``anyOf``, of all of ``allOf``."""
    fields: tuple[str, ...] = tuple(name for part in schema.all_of for name in part.required)
    for branches in (schema.one_of, schema.any_of):
        if branches:
            fields += branches[variant % len(branches)].required
    return fields


def _numbers(schema: Schema, names: Names, current: Json) -> Iterator[CandidateValue]:
    step = schema.multiple_of or 1
    low = -math.inf if schema.minimum is None else schema.minimum + (step if schema.exclusive_minimum else 0)
    high = math.inf if schema.maximum is None else schema.maximum - (step if schema.exclusive_maximum else 0)
    # A bool is an int in Python.
    now = current if isinstance(current, int | float) and not isinstance(current, bool) else None
    values: list[float] = [1, 2] if now is None else [now + step, now - step]
    # Ports have bounds that schemas seldom declare.
    if is_port(names):
        values = [8080, 8081, 1, 65535]
    # Each replica costs time in every run.
    if is_scale(names):
        high = min(high, _MAX_SCALE)
    values += [low, high, 0, 1, 5, 10]
    if not math.isinf(low) and not math.isinf(high):
        values.append((low + high) // 2)
    if schema.type == "number" and schema.multiple_of is None:
        values.append(1.5 if math.isinf(low) else low + 0.5)
    for value in values:
        if math.isinf(value) or not low <= value <= high:
            continue
        # Bounds need not be multiples of the step.
        fitting = math.ceil(value / step) * step
        number = value if schema.type == "number" and schema.multiple_of is None else fitting
        is_whole = float(number).is_integer()
        if abs(number) <= _INT32:
            yield CandidateValue(int(number) if is_whole else number, is_suspect=number == 0 and is_scale(names))


def _int_or_strings(names: Names) -> Iterator[CandidateValue]:
    suggested = suggest_strings(names)
    for value in (1, *suggested, 8080 if is_port(names) else 2, "1", "50%", "100m"):
        yield CandidateValue(value)
    yield from (CandidateValue(text, is_suspect=True) for text in suspect_strings(names))
    yield CandidateValue(0, is_suspect=True)


def _any_scalar(schema: Schema) -> Json:
    """Return a value of the right type if no candidate is valid; the object needs a repair then."""
    values: dict[str, Json] = {"string": "a", "integer": 1, "number": 1, "boolean": False}
    return values.get(schema.type, {})


def _identify(schema: Schema, item: Json) -> bytes:
    """Return what distinguishes an item of a list from others."""
    if is_object(item) and schema.list_map_keys:
        return msgspec.json.encode([item.get(key) for key in schema.list_map_keys])
    return msgspec.json.encode(item, order="sorted")


def _unique(candidates: Iterable[CandidateValue], current: Json) -> Iterator[CandidateValue]:
    # The present value is no change.
    seen = {msgspec.json.encode(current, order="sorted")}
    for candidate in candidates:
        text = msgspec.json.encode(candidate.value, order="sorted")
        if text not in seen:
            seen.add(text)
            yield candidate
