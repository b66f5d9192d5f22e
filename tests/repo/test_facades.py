"""The two façades are one: the same names, signatures and docs, and what is generated is current.

What is compared is what Python sees, not what the generator thinks.
"""

from __future__ import annotations

import ast
import importlib
import inspect
import pkgutil
import re
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest
from tools import facade
from tools.exports import names_of
from tools.public_names import TWINS

import masthead
import masthead._sync
import masthead.aio
import masthead.clientset
import masthead.informers
from masthead._codegen import render
from masthead._sync.facade import Facade

if TYPE_CHECKING:
    from collections.abc import Iterator

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src"

# What the async façade has beyond the blocking one, and why.
ASYNC_ONLY = {
    "PodConnection": {"reader", "writer"},  # asyncio's streams, which belong to the loop
    "RemoteInput": {"connect"},
    "RemoteOutput": {"end", "put"},
    "ReadVerbs": {"list_watch"},  # opens connections that are read in the loop
    # For those who build on it: what they return is read in the loop, and transports are called there.
    "RestClient": {"call", "connect", "exchange", "open", "wrap_transport"},
    # For those who begin and end them on the loop: factories, and the blocking façade.
    "Registration": {"is_called_from_handler", "is_own", "is_alive", "remove_nowait", "start", "stop", "mark_done"},
    "SharedInformer": {
        "is_called_from_handler",
        "stop_nowait",
        "from_options",
    },
    "SharedInformerFactory": {"check_at_end", "is_called_from_handler", "stop_nowait"},
}
# What the blocking façade has beyond the async one: a thread that runs it cannot be cancelled.
BLOCKING_ONLY = {"LeaderElector": {"stop"}}
# Methods that are written for each façade: work and callbacks run in the caller's thread, or on the loop.
WRITTEN_TWICE = {"LeaderElector": {"", "run"}}
# What the generated classes stand on: it has no namesake, and nothing public of its own.
BASES = {
    "ElectorFacade",
    "EndingFacade",
    "Facade",
    "FactoryFacade",
    "InformerFacade",
    "RecorderFacade",
    "RegistrationFacade",
    "StreamFacade",
}
ROOTS = ("masthead._client.clientset", "masthead._cache.factory.groups")
GROUPS = {
    "masthead.clientset": "masthead.aio.clientset",
    "masthead.informers": "masthead.aio.informers",
}
ENTERING = {
    "__aenter__": "__enter__",
    "__aexit__": "__exit__",
    "__aiter__": "__iter__",
    "__anext__": "__next__",
}
# What is said differently where nothing is awaited.
WORDS = [
    (r"\basync (with|for|def)\b", r"\1"),
    (r"\bmasthead\.aio\.(?=[A-Z])", "masthead."),
    (
        r"Threads: `get`, `drain` and iteration belong to one event loop[^:]*: use `timeout` or\n`asyncio\.timeout`\.",
        (
            "Threads: any thread may call all methods, but no signal handler, which could interrupt a thread that holds the\n"
            "queue's lock."
        ),
    ),
    (r"\bawait ", ""),
    (r"\ban async iterator\b", "an iterator"),
    (r"Threads: belongs to one event loop\.", "Threads: may be shared by any number of threads."),
    (
        r"Any thread may call `record`, also signal handlers and finalizers; all else belongs to the client's event loop\.",
        "Any number of threads may use it at the same time; signal handlers and finalizers may call `record`, too.",
    ),
    (
        r"One instance belongs to one event loop; calls may be made at the same time\.",
        "Any number of threads may use it at the same time.",
    ),
    (
        r"An informer belongs to the event loop that starts it; its store may be read from any thread\.",
        (
            "Any number of threads may use it at the same time. Each handler is called in its own thread, and may block;\n"
            "indexers, transforms and error handlers are called on the client's event loop, and must neither block nor call\n"
            "the client."
        ),
    ),
]
TYPES = [(r"\bAsync(Iterator|Generator)\[", r"\1["), (r"\bAwaitable\[(\w+)\]", r"\1")]


