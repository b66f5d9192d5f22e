"""Rewrites one class of the async façade as its blocking namesake."""

from __future__ import annotations

import ast
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Final

from masthead._codegen.definitions import Reference
from masthead.errors import GenerateError
from tools.translate import translated

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from tools.scopes import Scope

FACADE: Final = Reference("masthead._sync.facade", "Facade")
STREAM: Final = Reference("masthead._sync.streams", "StreamFacade")
ITEMS: Final = Reference("masthead._sync.streams", "Items")
PORTAL: Final = Reference("masthead._sync.portal", "Portal")
CONCEALED: Final = Reference("masthead._config.loader", "conceal")
ITERATOR: Final = Reference("collections.abc", "Iterator")
GENERATOR: Final = Reference("collections.abc", "Generator")
OWN_NAMES: Final = {
    "threading": Reference("threading", ""),
    **{name.name: name for name in (FACADE, STREAM, ITEMS, PORTAL, CONCEALED, ITERATOR, GENERATOR)},
}
"""Names that generated classes use and their sources do not."""

ASYNC: Final = "Async"
"""The prefix of an async class where its blocking namesake has the same name."""
_SELF: Final = frozenset({"Self", "NamespacedT", "ClusterScopedT"})
"""The return types of methods that return an object of the class itself."""
_ASYNC_ITERATOR: Final = "AsyncIterator"
_ASYNC_ONLY: Final = "ASYNC_ONLY"
"""What refuses ``with`` of an async class; its blocking namesake has the opposite from `Facade`."""
_SET_MODULE: Final = "set_module"
_PROPERTIES: Final = frozenset({"property", "cached_property"})
_EXPLAINED: Final = "explain_arguments"
"""The decorator of methods with explained errors, which the blocking ones have as well."""
# What `StreamFacade` and the root implement, and constructors, which wrap.
_BY_HAND: Final = frozenset({"__init__", "__aiter__", "__anext__", "__aenter__", "__aexit__"})
_PLAIN_WORDS: Final = (
    (re.compile(r"\basync (with|for|def)\b"), r"\1"),
    (re.compile(r"\bawait "), ""),
    (re.compile(r"\bmasthead\.aio\.(?=[A-Z])"), "masthead."),
)


@dataclass(frozen=True, slots=True)
class Construction:
    """The construction of a class that users create from an object of another façade.

    Attributes:
        unwrap: Returns the portal of the constructor's first argument, and its async object.
        made: The class to create instead of the namesake.
        keeps: The attribute for the first argument; empty if it is not needed again.
    """

    unwrap: str
    made: str
    keeps: str = ""


@dataclass(frozen=True, slots=True)
class Rules:
    """The exceptions: everything that is not mirrored in the general way.

    Attributes:
        mirrored: The blocking namesake of each class that has one.
        bases: The bases of classes that do not inherit from `Facade`.
        constructions: The constructions of classes that users create from an object of another façade.
        wrappers: The functions that wrap an object, for classes that are not simply called.
        names: What these three, and `adapted`, name.
        stand_ins: Bases without public methods, and the mirrored classes that replace them.
        left_out: Methods and attributes, as ``Class.name``, that only the async façade has.
        on_loop: Plain methods and properties, as ``Class.name``, that must run on the event loop.
        entered: Classes whose base takes the async object, and enters and leaves it.
        through: Methods, as ``Class.name``, whose coroutine goes to a method of the base, and not to the portal; with
            the method that does the same without waiting, if that is needed, too.
        adapted: Arguments of methods, as ``Class.name``, that are passed on changed, and their replacements.
        in_caller: Methods, as ``Class.name``, whose body runs in the caller's thread, with the functions that callers
            pass.
        translated: Classes whose whole body runs in the caller's thread, with the base that waits for threads.
        limits: How many items of an iterator, as ``Class.name``, are buffered.
        sentences: Sentences of docstrings that differ in the blocking façade.
    """

    mirrored: Mapping[Reference, Reference]
    bases: Mapping[str, str] = field(default_factory=dict[str, str])
    constructions: Mapping[str, Construction] = field(default_factory=dict[str, Construction])
    wrappers: Mapping[str, str] = field(default_factory=dict[str, str])
    names: Mapping[str, Reference] = field(default_factory=dict[str, Reference])
    stand_ins: Mapping[str, Reference] = field(default_factory=dict[str, Reference])
    left_out: frozenset[str] = frozenset()
    on_loop: frozenset[str] = frozenset()
    entered: frozenset[str] = frozenset()
    through: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    adapted: Mapping[str, Mapping[str, str]] = field(default_factory=dict[str, "Mapping[str, str]"])
    in_caller: frozenset[str] = frozenset()
    translated: Mapping[str, str] = field(default_factory=dict[str, str])
    limits: Mapping[str, int] = field(default_factory=dict[str, int])
    sentences: Mapping[str, str] = field(default_factory=dict[str, str])

    def meaning(self, scope: Scope, name: str) -> Reference | None:
        """Resolve a name in the code of a mirrored class; None for a builtin."""
        if found := OWN_NAMES.get(name) or self.names.get(name):
            return found
        found = next((inner for inner in self.stand_ins.values() if inner.name == name), scope.meaning(name))
        return found if found is None else self.mirrored.get(found, found)

    def in_plain_words(self, doc: str) -> str:
        """Rewrite a docstring for the blocking façade."""
        for said, instead in self.sentences.items():
            doc = doc.replace(said, instead)
        for pattern, instead in _PLAIN_WORDS:
            doc = pattern.sub(instead, doc)
        return doc


