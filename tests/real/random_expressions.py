"""Random expressions of admission policies; a few of them do not compile, many fail for some objects."""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from random import Random

__all__ = ["RandomExpressions"]

_ANY: Final = (
    "object",
    "oldObject",
    "object.metadata",
    "object.metadata.name",
    "object.metadata.labels",
    "object.metadata.labels.size",
    "object.metadata.annotations",
    "object.metadata.annotations.a",
    "object.data",
    "object.data.a",
    "object.data['b']",
    "object.spec",
    "object.spec.replicas",
    "object.spec.ports[0].port",
    "object.spec.ports[0]",
    "object.spec.type",
    "object.spec.selector",
    "object.spec.template.spec.containers[0].image",
    "object.?spec.?replicas",
    "object.?data.?a",
    "object.kind",
    "object.missing",
    "object.missing.more",
    "oldObject.data.a",
    "oldObject.metadata.name",
    "request.options",
    "variables.one",
    "variables.two",
    "null",
    "dyn(1)",
    "dyn('a')",
    "dyn([1, 'a'])",
)
_TEXTS: Final = (
    "request.operation",
    "request.name",
    "request.namespace",
    "request.kind.kind",
    "request.resource.resource",
    "request.userInfo.username",
    "request.subResource",
    "namespaceObject.metadata.name",
    "namespaceObject.metadata.labels['team']",
    "namespaceObject.status.phase",
    "string(object.metadata.name)",
    "string(object.data.a)",
    "(object.kind + '/' + object.metadata.name)",
    "'a'",
    "''",
    "'b1'",
    "'é'",
)
_NUMBERS: Final = (
    "0",
    "1",
    "7",
    "-2",
    "size(object.metadata.name)",
    "object.data.size()",
    "size(object.spec.ports)",
    "size(request.userInfo.groups)",
    "int(object.spec.replicas)",
    "int(object.data.b)",
    "size(object.metadata.labels)",
    "9223372036854775807",
)
_LISTS: Final = (
    "request.userInfo.groups",
    "[1, 2, 3]",
    "['a', 'b', 'c']",
    "object.spec.ports",
    "object.spec.template.spec.containers",
    "object.data",
    "object.metadata.labels",
    "object.data.map(k, object.data[k])",
    "dyn([])",
    "object.missing",
)
_CHECKS: Final = (
    "authorizer.requestResource.check('create').allowed()",
    "authorizer.group('apps').resource('deployments').namespace('default').check('get').allowed()",
    "authorizer.path('/healthz').check('get').allowed()",
    "authorizer.serviceAccount('default', 'default').group('').resource('secrets').check('list').allowed()",
    "authorizer.group('').resource('pods').check('create').reason() == ''",
    "authorizer.group('').resource('').check('create').errored()",
)
_WRONG: Final = ("objekt.a", "request.missing", "size()", "'a' + 1", "variables.none", "1 && true", "[1, 'a']")
_MALFORMED: Final = ("1 +", "object.data.a ==", "(1", "'a", "a b")
"""Only as whole expressions: after a first error of syntax, the real server reports further ones."""