def classes_of(name: str) -> Iterator[type]:
    """The classes that a module defines. What they say of their module themselves is where they are exported."""
    module = importlib.import_module(name)
    tree = ast.parse(Path(str(module.__file__)).read_text("utf-8"))
    yield from (vars(module)[each.name] for each in tree.body if isinstance(each, ast.ClassDef))


def _is_blocking(cls: type) -> bool:
    return issubclass(cls, Facade) or cls.__name__ in facade.TRANSLATED


def blocking_classes() -> Iterator[tuple[str, type[Facade[Any]]]]:
    """The blocking classes, each with the module that defines it."""
    for package in (masthead._sync, masthead.clientset, masthead.informers):
        for module in pkgutil.walk_packages(package.__path__, f"{package.__name__}."):
            yield from ((module.name, cls) for cls in classes_of(module.name) if _is_blocking(cls))


def async_classes() -> dict[str, type]:
    """The async namesakes of blocking classes that have a name of their own, by their names."""
    modules = (*(mirror.source for mirror in facade.MIRRORS), *ROOTS)
    return {each.__name__: each for name in modules for each in classes_of(name)}


ASYNC = async_classes()


def namesake(defined_in: str, cls: type[Facade[Any]]) -> type:
    """The async class that a blocking one stands for."""
    package, _, module = defined_in.rpartition(".")
    if package not in GROUPS:
        return ASYNC[cls.__name__]
    found: type = getattr(importlib.import_module(f"{GROUPS[package]}.{module}"), cls.__name__)
    return found


PAIRS = [
    pytest.param(namesake(module, each), each, id=f"{module.rpartition('.')[2]}.{each.__name__}")
    for module, each in blocking_classes()
    if each.__name__ not in BASES
]


def plain(text: str, words: list[tuple[str, str]]) -> str:
    for pattern, instead in words:
        text = re.sub(pattern, instead, text)
    return text


def members(cls: type) -> dict[str, Any]:
    """What a class offers, its bases' included; dunder methods only where they are its own business."""
    wanted = {*ENTERING, *ENTERING.values(), "__repr__"}
    return {
        ENTERING.get(name, name): value
        for base in reversed(cls.__mro__[:-1])
        for name, value in vars(base).items()
        if not name.startswith("_") or (name in wanted and inspect.isfunction(value))
    }


def shared_members(cls: type) -> dict[str, Any]:
    """The members of a blocking class that are generated."""
    name = cls.__name__
    others = {*BLOCKING_ONLY.get(name, ()), *WRITTEN_TWICE.get(name, ())}
    return {key: member for key, member in members(cls).items() if key not in others}


def function(member: Any) -> Any:
    if isinstance(member, cached_property):
        return member.func
    return member.fget if isinstance(member, property) else member


def signature(member: Any) -> str:
    """Parameters, defaults and types, as they are written."""
    found = inspect.signature(function(member))
    parts = [
        f"{parameter.kind.name} {parameter.name}: {parameter.annotation} = {parameter.default!r}"
        for parameter in found.parameters.values()
    ]
    return plain("\n".join([*parts, f"-> {found.return_annotation}"]), TYPES)


def doc(member: Any) -> str:
    return plain(inspect.getdoc(function(member)) or "", WORDS)


@pytest.mark.parametrize(("awaited", "blocking"), PAIRS)
def test_both_facades_offer_the_same_names(awaited: type, blocking: type) -> None:
    left_out = {name for base in awaited.__mro__ for name in ASYNC_ONLY.get(base.__name__, ())}

    assert set(members(awaited)) - left_out == set(members(blocking)) - BLOCKING_ONLY.get(blocking.__name__, set())


@pytest.mark.parametrize(("awaited", "blocking"), PAIRS)
def test_both_facades_take_and_return_the_same(awaited: type, blocking: type) -> None:
    theirs = members(awaited)
    for name, member in shared_members(blocking).items():
        if callable(function(member)) and name not in {"__iter__", "__next__"}:
            assert signature(member) == signature(theirs[name]), name


