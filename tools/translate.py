"""Coroutine functions rewritten as plain ones, for code that has to run in the caller's thread.

::

    async def attempt() -> T:                        def attempt() -> T:
        found = await self.get(name)                     found = self.get(name)
        again = await read_again(self, found)   ──>      again = self._portal.call(read_again(self._async, found))
        await asyncio.sleep(1)                           threading.Event().wait(1)

A method of `self` is called on the façade, which waits. A coroutine function that takes `self` runs on the
client's event loop. Everything else that is awaited is a plain call in the caller's thread.
"""

from __future__ import annotations

import ast
from typing import Final

__all__ = ["translated"]

_AWAITABLE: Final = "Awaitable"
_SLEEP: Final = "asyncio.sleep"
_PLAIN_SLEEP: Final = "threading.Event().wait"
_DUNDERS: Final = {"__aenter__": "__enter__", "__aexit__": "__exit__", "__aiter__": "__iter__"}
_PLAIN_NAMES: Final = {"AsyncGenerator": "Generator", "AsyncIterator": "Iterator"}
_CONTEXT_MANAGER: Final = "contextlib.asynccontextmanager"
_PLAIN_CONTEXT_MANAGER: Final = "contextlib.contextmanager"


def translated(function: ast.AsyncFunctionDef | ast.FunctionDef) -> ast.FunctionDef:
    """Rewrite a function; its docstring stays the same."""
    # From its text, so that the source is not modified.
    copy = ast.parse(ast.unparse(function)).body[0]
    made = _Translation().visit(copy)
    assert isinstance(made, ast.FunctionDef)
    return made


class _Translation(ast.NodeTransformer):
    """Takes everything asynchronous out of a tree."""

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        name = _DUNDERS.get(node.name, node.name)
        plain = ast.FunctionDef(name, node.args, node.body, node.decorator_list, node.returns)
        return self.generic_visit(plain)

    def visit_AsyncWith(self, node: ast.AsyncWith) -> ast.AST:
        return self.generic_visit(ast.With(node.items, node.body))

    def visit_AsyncFor(self, node: ast.AsyncFor) -> ast.AST:
        return self.generic_visit(ast.For(node.target, node.iter, node.body, node.orelse))

    def visit_Await(self, node: ast.Await) -> ast.AST:
        call = node.value
        if isinstance(call, ast.Call) and isinstance(call.func, ast.Name):
            on_loop = [_is_self(argument) for argument in call.args]
            if any(on_loop):
                call.args = [
                    _face("_async") if is_on_loop else arg for arg, is_on_loop in zip(call.args, on_loop, strict=True)
                ]
                inner = self.generic_visit(call)
                assert isinstance(inner, ast.Call)
                return ast.Call(ast.Attribute(_face("_portal"), "call"), [inner], [])
        return self._visit_node(call)

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        if ast.unparse(node) == _SLEEP:
            return ast.parse(_PLAIN_SLEEP, mode="eval").body
        if ast.unparse(node) == _CONTEXT_MANAGER:
            return ast.parse(_PLAIN_CONTEXT_MANAGER, mode="eval").body
        return self.generic_visit(node)

    def visit_Name(self, node: ast.Name) -> ast.AST:
        return ast.Name(_PLAIN_NAMES.get(node.id, node.id))

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and node.value.id == _AWAITABLE:
            return self._visit_node(node.slice)
        return self.generic_visit(node)

    def _visit_node(self, node: ast.AST) -> ast.AST:
        made: ast.AST = self.visit(node)
        return made


def _is_self(node: ast.expr) -> bool:
    return isinstance(node, ast.Name) and node.id == "self"


def _face(attribute: str) -> ast.Attribute:
    return ast.Attribute(ast.Name("self"), attribute)