class RandomExpressions:
    """Makes expressions.

    Args:
        random: Where the choices come from.
        has_params: Whether expressions may use parameters.
        has_authorizer: Whether they may ask the authorizer.
        has_variables: Whether they may use other variables.
    """

    def __init__(
        self, random: Random, *, has_params: bool, has_authorizer: bool = True, has_variables: bool = True
    ) -> None:
        self._has_variables = has_variables
        self._random = random
        self._has_params = has_params
        self._has_authorizer = has_authorizer

    def _choose(self, *makers: Callable[[int], str], depth: int) -> str:
        maker: Callable[[int], str] = self._random.choice(makers)
        return maker(depth - 1)

    def condition(self, depth: int = 3) -> str:
        """An expression with a truth value; seldom one that does not compile."""
        if self._random.random() < 0.01:
            return self._random.choice(_MALFORMED)
        return self._condition(depth)

    def _condition(self, depth: int) -> str:
        if self._random.random() < 0.006:
            return self._random.choice(_WRONG)
        if depth <= 0:
            return self._random.choice(("true", "false", "has(object.data)", "has(object.spec.replicas)", "1 < 2"))
        simple = (self._comparison, self._comparison, self._presence, self._membership, self._text_test)
        return self._choose(*simple, self._logic, self._loop, self._choice, self._check, depth=depth)

    def text(self, depth: int = 2) -> str:
        """An expression with text."""
        if depth <= 0 or self._random.random() < 0.4:
            params = ("params.data.a", "string(params.data.b)") if self._has_params else ()
            known: str = self._random.choice((*_TEXTS, *params))
            return known
        shapes = (
            f"({self.text(depth - 1)} + {self.text(depth - 1)})",
            f"{self.text(depth - 1)}.upperAscii()",
            f"{self.text(depth - 1)}.replace('a', '{self._word()}')",
            f"{self.text(depth - 1)}.substring({self._random.randint(0, 3)})",
            f"'%s is %d'.format([{self.text(depth - 1)}, {self.number(depth - 1)}])",
            f"'%s'.format([{self.anything(depth - 1)}])",
            f"string({self.number(depth - 1)})",
            f"({self._condition(depth - 1)} ? {self.text(depth - 1)} : {self.text(depth - 1)})",
            f"{self.text(depth - 1)}.split('{self._word()}').join('-')",
        )
        chosen: str = self._random.choice(shapes)
        return chosen

    def number(self, depth: int = 2) -> str:
        """An expression with a number."""
        if depth <= 0 or self._random.random() < 0.5:
            return self._random.choice(_NUMBERS)
        operator = self._random.choice("+-*/%")
        shapes = (
            f"({self.number(depth - 1)} {operator} {self.number(depth - 1)})",
            f"size({self.text(depth - 1)})",
            f"{self.text(depth - 1)}.indexOf('{self._word()}')",
            f"({self._condition(depth - 1)} ? {self.number(depth - 1)} : {self.number(depth - 1)})",
        )
        chosen: str = self._random.choice(shapes)
        return chosen

    def anything(self, depth: int = 2) -> str:
        """An expression of any type."""
        if self._random.random() < 0.6:
            params = ("params", "params.data", "params.metadata.name") if self._has_params else ()
            known = _ANY if self._has_variables else [found for found in _ANY if "variables" not in found]
            chosen: str = self._random.choice((*known, *params))
            return chosen
        makers: Sequence[Callable[[int], str]] = (self.text, self.number, self._condition)
        return self._random.choice(makers)(depth - 1)

    def _word(self) -> str:
        return self._random.choice(("a", "b", "", "ab", "-", "1"))

    def _comparison(self, depth: int) -> str:
        operator = self._random.choice(("==", "!=", "<", "<=", ">", ">="))
        makers: Sequence[Callable[[int], str]] = (self.number, self.text, self.anything)
        left, right = self._random.choice(makers), self._random.choice(makers)
        # Types that differ seldom compile.
        if self._random.random() < 0.97:
            right = left
        return f"{left(depth)} {operator} {right(depth)}"

    def _presence(self, _depth: int) -> str:
        paths = [
            path for path in _ANY if path.startswith(("object.", "oldObject.")) and "?" not in path and "[" not in path
        ]
        return f"{self._random.choice(('', '!'))}has({self._random.choice(paths)})"

    def _membership(self, depth: int) -> str:
        lists = [found for found in _LISTS if "1" not in found]
        return f"{self.text(depth)} in {self._random.choice(lists)}"

    def _text_test(self, depth: int) -> str:
        function = self._random.choice(("startsWith", "endsWith", "contains", "matches"))
        return f"{self.text(depth)}.{function}('{self._random.choice(('a', '^a', '[a-c]+', 'b1', ''))}')"

    def _logic(self, depth: int) -> str:
        operator = self._random.choice(("&&", "||"))
        return f"({self._condition(depth)} {operator} {self._condition(depth)})"

    def _loop(self, depth: int) -> str:
        macro = self._random.choice(("all", "exists", "exists_one"))
        inner = self._random.choice(
            (f"v == {self.anything(depth)}", "v != ''", "v.port > 80", "v.name == 'a'", self._condition(depth))
        )
        return f"{self._random.choice(_LISTS)}.{macro}(v, {inner})"

    def _choice(self, depth: int) -> str:
        return f"({self._condition(depth)} ? {self._condition(depth)} : {self._condition(depth)})"

    def _check(self, depth: int) -> str:
        return self._random.choice(_CHECKS) if self._has_authorizer else self._comparison(depth)