class ClassMirror:
    """Rewrites one class."""

    def __init__(self, scope: Scope, name: str, rules: Rules) -> None:
        """Read a class.

        Raises:
            GenerateError: If the module does not have it.
        """
        if name not in scope.classes:
            raise GenerateError(f"{scope.module} has no class {name}; fix the table of mirrors")
        self.scope = scope
        self.rules = rules
        self.source = scope.classes[name]
        methods = {method.name: method for method in _methods(self.source) if not _is_overload(method)}
        self.is_stream = "__anext__" in methods
        self.is_entered = name in rules.entered
        is_owner = "__aenter__" in methods and not self.is_stream and not self.is_entered
        self.is_root = is_owner and not self._is_in_caller("__aenter__")
        self.methods = methods
        self.overloads = [method for method in _methods(self.source) if _is_overload(method)]

    def rewritten(self, prefix: str = "") -> ast.ClassDef:
        """The blocking class.

        Args:
            prefix: Begins its name.

        Raises:
            GenerateError: If something in it has no blocking form.
        """
        body: list[ast.stmt] = [self._doc(self.source)]
        if base := self.rules.translated.get(self.source.name):
            body += [in_caller(method, self.rules, keeps_decorators=True) for method in self.methods.values()]
            return ast.ClassDef(
                self.source.name, [_expression(base)], [], body, _keep_exported(self.source.decorator_list)
            )
        if self.narrows:
            body += _parse_statements(f"_async: {self._awaited()}")
        body += [statement for statement in self.source.body if self._is_public_attribute(statement)]
        body += self._root() if self.is_root else []
        body += [self._entered_constructor()] if self.is_entered else []
        if self.source.name in self.rules.constructions:
            body.append(self._constructor(self.rules.constructions[self.source.name]))
        for method in self.methods.values():
            if self._is_in_caller(method.name) or self._is_mirrored(method.name):
                body += [self._overload(overload) for overload in self.overloads if overload.name == method.name]
                body.append(self._method(method))
        # Methods that type checkers do not see are the same in both façades.
        body += [part for part in self.source.body if isinstance(part, ast.If) and _ASYNC_ONLY not in ast.unparse(part)]
        exported = _keep_exported(self.source.decorator_list)
        return ast.ClassDef(f"{prefix}{self.source.name}", list(self._bases()), [], body, exported)

    def _is_in_caller(self, name: str) -> bool:
        return f"{self.source.name}.{name}" in self.rules.in_caller

    def _is_public_attribute(self, statement: ast.stmt) -> bool:
        names = _targets(statement)
        return bool(names) and all(
            not name.startswith("_") and f"{self.source.name}.{name}" not in self.rules.left_out for name in names
        )

    def _is_mirrored(self, name: str) -> bool:
        is_public = not name.startswith("_") or (name.endswith("__") and name not in _BY_HAND)
        return is_public and f"{self.source.name}.{name}" not in self.rules.left_out

    @property
    def narrows(self) -> bool:
        """Whether its object of the async façade is of a narrower type than its bases say."""
        if self.source.name in self.rules.translated:
            return False
        named = {_head(named_base) for named_base in self._named_bases()}
        return self.is_stream or (bool(named) and not named & self.rules.bases.keys())

    def _named_bases(self) -> list[ast.expr]:
        return [base for base in self.source.bases if _head(base) != "Generic"]

    def _awaited(self) -> str:
        """The type of the class's namesake, with the class's own type parameters."""
        generic = [base for base in self.source.bases if _head(base) == "Generic"]
        parameters = "".join(f"[{ast.unparse(base.slice)}]" for base in generic if isinstance(base, ast.Subscript))
        return f"{ASYNC}{self.source.name}{parameters}"

    def _bases(self) -> Iterator[ast.expr]:
        if self.is_stream:
            item = self.methods["__anext__"].returns
            assert item is not None
            yield ast.Subscript(ast.Name(STREAM.name), item)
        named = self._named_bases()
        if own := self.rules.bases.get(self.source.name):
            yield _expression(own)
        elif not named and not self.is_stream:
            yield _expression(f"{FACADE.name}[{self._awaited()}]")
        mirrored = {ast.unparse(base): base for base in map(self._base, named)}  # two may have one stand-in
        yield from mirrored.values()
        yield from (base for base in self.source.bases if _head(base) == "Generic")

    def _base(self, base: ast.expr) -> ast.expr:
        name = _head(base)
        if name in self.rules.stand_ins:
            name = self.rules.stand_ins[name].name
        elif not self._is_facade(name):
            raise GenerateError(f"{self._where()} stands on {name}, which has no blocking form; add it to the table")
        return ast.Subscript(ast.Name(name), base.slice) if isinstance(base, ast.Subscript) else ast.Name(name)

    def _method(self, method: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.FunctionDef:
        decorators = {_head(decorator) for decorator in method.decorator_list}
        if decorators - _PROPERTIES - {_EXPLAINED}:
            raise self._cannot(method, f"decorated with {', '.join(sorted(decorators))}")
        if method.returns is None:
            raise self._cannot(method, "without the type of what it returns")
        if self._is_in_caller(method.name):
            return in_caller(method, self.rules)
        adapted = self.rules.adapted.get(f"{self.source.name}.{method.name}", {})
        arguments = "" if decorators & _PROPERTIES else f"({', '.join(_passed_on(method.args, adapted))})"
        returns = _without_async(method.returns)
        self._refuse_deep(method, returns, adapted)
        called = "" if method.name == "__call__" else f".{method.name}"
        body = self._body(method, f"self._async{called}{arguments}", returns)
        return ast.FunctionDef(
            method.name,
            method.args,
            _parse_statements(body) if method.name.startswith("__") else [self._doc(method), *_parse_statements(body)],
            method.decorator_list,
            returns,
        )

    def _overload(self, method: ast.FunctionDef | ast.AsyncFunctionDef) -> ast.FunctionDef:
        """One of several signatures of a method."""
        if method.returns is None:
            raise self._cannot(method, "without the type of what it returns")
        returns = _without_async(method.returns)
        self._refuse_deep(method, returns)
        return ast.FunctionDef(method.name, method.args, _parse_statements("..."), method.decorator_list, returns)

    def _body(self, method: ast.FunctionDef | ast.AsyncFunctionDef, call: str, returns: ast.expr) -> str:
        name = f"{self.source.name}.{method.name}"
        if method.name == "__repr__":
            return "return repr(self._async)"
        if method.name == "close" and (self.is_root or self.is_stream):
            return "self._portal.close()" if self.is_root else "self._items.close()"
        if _head(method.returns) == _ASYNC_ITERATOR:
            limit = self.rules.limits.get(name)
            return f"return {ITEMS.name}(self._portal, {call}{f', limit={limit}' if limit else ''})"
        if name in self.rules.through:
            helper, nowait = self.rules.through[name]
            passed = ", ".join(_passed_on(method.args))
            at_once = f"lambda: self._async.{nowait}({passed})" if passed else f"self._async.{nowait}"
            call = f"self.{helper}({call}{f', {at_once}' if nowait else ''})"
        elif isinstance(method, ast.AsyncFunctionDef):
            call = f"self._portal.call({call})"
        elif name in self.rules.on_loop:
            call = f"self._on_loop({call.removesuffix('()') if call.endswith('()') else f'lambda: {call}'})"
        if wrapper := self.rules.wrappers.get(_head(returns)):
            return f"return {wrapper}(self._portal, {call})"
        if self._is_facade(_head(returns)):
            # The client imports what it returns when it is asked for: most programs use little of it.
            late = self._import_statement(_head(returns)) if self.is_root else ""
            return f"{late}return {_head(returns)}(self._portal, {call})"
        if _head(returns) in _SELF:
            return f"return type(self)(self._portal, {call})"
        if isinstance(returns, ast.Constant) and returns.value is None:
            return call
        return f"return {call}"

    def _root(self) -> list[ast.stmt]:
        """The constructor and the context manager of the client, which owns the portal."""
        source = self.methods["__init__"]
        names = {kwonlyarg.arg for kwonlyarg in source.args.kwonlyargs}
        # Or a traceback with locals would show the tokens in this frame, too.
        hides = f"kubeconfig = {CONCEALED.name}(kubeconfig)\n" if "kubeconfig" in names else ""
        begin = (
            f"{hides}"
            f"inner = {ASYNC}{self.source.name}({', '.join(_passed_on(source.args))})\n"
            f"super().__init__({PORTAL.name}(), inner)\n"
            "self._portal.at_close(inner.close)\n"
        )
        init = ast.FunctionDef(
            "__init__",
            source.args,
            [self._doc(source), *_parse_statements(begin)],
            _keep_exported(source.decorator_list),
            source.returns,
        )
        return [
            init,
            *_parse_statements("def __enter__(self) -> Self:\n    return self"),
            *_parse_statements("def __exit__(self, *exc: object) -> None:\n    self.close()"),
        ]

    def _entered_constructor(self) -> ast.FunctionDef:
        """The constructor of a class whose base enters the async object."""
        source = self.methods["__init__"]
        begin = _parse_statements(f"super().__init__({ASYNC}{self.source.name}({', '.join(_passed_on(source.args))}))")
        return ast.FunctionDef("__init__", source.args, begin, [], source.returns)

    def _constructor(self, how: Construction) -> ast.FunctionDef:
        """The constructor of a class that users make."""
        source = self.methods.get("__init__")
        if source is None:
            raise GenerateError(f"{self._where()} has no constructor of its own; take it out of the table")
        first = source.args.args[1].arg
        begin = (
            f"portal, awaited = {how.unwrap}({first})\n"
            f"super().__init__(portal, {how.made}({', '.join(_passed_on(source.args, {first: 'awaited'}))}))\n"
        ) + (f"self.{how.keeps} = {first}\n" if how.keeps else "")
        return ast.FunctionDef(
            "__init__",
            source.args,
            [self._doc(source), *_parse_statements(begin)],
            _keep_exported(source.decorator_list),
            source.returns,
        )

    def _refuse_deep(
        self,
        method: ast.FunctionDef | ast.AsyncFunctionDef,
        returns: ast.expr,
        adapted: Mapping[str, str] | None = None,
    ) -> None:
        """Refuse a façade inside something else: it would come out unwrapped, or go in so."""
        head = returns.value if isinstance(returns, ast.Subscript) else returns
        parameters = (*method.args.posonlyargs, *method.args.args, *method.args.kwonlyargs)
        looked_at = [parameter for parameter in parameters if parameter.arg not in (adapted or {})]
        for node in (*(node for part in looked_at for node in ast.walk(part)), *ast.walk(returns)):
            if isinstance(node, ast.Name) and node is not head and self._is_facade(node.id):
                raise self._cannot(method, f"with {node.id} inside something else")

    def _import_statement(self, name: str) -> str:
        # Where the blocking namesake lives, not the class that the source imports.
        found = self.rules.meaning(self.scope, name)
        assert found is not None
        return f"from {found.module} import {found.name}\n\n"

    def _is_facade(self, name: str) -> bool:
        return self.scope.meaning(name) in self.rules.mirrored

    def _doc(self, node: ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) -> ast.Expr:
        doc = ast.get_docstring(node, clean=False)
        if doc is None:
            raise GenerateError(f"{self._where()}: {node.name} has no docstring")
        return ast.Expr(ast.Constant(self.rules.in_plain_words(doc)))

    def _cannot(self, method: ast.FunctionDef | ast.AsyncFunctionDef, why: str) -> GenerateError:
        return GenerateError(
            f"{self._where()}.{method.name} cannot be mirrored {why}; write it by hand, or leave it out in the table"
        )

    def _where(self) -> str:
        return f"{self.scope.module}.{self.source.name}"


def in_caller(
    function: ast.FunctionDef | ast.AsyncFunctionDef, rules: Rules, *, keeps_decorators: bool = False
) -> ast.FunctionDef:
    """A function whose body runs in the caller's thread."""
    made = translated(function)
    if not keeps_decorators:
        made.decorator_list = _keep_exported(function.decorator_list)
    doc = ast.get_docstring(function, clean=False)
    if doc is not None:
        made.body[0] = ast.Expr(ast.Constant(rules.in_plain_words(doc)))
    return made


def _keep_exported(decorators: list[ast.expr]) -> list[ast.expr]:
    """The decorator of a definition whose namesake is exported, by the blocking twin of its module."""
    return [_of_twin(decorator) for decorator in decorators if _head(decorator) in {_SET_MODULE, _EXPLAINED}]


def _of_twin(decorator: ast.expr) -> ast.expr:
    return _expression(re.sub(r"(?<=masthead)\.aio\b", "", ast.unparse(decorator)))


def _methods(source: ast.ClassDef) -> Iterator[ast.FunctionDef | ast.AsyncFunctionDef]:
    for statement in source.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            yield statement


def _is_overload(method: ast.FunctionDef | ast.AsyncFunctionDef) -> bool:
    return any(_head(decorator) == "overload" for decorator in method.decorator_list)


def _targets(statement: ast.stmt) -> list[str]:
    found = statement.targets if isinstance(statement, ast.Assign) else []
    found = [statement.target] if isinstance(statement, ast.AnnAssign) else found
    return [_head(node) for node in found]


def _head(node: ast.expr | None) -> str:
    """The name at the head of an annotation, a base or a decorator."""
    while isinstance(node, ast.Subscript | ast.Call):
        node = node.value if isinstance(node, ast.Subscript) else node.func
    return node.id if isinstance(node, ast.Name) else ""


def _without_async(returns: ast.expr) -> ast.expr:
    if isinstance(returns, ast.Subscript) and _head(returns) == _ASYNC_ITERATOR:
        return ast.Subscript(ast.Name(ITERATOR.name), returns.slice)
    return returns


def _passed_on(arguments: ast.arguments, adapted: Mapping[str, str] | None = None) -> Iterator[str]:
    """The arguments of a method, passed on to another with the same parameters."""
    instead = adapted or {}
    yield from (instead.get(argument.arg, argument.arg) for argument in (*arguments.posonlyargs, *arguments.args)[1:])
    if arguments.vararg:
        yield f"*{arguments.vararg.arg}"
    yield from (f"{kwonlyarg.arg}={instead.get(kwonlyarg.arg, kwonlyarg.arg)}" for kwonlyarg in arguments.kwonlyargs)
    if arguments.kwarg:
        yield f"**{arguments.kwarg.arg}"


def _expression(source: str) -> ast.expr:
    return ast.parse(source, mode="eval").body


def _parse_statements(source: str) -> list[ast.stmt]:
    return ast.parse(source).body
