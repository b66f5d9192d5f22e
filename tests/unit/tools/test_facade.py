"""The blocking façade, made from the source of the async one."""

from __future__ import annotations

import ast
import textwrap

import pytest
from tools import facade
from tools.mirror import ClassMirror, Construction, Rules
from tools.scopes import import_statements, names_needed, read_scope

from masthead._codegen.definitions import Reference
from masthead.errors import GenerateError

HEAD = '''
"""Things: many of them."""
from __future__ import annotations
from typing import TYPE_CHECKING, Generic, TypeVar
from things.other import Other, Base
if TYPE_CHECKING:
    from collections.abc import AsyncIterator
    from typing import Self
    from things.values import Value
T = TypeVar("T", bound=object)
'''
RULES = Rules(
    mirrored={
        Reference("things.main", "Thing"): Reference("blocking.main", "Thing"),
        Reference("things.other", "Other"): Reference("blocking.other", "Other"),
    },
    bases={"Made": "Special[T]"},
    constructions={"Made": Construction("unwrap", "PortalMade", keeps="_source")},
    wrappers={"Wrapped": "wrap"},
    names={
        "Special": Reference("blocking.special", "Special"),
        "wrap": Reference("blocking.special", "wrap"),
    },
    stand_ins={"Base": Reference("things.other", "Other")},
    left_out=frozenset({"Thing.raw"}),
    on_loop=frozenset({"Thing.join"}),
    through={
        "Thing.end": ("_end", "end_nowait"),
        "Thing.leave": ("_end", "leave_nowait"),
        "Thing.run": ("_run", ""),
    },
    adapted={"Thing.make": {"maker": "self._awaiting(maker)"}},
    in_caller=frozenset({"Thing.change"}),
    limits={"Thing.pages": 1},
    sentences={"Belongs to one loop.": "Belongs to any thread."},
)


def mirrored(body: str, *, bases: str = "") -> str:
    """The blocking form of a class with this body."""
    source = f'{HEAD}class Thing{bases}:\n    """A thing."""\n{textwrap.indent(textwrap.dedent(body), "    ")}'
    tree = ClassMirror(read_scope("things.main", source), "Thing", RULES).rewritten()
    return ast.unparse(ast.fix_missing_locations(tree))


def method(body: str) -> str:
    """The blocking form of one method, without the class around it."""
    _, _, rest = mirrored(body).partition('"""A thing."""\n')
    return textwrap.dedent(rest).strip()


def test_a_coroutine_becomes_a_call_that_waits() -> None:
    assert (
        method('''
        async def get(self, name: str, /, kind: str = "", *, timeout: float | None = None) -> Value:
            """Get it."""
            return await self._get(name)
    ''')
        == textwrap.dedent('''
        def get(self, name: str, /, kind: str='', *, timeout: float | None=None) -> Value:
            """Get it."""
            return self._portal.call(self._async.get(name, kind, timeout=timeout))
    ''').strip()
    )


def test_a_coroutine_without_a_result_becomes_a_call_without_a_result() -> None:
    assert (
        method('''
        async def drop(self, *names: str, **options: int) -> None:
            """Drop it."""
    ''')
        == textwrap.dedent('''
        def drop(self, *names: str, **options: int) -> None:
            """Drop it."""
            self._portal.call(self._async.drop(*names, **options))
    ''').strip()
    )


def test_an_async_iterator_becomes_an_iterator_with_the_limit_of_the_table() -> None:
    assert (
        method('''
        async def each(self) -> AsyncIterator[Value]:
            """Each."""
            yield self.value

        async def pages(self) -> AsyncIterator[list[Value]]:
            """Pages."""
            yield [self.value]

        def chunks(self) -> AsyncIterator[bytes]:
            """Chunks."""
            return self._chunks()
    ''')
        == textwrap.dedent('''
        def each(self) -> Iterator[Value]:
            """Each."""
            return Items(self._portal, self._async.each())

        def pages(self) -> Iterator[list[Value]]:
            """Pages."""
            return Items(self._portal, self._async.pages(), limit=1)

        def chunks(self) -> Iterator[bytes]:
            """Chunks."""
            return Items(self._portal, self._async.chunks())
    ''').strip()
    )