@pytest.mark.parametrize(("awaited", "blocking"), PAIRS)
def test_both_facades_say_the_same(awaited: type, blocking: type) -> None:
    if "" not in WRITTEN_TWICE.get(blocking.__name__, ()):
        assert doc(blocking) == doc(awaited)
    theirs = members(awaited)
    for name, member in shared_members(blocking).items():
        if not name.startswith("__") and callable(function(member)):
            assert doc(member) == doc(theirs[name]), name


@pytest.mark.parametrize(("awaited", "blocking"), PAIRS)
def test_properties_are_properties_in_both_and_nothing_blocking_is_awaited(awaited: type, blocking: type) -> None:
    theirs = members(awaited)
    for name, member in members(blocking).items():
        assert isinstance(member, property) == isinstance(theirs.get(name), property), name
        assert isinstance(member, cached_property) == isinstance(theirs.get(name), cached_property), name
        assert not inspect.iscoroutinefunction(member), name
        assert not inspect.isasyncgenfunction(member), name


@pytest.mark.parametrize(("awaited", "blocking"), PAIRS)
def test_what_one_stands_on_the_other_does(awaited: type, blocking: type) -> None:
    ours = {each.__name__ for each in blocking.__mro__} - {*BASES, "ThreadQueue", "Generic"}

    assert ours == {each.__name__ for each in awaited.__mro__} - {
        "WriteBase",
        "SubresourceBase",
        "RemoteCommandBase",
        "LoopQueue",
        "Generic",
    }


def test_every_class_of_the_table_has_its_namesake() -> None:
    wanted = {name for mirror in facade.MIRRORS for name in mirror.classes}

    assert wanted <= {each.__name__ for _, each in blocking_classes()}


@pytest.mark.parametrize("name", ["Client", "EventRecorder", "SharedInformer", "SharedInformerFactory"])
def test_what_users_make_is_made_with_the_same_arguments(name: str) -> None:
    ours, theirs = getattr(masthead, name).__init__, getattr(masthead.aio, name).__init__

    assert signature(ours) == signature(theirs)
    assert doc(ours) == doc(theirs)


def test_the_classes_of_the_blocking_facade_come_from_its_package() -> None:
    for module, twin in TWINS.items():
        ours, theirs = names_of(twin), names_of(module)
        different = {name: home for name, home in ours.items() if home not in {twin, theirs.get(name)}}
        assert all(home.startswith("masthead._sync.") for home in different.values()), module


def test_the_blocking_facade_that_is_committed_is_what_its_generator_makes() -> None:
    for name, text in facade.files_for(SOURCE).items():
        assert (SOURCE / name).read_text("utf-8") == text, f"{name} is stale; run make codegen"


def test_only_what_has_no_namesake_is_written_by_hand() -> None:
    found = {each.__name__ for module, each in blocking_classes() if module.rpartition(".")[0] not in GROUPS}

    assert found - ASYNC.keys() == BASES


@pytest.mark.parametrize(
    "path",
    sorted((SOURCE / "masthead" / "_sync").rglob("*.py")),
    ids=lambda path: f"{path.parent.name}/{path.name}",
)
def test_the_blocking_facade_is_typed_without_any(path: Path) -> None:
    names = {node.id for node in ast.walk(ast.parse(path.read_text("utf-8"))) if isinstance(node, ast.Name)}

    assert "Any" not in names


def test_nothing_that_was_generated_is_left_over() -> None:
    folder = SOURCE / "masthead" / "_sync"
    generated = {path.name for path in folder.glob("*.py") if render.is_generated(path.read_text("utf-8"))}

    mirrored = {f"{mirror.target.rpartition('.')[2]}.py" for mirror in facade.MIRRORS}
    assert generated == mirrored | {"clientset.py", "groups.py"}
