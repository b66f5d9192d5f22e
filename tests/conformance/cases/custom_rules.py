"""Custom resources: what validation rules say of objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from tests.conformance.case import area
from tests.conformance.definitions import (
    DEFINITIONS,
    NUMBER,
    TEXT,
    definition,
    group_of,
    install,
    object_of,
    resource_of,
    update,
)

if TYPE_CHECKING:
    from tests.conformance.api import Api, Plain

case = area("Rules of custom resources")

RULES = "x-kubernetes-validations"
SHORT: Plain = {"type": "string", "maxLength": 30}
NUMBERS: Plain = {"type": "array", "maxItems": 10, "items": NUMBER}
TEXTS: Plain = {"type": "array", "maxItems": 10, "items": SHORT}
TAGS: Plain = {"type": "object", "maxProperties": 10, "additionalProperties": SHORT}
PAIR: Plain = object_of(a=SHORT, b=SHORT, n=NUMBER)


def _ruled(schema: Plain, *rules: str, **fields: Any) -> Plain:
    return schema | {RULES: [{"rule": rule} | fields for rule in rules]}


def _install(api: Api, spec: Plain, plural: str) -> str:
    install(api, definition(api, object_of(spec=spec), plural=plural, kind=_kind(plural)))
    return resource_of(api, plural)


def _kind(plural: str) -> str:
    return plural.removesuffix("s").capitalize()


def _widget(api: Api, spec: Any, plural: str = "widgets") -> Plain:
    head = {"apiVersion": f"{group_of(api)}/v1", "kind": _kind(plural)}
    return head | {"metadata": {"name": "a"}, "spec": spec}


def _judge(api: Api, schema: Plain, *values: Any, plural: str = "widgets") -> None:
    """Create an object with each of these values, without storing it."""
    resource = _install(api, schema, plural)
    for value in values:
        api.create(resource, _widget(api, value, plural), dryRun="All")


def _change(api: Api, schema: Plain, old: Any, *values: Any, plural: str = "widgets") -> None:
    """Store an object, and replace its value by each of these, without storing them."""
    resource = _install(api, schema, plural)
    stored = api.create(resource, _widget(api, old, plural)).body
    for value in values:
        api.update(resource, "a", stored | {"spec": value}, dryRun="All")


def _showing(schema: Plain, *expressions: str) -> Plain:
    """A schema with rules that fail, and whose messages show what expressions come to."""
    rules = [
        {
            "rule": f"dyn({expression}) == dyn(null)",
            "message": f"no value: {expression}",
            "messageExpression": f"'%s'.format([{expression}])",
        }
        for expression in expressions
    ]
    return schema | {RULES: rules}


def _values(api: Api, schema: Plain, value: Any, *expressions: str) -> None:
    """Show what expressions come to for a value."""
    _judge(api, _showing(schema, *expressions), value)


# Messages


@case("a rule that holds accepts an object, one that fails names itself")
def _(api: Api) -> None:
    _judge(api, _ruled(PAIR, "self.a != self.b"), {"a": "x", "b": "y"}, {"a": "x", "b": "x"})


@case("the value of a scalar is shown, that of an object is not")
def _(api: Api) -> None:
    _judge(api, object_of(t=_ruled(SHORT, "self == 'x'"), n=_ruled(NUMBER, "self == 1")), {"t": "y"}, {"n": 2})


@case("a message replaces the rule")
def _(api: Api) -> None:
    _judge(api, _ruled(NUMBER, "self < 5", message="  must be small "), 7)


@case("an expression makes the message")
def _(api: Api) -> None:
    _judge(api, _ruled(NUMBER, "self < 5", messageExpression="'got %d'.format([self])"), 7)


@case("an expression that makes no message falls back to the message, or to the rule")
def _(api: Api) -> None:
    fields: Plain = {}
    for number, expression in enumerate(("''", "'  '", "'a\\nb'", "string(1 / (self - 7))")):
        fields[f"a{number}"] = _ruled(NUMBER, "self < 5", message="fallback", messageExpression=expression)
        fields[f"b{number}"] = _ruled(NUMBER, "self < 6", messageExpression=expression)
    # One at a time: the real server reports several in random order.
    _judge(api, object_of(**fields), *({field: 7} for field in fields))


@case("a reason decides the kind of error")
def _(api: Api) -> None:
    reasons = ("FieldValueInvalid", "FieldValueForbidden", "FieldValueRequired", "FieldValueDuplicate")
    fields = {reason[10:].lower(): _ruled(NUMBER, "self < 5", reason=reason, message="no") for reason in reasons}
    # One at a time: the real server reports several in random order.
    _judge(api, object_of(**fields), *({field: 7} for field in fields))


@case("a field path names another field")
def _(api: Api) -> None:
    inner = object_of(a=SHORT, tags=TAGS)
    paths = (".a", ".tags['x.y']", ".tags.z")
    fields = {f"f{n}": _ruled(inner, "false", fieldPath=each, message="no") for n, each in enumerate(paths)}
    _judge(api, object_of(**fields), *({field: {"a": "x"}} for field in fields))


@case("several rules are reported together")
def _(api: Api) -> None:
    _judge(api, _ruled(NUMBER, "self > 1", "self > 2", "self > 10", "self > 11"), 7)


@case("rules are not checked for an object that its schema refuses")
def _(api: Api) -> None:
    _judge(api, _ruled(object_of(a=SHORT, n=NUMBER), "self.n > 5"), {"a": 1, "n": 1})


# Levels


@case("rules at every level")
def _(api: Api) -> None:
    item = _ruled(object_of(n=_ruled(NUMBER, "self > 0")), "has(self.n)")
    items = _ruled({"type": "array", "maxItems": 5, "items": item}, "self.size() > 1")
    _judge(api, object_of(items=items), {"items": [{"n": 0}]}, {"items": [{}, {"n": 1}]}, {"items": []}, {})


@case("rules of the values of a map")
def _(api: Api) -> None:
    values = _ruled(SHORT, "self.startsWith('v')")
    tags = {"type": "object", "maxProperties": 5, "additionalProperties": values}
    _judge(api, tags, {"a": "v1", "b": "w1"}, {})


@case("a rule of the whole object sees its names")
def _(api: Api) -> None:
    schema = object_of(spec=NUMBER) | {
        RULES: [
            {"rule": "self.metadata.name == 'b'"},
            {"rule": "self.kind == 'Gadget'"},
            {"rule": "self.apiVersion == 'v1'"},
            {"rule": "self.metadata.generateName == 'b'"},
            {"rule": "self.spec == 2"},
        ]
    }
    install(api, definition(api, schema))
    api.create(resource_of(api), _widget(api, 1), dryRun="All")


@case("a null is not judged")
def _(api: Api) -> None:
    nullable = _ruled(SHORT | {"nullable": True}, "self != ''")
    _judge(api, object_of(a=nullable), {"a": None}, {"a": ""})


@case("an embedded object has names")
def _(api: Api) -> None:
    embedded = {
        "type": "object",
        "x-kubernetes-embedded-resource": True,
        "x-kubernetes-preserve-unknown-fields": True,
    }
    pod = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "p"}}
    _judge(api, _ruled(embedded, "self.kind == 'Job'", "self.metadata.name == 'p'"), pod)


# Transitions


@case("a transition rule judges updates only")
def _(api: Api) -> None:
    _change(api, _ruled(NUMBER, "self >= oldSelf", message="must not shrink"), 5, 4, 5, 6)


@case("a transition rule needs an old value")
def _(api: Api) -> None:
    schema = object_of(a=_ruled(SHORT, "self == oldSelf", message="immutable"), b=SHORT)
    _change(api, schema, {"b": "x"}, {"a": "y"}, {"b": "z"})
    _change(api, schema, {"a": "x"}, {"a": "y"}, {}, plural="gadgets")


@case("an optional old value is there at creation, too")
def _(api: Api) -> None:
    rule = "oldSelf.hasValue() ? self == oldSelf.value() : self == 1"
    schema = _ruled(NUMBER, rule, optionalOldSelf=True, message="one, and for ever")
    _judge(api, schema, 1, 2)
    _change(api, schema, 1, 1, 2, plural="gadgets")


@case("items with keys have their old values")
def _(api: Api) -> None:
    item = _ruled(object_of(k=SHORT, v=NUMBER) | {"required": ["k"]}, "self.v >= oldSelf.v", message="grows")
    keyed = {
        "type": "array",
        "maxItems": 5,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": item,
    }
    old = [{"k": "a", "v": 1}, {"k": "b", "v": 2}]
    _change(api, keyed, old, [{"k": "b", "v": 1}, {"k": "a", "v": 1}], [{"k": "c", "v": 0}])


@case("values of a map have their old values")
def _(api: Api) -> None:
    values = _ruled(NUMBER, "self >= oldSelf", message="grows")
    numbers = {"type": "object", "maxProperties": 5, "additionalProperties": values}
    _change(api, numbers, {"a": 1, "b": 2}, {"a": 1, "b": 1}, {"c": 0})


@case("rules of what does not change do not count")
def _(api: Api) -> None:
    resource = _install(api, object_of(a=NUMBER, b=NUMBER), "widgets")
    stored = api.create(resource, _widget(api, {"a": 7, "b": 7})).body
    ruled = object_of(a=_ruled(NUMBER, "self < 5", message="a"), b=_ruled(NUMBER, "self < 5", message="b"))

    def add_rules(found: Plain) -> None:
        found["spec"]["versions"][0]["schema"]["openAPIV3Schema"]["properties"]["spec"] = ruled

    update(api, "widgets", add_rules)
    # The rules hold as soon as a new object is refused.
    path = api.path(resource)
    probe = _widget(api, {"a": 7}) | {"metadata": {"name": "b"}}
    api.await_response(f"{path}?dryRun=All", lambda status, _: status == 422, method="POST", body=probe)
    for spec in ({"a": 7, "b": 8}, {"a": 7, "b": 1}, {"a": 8, "b": 7}):
        api.update(resource, "a", stored | {"spec": spec}, dryRun="All")


# Values and types


@case("numbers overflow and divide as 64 bits do")
def _(api: Api) -> None:
    _values(
        api,
        object_of(i=NUMBER, j=NUMBER, t=SHORT),
        {"i": 9223372036854775807, "j": 0, "t": "12x"},
        "self.i + 1",
        "self.i - 1",
        "self.i * 2",
        "self.i / self.j",
        "self.i % self.j",
        "-7 / 2",
        "-7 % 2",
        "1.0 / 0.0",
        "uint(self.j) - 1u",
        "int(self.t)",
    )


@case("keys and indices that are missing")
def _(api: Api) -> None:
    _values(
        api,
        object_of(l=NUMBERS, m=TAGS, o=PAIR),
        {"l": [1], "m": {"k": "v"}, "o": {}},
        "self.l[0]",
        "self.l[1]",
        "self.l[-1]",
        "self.m['k']",
        "self.m['x']",
        "self.m.x",
        "self.o.a",
        "has(self.o.a)",
        "has(self.m.k)",
    )


@case("optional values")
def _(api: Api) -> None:
    _values(
        api,
        object_of(l=NUMBERS, m=TAGS, o=PAIR),
        {"l": [1], "m": {"k": "v"}, "o": {"a": "x"}},
        "self.?o.?a.orValue('none')",
        "self.?o.?b.orValue('none')",
        "self.l[?5].orValue(-1)",
        "self.m[?'k'].hasValue()",
        "self.?o.optMap(o, o.a + '!').orValue('none')",
        "self.?o.optFlatMap(o, o.?b).hasValue()",
        "[?self.?o.?a, ?self.?o.?b].size()",
        "optional.none().value()",
        "self.l.first().value()",
    )


@case("macros over lists")
def _(api: Api) -> None:
    _values(
        api,
        object_of(l=NUMBERS),
        {"l": [3, 1, 2]},
        "self.l.all(x, x > 0)",
        "self.l.exists(x, x > 2)",
        "self.l.exists_one(x, x > 2)",
        "self.l.map(x, x * 2)",
        "self.l.map(x, x > 1, x * 2)",
        "self.l.filter(x, x > 1)",
        "self.l.all(i, v, v > i)",
        "self.l.transformList(i, v, i + v)",
        "self.l.sortBy(x, -x)",
    )


@case("macros over maps")
def _(api: Api) -> None:
    _values(
        api,
        object_of(m=TAGS),
        {"m": {"k": "v"}},
        "self.m.all(k, k == 'k')",
        "self.m.map(k, self.m[k])",
        "self.m.exists(k, v, v == 'v')",
        "self.m.transformMap(k, v, v + '!')",
        "self.m.transformMapEntry(k, v, {v: k})",
    )


@case("macros absorb errors that do not decide")
def _(api: Api) -> None:
    _values(
        api,
        object_of(l=NUMBERS),
        {"l": [1, 2]},
        "self.l.exists(x, 1 / (x - 1) > 0)",
        "self.l.all(x, 1 / (x - 1) > 5)",
        "self.l.all(x, 1 / (x - 1) > 0)",
        "self.l.exists_one(x, 1 / (x - 1) > 0)",
        "1 / 0 > 0 || true",
        "1 / 0 > 0 && false",
        "1 / 0 > 0 || false",
    )


@case("functions of strings")
def _(api: Api) -> None:
    _values(
        api,
        object_of(s=SHORT),
        {"s": "héllo"},
        "self.s.size()",
        "self.s.charAt(1)",
        "self.s.charAt(9)",
        "self.s.indexOf('l')",
        "self.s.lastIndexOf('l')",
        "self.s.upperAscii()",
        "self.s.replace('l', 'L', 1)",
        "self.s.split('l')",
        "self.s.substring(1, 3)",
        "self.s.substring(3, 1)",
        "strings.quote(self.s)",
        "self.s.find('l+')",
        "self.s.findAll('l')",
        "self.s.matches('^h')",
    )


@case("functions of lists and sets")
def _(api: Api) -> None:
    _values(
        api,
        object_of(l=NUMBERS, t=TEXTS),
        {"l": [3, 1, 3], "t": ["b", "a"]},
        "self.l.sum()",
        "self.l.min()",
        "self.l.max()",
        "[].max()",
        "self.l.isSorted()",
        "self.l.indexOf(3)",
        "self.l.lastIndexOf(3)",
        "self.l.sort()",
        "self.l.reverse()",
        "self.l.distinct()",
        "self.l.slice(1, 9)",
        "[[1], [2]].flatten()",
        "lists.range(3)",
        "self.t.join(',')",
        "sets.contains(self.t, ['a'])",
        "sets.equivalent(self.t, ['a', 'b'])",
        "sets.intersects(self.t, ['c'])",
    )


@case("formats of strings")
def _(api: Api) -> None:
    _values(
        api,
        object_of(n=NUMBER),
        {"n": 255},
        "'%d %x %X %o %b'.format([self.n, self.n, self.n, self.n, self.n])",
        "'%.2f %e'.format([1234.5, 1234.5])",
        "'%s'.format([[1, 'a', null, {'b': 1.5}]])",
        "'%s'.format([duration('90m')])",
    )


@case("times")
def _(api: Api) -> None:
    _values(
        api,
        object_of(
            t={"type": "string", "format": "date-time"},
            d={"type": "string", "format": "date"},
            s={"type": "string", "format": "duration"},
        ),
        {"t": "2024-02-29T12:34:56.5+02:00", "d": "2024-02-29", "s": "1h30m"},
        "self.t",
        "self.t + self.s",
        "self.t.getHours()",
        "self.t.getHours('Asia/Tokyo')",
        "self.t.getDayOfYear()",
        "self.d.getDayOfWeek()",
        "self.s.getMinutes()",
        "self.t - self.d",
        "timestamp(string(self.s))",
        "duration(string(self.d))",
    )


@case("addresses and networks")
def _(api: Api) -> None:
    _values(
        api,
        object_of(s=SHORT),
        {"s": "10.1.2.3"},
        "ip(self.s).family()",
        "isIP(self.s)",
        "ip('1.2.3').family()",
        "ip('::ffff:1.2.3.4').family()",
        "ip.isCanonical('2001:DB8::1')",
        "cidr('10.0.0.0/8').containsIP(self.s)",
        "cidr('10.0.0.0/8').containsCIDR('10.1.0.0/16')",
        "string(cidr('10.1.2.3/8').masked())",
        "cidr('10.0.0.0/33').prefixLength()",
    )


@case("quantities and versions")
def _(api: Api) -> None:
    _values(
        api,
        object_of(s=SHORT),
        {"s": "1.5Gi"},
        "quantity(self.s).asInteger()",
        "quantity(self.s).isGreaterThan(quantity('1G'))",
        "quantity('1').add(quantity('2')) == quantity('3')",
        "quantity('1x').asInteger()",
        "isQuantity('500m')",
        "semver('1.2.3').isLessThan(semver('1.10.0'))",
        "semver('v1.2', true).minor()",
        "semver('1.2').minor()",
        "isSemver('1.2.3-rc.1')",
    )


@case("URLs")
def _(api: Api) -> None:
    _values(
        api,
        object_of(s=SHORT),
        {"s": "https://a.b:8443/p%20q?k=1&k=2"},
        "url(self.s).getScheme()",
        "url(self.s).getHost()",
        "url(self.s).getHostname()",
        "url(self.s).getPort()",
        "url(self.s).getEscapedPath()",
        "url(self.s).getQuery()",
        "url('relative').getHost()",
        "isURL('/p')",
    )


@case("named formats")
def _(api: Api) -> None:
    _values(
        api,
        object_of(s=SHORT),
        {"s": "My_Name"},
        "format.dns1123Label().validate(self.s).value()",
        "format.dns1035Label().validate('1a').value()",
        "format.qualifiedName().validate('a/b/c').value()",
        "format.labelValue().validate(self.s).hasValue()",
        "format.named('uuid').value().validate(self.s).value()",
        "format.named('other').hasValue()",
    )


@case("an integer or string is dynamic")
def _(api: Api) -> None:
    either = {"x-kubernetes-int-or-string": True, "maxLength": 10}
    schema = _showing(
        object_of(e=either),
        "type(self.e) == int ? self.e > 3 : self.e.endsWith('%')",
        "self.e + 1",
        "self.e == 5",
        "self.e.size()",
        "self.e.startsWith('5')",
        "string(self.e)",
        "int(self.e)",
    )
    _judge(api, schema, {"e": 5}, {"e": "50%"})


@case("bytes are decoded")
def _(api: Api) -> None:
    encoded = {"type": "string", "format": "byte", "maxLength": 20}
    _values(api, object_of(b=encoded), {"b": "aGVsbG8="}, "self.b.size()", "string(self.b)", "self.b == b'hello'")


@case("numbers are doubles")
def _(api: Api) -> None:
    number = {"type": "number"}
    _values(
        api,
        object_of(n=number),
        {"n": 2},
        "self.n",
        "self.n / 4.0",
        "dyn(self.n) == 2",
        "self.n < 3",
        "int(self.n)",
    )


@case("sets are equal in any order, and are united")
def _(api: Api) -> None:
    members = TEXTS | {"x-kubernetes-list-type": "set"}
    value = {"a": ["x", "y"], "b": ["y", "x"]}
    _values(
        api,
        object_of(a=members, b=members),
        value,
        "self.a == self.b",
        "self.a + ['z', 'x']",
        "self.a == ['x']",
    )


@case("lists with keys are equal in any order, and are merged")
def _(api: Api) -> None:
    keyed = {
        "type": "array",
        "maxItems": 5,
        "x-kubernetes-list-type": "map",
        "x-kubernetes-list-map-keys": ["k"],
        "items": object_of(k=SHORT, v=NUMBER) | {"required": ["k"]},
    }
    one, two = {"k": "a", "v": 1}, {"k": "b", "v": 2}
    value = {"a": [one, two], "b": [two, one]}
    _values(
        api,
        object_of(a=keyed, b=keyed),
        value,
        "dyn(self.a) == dyn(self.b)",
        "(dyn(self.a) + [{'k': dyn('a'), 'v': dyn(9)}]).map(x, x.v)",
    )


@case("names of fields are escaped")
def _(api: Api) -> None:
    spec = object_of(**{"x-y": NUMBER, "a.b": NUMBER, "c/d": NUMBER, "e__f": NUMBER, "namespace": NUMBER, "1": NUMBER})
    _values(
        api,
        spec,
        {"x-y": 1, "a.b": 2, "c/d": 3, "e__f": 4, "namespace": 5, "1": 6},
        "self.x__dash__y",
        "self.a__dot__b",
        "self.c__slash__d",
        "self.e__underscores__f",
        "self.__namespace__",
        "self.namespace",
    )


@case("types are values")
def _(api: Api) -> None:
    _values(
        api,
        object_of(n=NUMBER, o=PAIR, l=NUMBERS, m=TAGS),
        {"n": 1, "o": {}, "l": [], "m": {}},
        "type(self.n)",
        "type(self.o)",
        "type(self.l)",
        "type(self.m)",
        "type(duration('1s'))",
        "type(type(1))",
        "type(self.n) == int",
    )


@case("equality across types")
def _(api: Api) -> None:
    _values(
        api,
        object_of(n=NUMBER),
        {"n": 1},
        "dyn(self.n) == 1.0",
        "dyn(self.n) == 1u",
        "dyn(self.n) == true",
        "dyn(self.n) == '1'",
        "dyn([1]) == [1.0]",
        "dyn(null) == dyn(0)",
        "self.n < 1.5",
        "dyn(1.0) in [dyn(self.n)]",
    )


@case("text of numbers")
def _(api: Api) -> None:
    _values(
        api,
        object_of(n=NUMBER),
        {"n": 1},
        "string(1.5)",
        "string(1000000.0)",
        "string(0.00001)",
        "string(1e100)",
        "string(18446744073709551615u)",
        "double('1e3')",
        "bool('T')",
    )


# Costs


@case("an evaluation may cost so much")
def _(api: Api) -> None:
    texts = {"type": "array", "maxItems": 500, "items": {"type": "string", "maxLength": 10}}
    rule = "self.all(a, self.all(b, a != 'x' || b != 'y'))"
    _judge(api, _ruled(texts, rule), ["a"] * 10, ["abcdefghij"] * 400)


@case("all rules together may cost so much")
def _(api: Api) -> None:
    texts = {"type": "array", "maxItems": 290, "items": {"type": "string", "maxLength": 10}}
    rule = "self.all(a, self.all(b, a != 'x'))"
    _judge(api, object_of(**{f"f{n}": _ruled(texts, rule) for n in range(1)}), {"f0": ["abc"] * 290})


# Definitions


@case("expressions that are none")
def _(api: Api) -> None:
    for rule in (
        "self >",
        "(self > 1",
        "self > 1)",
        "self = 1",
        "self > 'a",
        "self..x",
        "[1, 2",
        "1 +* 2",
        "a b",
    ):
        api.create(DEFINITIONS, definition(api, object_of(spec=_ruled(NUMBER, rule))), dryRun="All")


@case("types that do not fit")
def _(api: Api) -> None:
    for rule in (
        "self == 'a'",
        "self + 'a' == 'b'",
        "self.x == 1",
        "self && true",
        "size(self) == 1",
        "self.all(x, true)",
        "[1, 'a'] == []",
        "nothing == 1",
        "self.matches('(')",
        "duration('x') == duration('1s')",
        "int('x') == 1",
        "'%d'.format(['a']) == ''",
        "has(self)",
        "cel.bind(x, 1, x == 1)",
        "math.greatest(1, 2) == 2",
    ):
        api.create(DEFINITIONS, definition(api, object_of(spec=_ruled(NUMBER, rule))), dryRun="All")


@case("what rules do not see")
def _(api: Api) -> None:
    unknown = {"type": "object", "x-kubernetes-preserve-unknown-fields": True}
    for schema in (
        _ruled(object_of(a=unknown), "self.a.b == 1"),
        _ruled(object_of(a={"x-kubernetes-preserve-unknown-fields": True}), "has(self.a)"),
        object_of(a=_ruled({"x-kubernetes-preserve-unknown-fields": True}, "true")),
        _ruled(object_of(**{"a b": TEXT}), "has(self.a)"),
        NUMBER | {"allOf": [{RULES: [{"rule": "self > 5"}]}]},
    ):
        api.create(DEFINITIONS, definition(api, object_of(spec=schema)), dryRun="All")


@case("estimates of costs by functions")
def _(api: Api) -> None:
    texts = {"type": "array", "maxItems": 1000, "items": {"type": "string", "maxLength": 1000}}
    for rule in (
        "self.all(x, x.contains('a'))",
        "self.all(x, x.matches('a+b+c+d+'))",
        "self.all(x, x.split(',').size() > 0)",
        "self.all(x, self.all(y, x == y))",
        "self.map(x, x + x).exists(x, x == 'a')",
        "self.exists(x, quantity(x).isInteger())",
        "self.all(x, isIP(x))",
        "self.sort() == self",
        "self.distinct().size() == self.size()",
        "sets.contains(self, self)",
        "self.join(',').size() > 1",
        "self.all(x, format.dns1123Label().validate(x).hasValue())",
    ):
        api.create(DEFINITIONS, definition(api, object_of(spec=_ruled(texts, rule))), dryRun="All")


@case("defaults are judged by rules")
def _(api: Api) -> None:
    for schema in (
        _ruled(NUMBER, "self > 5") | {"default": 3},
        _ruled(NUMBER, "self > 5") | {"default": 7},
        _ruled(PAIR, "self.a != self.b") | {"default": {"a": "x", "b": "x"}},
    ):
        api.create(DEFINITIONS, definition(api, object_of(spec=object_of(f=schema))), dryRun="All")