def test_a_result_with_a_blocking_namesake_is_wrapped_in_it() -> None:
    assert (
        method('''
        def other(self, name: str) -> Other[Value]:
            """Another."""
            return Other(name)

        async def find(self) -> Other[Value]:
            """Find another."""
            return await self._find()

        @property
        def first(self) -> Other[Value]:
            """The first."""
            return self._first
    ''')
        == textwrap.dedent('''
        def other(self, name: str) -> Other[Value]:
            """Another."""
            return Other(self._portal, self._async.other(name))

        def find(self) -> Other[Value]:
            """Find another."""
            return Other(self._portal, self._portal.call(self._async.find()))

        @property
        def first(self) -> Other[Value]:
            """The first."""
            return Other(self._portal, self._async.first)
    ''').strip()
    )


def test_a_result_with_a_wrapper_is_wrapped_by_it() -> None:
    assert (
        method('''
        def wrapped(self) -> Wrapped[Value]:
            """Wrapped."""
            return self._wrapped
    ''')
        == textwrap.dedent('''
        def wrapped(self) -> Wrapped[Value]:
            """Wrapped."""
            return wrap(self._portal, self._async.wrapped())
    ''').strip()
    )


def test_a_coroutine_may_go_through_a_method_of_the_base() -> None:
    assert (
        method('''
        async def end(self, *, grace: float = 1.0) -> None:
            """End it."""

        async def leave(self) -> None:
            """Leave it."""

        async def run(self) -> None:
            """Run it."""
    ''')
        == textwrap.dedent('''
        def end(self, *, grace: float=1.0) -> None:
            """End it."""
            self._end(self._async.end(grace=grace), lambda: self._async.end_nowait(grace=grace))

        def leave(self) -> None:
            """Leave it."""
            self._end(self._async.leave(), self._async.leave_nowait)

        def run(self) -> None:
            """Run it."""
            self._run(self._async.run())
    ''').strip()
    )


def test_an_argument_may_be_adapted() -> None:
    assert (
        method('''
        def make(self, kind: str, maker: Callable[[Other], Other]) -> Value:
            """Make it."""
    ''')
        == textwrap.dedent('''
        def make(self, kind: str, maker: Callable[[Other], Other]) -> Value:
            """Make it."""
            return self._async.make(kind, self._awaiting(maker))
    ''').strip()
    )


def test_a_constructor_argument_of_another_facade_is_unwrapped() -> None:
    source = f'''{HEAD}
class Made(Generic[T]):
    """Made."""
    def __init__(self, source: Other, *, limit: int = 3) -> None:
        """Begin."""
    if not TYPE_CHECKING:
        def __call__(self) -> None:
            raise TypeError
'''
    tree = ClassMirror(read_scope("things.main", source), "Made", RULES).rewritten()

    assert (
        ast.unparse(ast.fix_missing_locations(tree))
        == textwrap.dedent('''
        class Made(Special[T], Generic[T]):
            """Made."""

            def __init__(self, source: Other, *, limit: int=3) -> None:
                """Begin."""
                portal, awaited = unwrap(source)
                super().__init__(portal, PortalMade(awaited, limit=limit))
                self._source = source
            if not TYPE_CHECKING:

                def __call__(self) -> None:
                    raise TypeError
    ''').strip()
    )


def test_a_plain_method_that_belongs_on_the_loop_is_called_there() -> None:
    assert (
        method('''
        def join(self, value: Value) -> None:
            """Join."""
    ''')
        == textwrap.dedent('''
        def join(self, value: Value) -> None:
            """Join."""
            self._on_loop(lambda: self._async.join(value))
    ''').strip()
    )


def test_private_and_excluded_members_are_not_mirrored() -> None:
    assert (
        method('''
        limit = 3
        _secret: int = 4
        _hidden = 5

        def __init__(self, value: Value) -> None:
            """Take a value."""

        async def raw(self) -> bytes:
            """For others."""

        async def _get(self) -> Value:
            """Ours."""

        @property
        def name(self) -> str:
            """Its name."""
    ''')
        == textwrap.dedent('''
        limit = 3

        @property
        def name(self) -> str:
            """Its name."""
            return self._async.name
    ''').strip()
    )


def test_docstrings_do_not_mention_await() -> None:
    text = mirrored('''
        async def get(self) -> None:
            """Get it. Belongs to one loop.

            ::

                async with thing as other:
                    async for each in other:
                        await each.get()
            """
    ''')
    found = next(each for each in ast.walk(ast.parse(text)) if isinstance(each, ast.FunctionDef))

    assert ast.get_docstring(found) == (
        "Get it. Belongs to any thread.\n\n::\n\n    with thing as other:\n        for each in other:\n            each.get()"  # noqa: E501
    )


@pytest.mark.parametrize(
    ("bases", "wanted"),
    [
        ("", "Facade[AsyncThing]"),
        ("(Generic[T])", "Facade[AsyncThing[T]], Generic[T]"),
        ("(Other[T], Generic[T])", "Other[T], Generic[T]"),
        ("(Base[T], Generic[T])", "Other[T], Generic[T]"),
        ("(Base[T], Other[T], Generic[T])", "Other[T], Generic[T]"),
    ],
)
def test_bases_are_mirrored_too(bases: str, wanted: str) -> None:
    assert mirrored("", bases=bases).splitlines()[0] == f"class Thing({wanted}):"


def test_an_iterator_becomes_a_stream() -> None:
    assert (
        mirrored(
            '''
        def __aiter__(self) -> Self: ...
        async def __anext__(self) -> list[T]: ...
        async def __aenter__(self) -> Self: ...
        async def __aexit__(self, *exc: object) -> None: ...

        async def close(self) -> None:
            """End it."""
    ''',
            bases="(Generic[T])",
        )
        == textwrap.dedent('''
        class Thing(StreamFacade[list[T]], Generic[T]):
            """A thing."""
            _async: AsyncThing[T]

            def close(self) -> None:
                """End it."""
                self._items.close()
    ''').strip()
    )


def test_exports_are_exported_by_the_blocking_package_too() -> None:
    source = f'{HEAD}from masthead._module import set_module\n\n@set_module("masthead.aio")\nclass Thing:\n    """A."""'
    tree = ClassMirror(read_scope("things.main", source), "Thing", RULES).rewritten()

    assert ast.unparse(ast.fix_missing_locations(tree)).startswith("@set_module('masthead')\nclass Thing(")


def test_a_class_with_bases_declares_its_own_namesake() -> None:
    assert "_async: AsyncThing[T]" in mirrored("", bases="(Other[T], Generic[T])")


def test_a_method_that_takes_functions_runs_in_the_thread_of_the_caller() -> None:
    assert (
        method('''
        async def change(self, fn: Callable[[], Awaitable[Value]]) -> Value:
            """Change it: ``await thing.change(fn)``."""
            async def attempt() -> Value:
                async with self.lock:
                    found = await read_again(self, await fn())
                return await self.write(found)
            await asyncio.sleep(1)
            return await attempt()
    ''')
        == textwrap.dedent('''
        def change(self, fn: Callable[[], Value]) -> Value:
            """Change it: ``thing.change(fn)``."""

            def attempt() -> Value:
                with self.lock:
                    found = self._portal.call(read_again(self._async, fn()))
                return self.write(found)
            threading.Event().wait(1)
            return attempt()
    ''').strip()
    )


def test_a_context_manager_other_than_a_stream_has_its_own_portal() -> None:
    assert (
        mirrored('''
        def __init__(self, value: Value, *, limit: int = 3) -> None:
            """Begin."""

        async def __aenter__(self) -> Self: ...
        async def __aexit__(self, *exc: object) -> None: ...
        def __repr__(self) -> str: ...

        async def close(self) -> None:
            """End it."""
    ''')
        == textwrap.dedent('''
        class Thing(Facade[AsyncThing]):
            """A thing."""

            def __init__(self, value: Value, *, limit: int=3) -> None:
                """Begin."""
                inner = AsyncThing(value, limit=limit)
                super().__init__(Portal(), inner)
                self._portal.at_close(inner.close)

            def __enter__(self) -> Self:
                return self

            def __exit__(self, *exc: object) -> None:
                self.close()

            def __repr__(self) -> str:
                return repr(self._async)

            def close(self) -> None:
                """End it."""
                self._portal.close()
    ''').strip()
    )


@pytest.mark.parametrize(
    ("body", "why"),
    [
        ('@staticmethod\ndef make() -> Value:\n    """Make."""', "decorated with staticmethod"),
        ('def get(self):\n    """Get."""', "without the type"),
        ('async def get(self) -> tuple[Other, int]:\n    """Get."""', "with Other inside something else"),
        ('async def get(self) -> Other | None:\n    """Get."""', "with Other inside something else"),
        ('async def put(self, other: Other) -> None:\n    """Put."""', "with Other inside something else"),
    ],
)
def test_a_member_without_a_blocking_form_is_an_error(body: str, why: str) -> None:
    with pytest.raises(GenerateError, match=why):
        mirrored(body)


def test_a_base_without_a_mirror_is_an_error() -> None:
    with pytest.raises(GenerateError, match="stands on Value, which has no blocking form"):
        mirrored("", bases="(Value)")


def test_a_method_without_a_docstring_is_an_error() -> None:
    with pytest.raises(GenerateError, match="get has no docstring"):
        mirrored("async def get(self) -> Value: ...")


def test_a_missing_class_is_an_error() -> None:
    with pytest.raises(GenerateError, match="has no class Nothing"):
        ClassMirror(read_scope("things.main", HEAD), "Nothing", RULES)


class TestScopes:
    def test_names_resolve_to_what_they_were_imported_as(self) -> None:
        scope = read_scope("things.main", HEAD)

        assert scope.title == "Things"
        assert scope.meaning("Value") == Reference("things.values", "Value")
        assert scope.meaning("T") == Reference("things.main", "T")
        assert scope.meaning("str") is None

    @pytest.mark.parametrize(("source", "why"), [("def", "cannot be read"), ("x = 1", "has no docstring")])
    def test_an_invalid_module_is_an_error(self, source: str, why: str) -> None:
        with pytest.raises(GenerateError, match=why):
            read_scope("things.main", source)

    def test_names_in_annotations_are_distinguished_from_names_used_at_runtime(self) -> None:
        tree = ast.parse(
            "class A(B[C]):\n    @d\n    def e(self, f: G = H, *i: J) -> K:\n        l: M = n\n        return l\n"
        )

        at_run_time, for_checkers = names_needed(tree.body)

        assert at_run_time == {"B", "C", "d", "H", "n", "l"}
        assert for_checkers == {"G", "J", "K", "M"}

    def test_imports_are_grouped_by_module(self) -> None:
        wanted = {"a": Reference("x", "a"), "b": Reference("x", "c"), "d": Reference("w", "d")}

        assert [ast.unparse(import_statement) for import_statement in import_statements(wanted.items())] == [
            "from w import d",
            "from x import a, c as b",
        ]


def test_the_command_reports_errors(tmp_path: object, capsys: pytest.CaptureFixture[str]) -> None:
    assert facade.main(["--root", str(tmp_path)]) == 2
    assert "No such file or directory" in capsys.readouterr().err
