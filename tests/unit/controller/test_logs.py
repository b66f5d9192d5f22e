"""Log records of a reconcile: one line each, with its fields and without secrets."""

from __future__ import annotations

import asyncio
import contextvars
import io
import json
import logging
import logging.config
import subprocess
import sys
import threading
from contextlib import contextmanager
from datetime import UTC, datetime
from logging.handlers import QueueHandler, QueueListener
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import masthead
from masthead._controller.log_values import shortened
from masthead._controller.logs import ReconcileFields, ReconcileLogger, current_reconcile, reconcile_fields
from masthead._meta.secret import Secret
from masthead.api.core.v1 import Secret as SecretObject
from masthead.errors import ArgumentError

if TYPE_CHECKING:
    from collections.abc import Iterator

WEB = {"controller": "website", "object": "default/web", "reconcile_id": "5f0c2a9e-1"}
IN_JSON = {"controller": "website", "namespace": "default", "name": "web", "reconcileID": "5f0c2a9e-1"}


@contextmanager
def logged_to(formatter: logging.Formatter) -> Iterator[tuple[logging.Logger, io.StringIO]]:
    """A separate logger with one handler, and its output."""
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.setFormatter(formatter)
    handler.addFilter(masthead.controller.ReconcileFilter())
    logger = logging.Logger("shop.orders")  # noqa: LOG001 - nobody else's
    logger.addHandler(handler)
    yield logger, stream


def json_line(stream: io.StringIO) -> dict[str, Any]:
    written = stream.getvalue()
    assert written.endswith("\n")
    assert written.count("\n") == 1
    found: dict[str, Any] = json.loads(written)
    return found


def test_a_line_has_time_level_logger_and_message() -> None:
    with logged_to(masthead.controller.JsonFormatter()) as (logger, stream):
        logger.warning("created %d pods", 3, extra={"replicas": 3})
    line = json_line(stream)
    assert datetime.fromisoformat(line.pop("ts")).tzinfo == UTC
    assert line == {"level": "warning", "logger": "shop.orders", "msg": "created 3 pods", "replicas": 3}


def test_within_a_reconcile_every_logger_names_it() -> None:
    with logged_to(masthead.controller.JsonFormatter()) as (logger, stream):
        with reconcile_fields(**WEB):
            logger.info("hello")
        line = json_line(stream)
        assert {key: line[key] for key in IN_JSON} == IN_JSON
    assert current_reconcile() is None


def test_a_cluster_scoped_object_has_no_namespace() -> None:
    with logged_to(masthead.controller.JsonFormatter()) as (logger, stream):
        with reconcile_fields(controller="nodes", object="node-1", reconcile_id="1"):
            logger.info("hello")
        line = json_line(stream)
    assert line["name"] == "node-1"
    assert "namespace" not in line


def test_reconciles_may_be_nested_and_end_in_any_way() -> None:
    with reconcile_fields(**WEB) as outer:
        with pytest.raises(ZeroDivisionError), reconcile_fields(controller="b", object="x", reconcile_id="2"):
            raise ZeroDivisionError
        assert current_reconcile() is outer
    assert current_reconcile() is None


async def test_log_lines_of_tasks_and_threads_name_their_reconcile() -> None:
    seen: dict[str, str] = {}

    def note(who: str) -> None:
        found = current_reconcile()
        seen[who] = found.object if found else ""

    async def reconcile(key: str) -> None:
        with reconcile_fields(controller="website", object=key, reconcile_id=key):
            await asyncio.sleep(0)
            note(f"{key} itself")
            async with asyncio.TaskGroup() as group:
                group.create_task(asyncio.to_thread(note, f"{key} thread"))
            context = contextvars.copy_context()
            thread = threading.Thread(target=context.run, args=(note, f"{key} own thread"))
            thread.start()
            await asyncio.to_thread(thread.join)

    async with asyncio.TaskGroup() as group:
        for key in ("a", "b"):
            group.create_task(reconcile(key))
    note("outside")
    assert seen == {
        **{f"{key} {who}": key for key in ("a", "b") for who in ("itself", "thread", "own thread")},
        "outside": "",
    }


def test_log_lines_of_a_blocking_call_name_the_reconcile(
    caplog: pytest.LogCaptureFixture,
) -> None:
    caplog.handler.addFilter(masthead.controller.ReconcileFilter())
    caplog.set_level(logging.INFO)
    refused = masthead.Config(server="http://127.0.0.1:9")
    with (
        reconcile_fields(**WEB),
        masthead.Client(refused, attempts=2) as client,
        pytest.raises(masthead.MastheadError),
    ):
        client.core_v1.pods("default").get("web")
    about_the_call = [record for record in caplog.records if record.name == "masthead.rest"]
    assert about_the_call
    assert {getattr(record, "object", "") for record in about_the_call} == {"default/web"}


def test_a_queue_handler_keeps_the_reconcile_of_the_thread_that_logs() -> None:
    stream = io.StringIO()
    target = logging.StreamHandler(stream)
    target.setFormatter(masthead.controller.JsonFormatter())
    target.addFilter(masthead.controller.ReconcileFilter())
    queue: SimpleQueue[object] = SimpleQueue()
    handler = QueueHandler(queue)
    handler.addFilter(masthead.controller.ReconcileFilter())
    logger = logging.Logger("shop")  # noqa: LOG001
    logger.addHandler(handler)
    listener = QueueListener(queue, target)
    listener.start()
    with reconcile_fields(**WEB):
        logger.info("hello")
    listener.stop()
    assert json_line(stream)["name"] == "web"


def test_a_reconcile_logger_keeps_what_the_caller_adds() -> None:
    stream = io.StringIO()
    plain = logging.StreamHandler(stream)
    plain.setFormatter(logging.Formatter("%(controller)s %(object)s %(reconcile_id)s %(message)s %(replicas)s"))
    logger = logging.Logger("shop")  # noqa: LOG001
    logger.addHandler(plain)
    ReconcileLogger(logger, ReconcileFields(**WEB)).info("scaled to %d", 3, extra={"replicas": 3})
    assert stream.getvalue() == "website default/web 5f0c2a9e-1 scaled to 3 3\n"


def test_a_format_of_ones_own_works_outside_of_a_reconcile() -> None:
    with logged_to(logging.Formatter("[%(controller)s] %(message)s")) as (logger, stream):
        logger.info("hello")
    assert stream.getvalue() == "[] hello\n"


def test_an_exception_is_shown_with_its_traceback() -> None:
    with logged_to(masthead.controller.JsonFormatter()) as (logger, stream):
        try:
            _ = dict[str, int]()["missing"]
        except KeyError:
            logger.exception("failed")
    line = json_line(stream)
    assert line["error"] == "KeyError: 'missing'"
    assert line["stacktrace"].startswith("Traceback (most recent call last):")
    assert "test_logs.py" in line["stacktrace"]


def test_a_name_that_is_taken_gets_an_underscore() -> None:
    with logged_to(masthead.controller.JsonFormatter()) as (logger, stream):
        logger.info("hello", extra={"level": 9, "ts": "now", "error": "none"})
    line = json_line(stream)
    assert (line["level"], line["level_"], line["ts_"], line["error_"]) == ("info", 9, "now", "none")


def test_a_message_with_wrong_arguments_is_logged_with_them() -> None:
    with logged_to(masthead.controller.JsonFormatter()) as (logger, stream):
        logger.info("%d pods of %s", *("many",))
    line = json_line(stream)
    assert "%d pods of %s" in line["msg"]
    assert "many" in line["msg"]


class Rude:
    """A value whose repr raises."""

    def __repr__(self) -> str:
        raise RuntimeError("no")


class RudeError(Exception):
    """An exception whose message raises."""

    def __str__(self) -> str:
        raise RuntimeError("no")


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (Rude(), "<Rude: RuntimeError when shown>"),
        (b"key", "<3 bytes>"),
        (Secret("hunter22"), "Secret('**********')"),
        (datetime(2026, 1, 1, tzinfo=UTC), "2026-01-01T00:00:00+00:00"),
        (Path("a") / "b", "a/b"),
        (ValueError("bad"), "ValueError: bad"),
        (float("nan"), "nan"),
        (2**70, str(2**70)),
        ({1: {2}}, {"1": [2]}),
        ([[[[[[[[]]]]]]]], [[[[[["<list>"]]]]]]),
        ("x" * 100_000, None),
    ],
)
def test_every_value_is_shown(value: object, shown: object) -> None:
    with logged_to(masthead.controller.JsonFormatter()) as (logger, stream):
        logger.info("hello", extra={"value": value})
    found = json_line(stream)["value"]
    assert len(str(found)) < 40_000
    assert shown is None or found == shown


def test_a_value_that_contains_itself_ends() -> None:
    around: list[object] = []
    around.append(around)
    with logged_to(masthead.controller.JsonFormatter()) as (logger, stream):
        logger.info("hello", extra={"value": around})
    json_line(stream)


PASSWORD = "hunter2-hunter2"
JWT = "eyJhbGciOiJSUzI1NiJ9.eyJzdWIiOiJtZSJ9.c2lnbmF0dXJl"


@pytest.mark.parametrize(
    ("message", "extra"),
    [
        ("hello", {"token": PASSWORD}),
        ("hello", {"db_password": PASSWORD}),
        ("hello", {"settings": {"apiKey": PASSWORD, "headers": {"Authorization": PASSWORD}}}),
        ("hello", {"it": SecretObject(metadata={"name": "a"}, string_data={"password": PASSWORD})}),  # type: ignore[arg-type]
        ("hello", {"it": {"kind": "Secret", "stringData": {"a": PASSWORD}, "data": {"b": PASSWORD}}}),
        ("hello", {"raw": PASSWORD.encode()}),
        (f"sent Authorization: Bearer {PASSWORD}", {}),
        (f"sent {JWT}", {}),
        (ValueError(f"rejected basic {PASSWORD}"), {}),
        ("hello", {"error_of": ValueError(f"Bearer {PASSWORD}")}),
    ],
)
@pytest.mark.parametrize("formatter", [masthead.controller.JsonFormatter(), masthead.controller.TextFormatter()])
def test_secrets_are_hidden(message: object, extra: dict[str, object], formatter: logging.Formatter) -> None:
    with logged_to(formatter) as (logger, stream):
        try:
            raise RuntimeError(f"Bearer {PASSWORD}")
        except RuntimeError:
            logger.exception(message, extra=extra)
    assert "c2lnbmF0dXJl" not in stream.getvalue()
    written = stream.getvalue().replace('raise RuntimeError(f"Bearer {PASSWORD}")', "")
    assert PASSWORD not in written


def test_the_name_of_a_secret_is_shown() -> None:
    with logged_to(masthead.controller.JsonFormatter()) as (logger, stream):
        logger.info("uses a secret", extra={"secret": "default/tls"})
    assert json_line(stream)["secret"] == "default/tls"


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()) | st.binary() | st.builds(Rude),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(st.characters()) | st.integers() | st.none() | st.binary(), inner, max_size=3)
    ),
    max_leaves=8,
)
TAKEN = {*vars(logging.makeLogRecord({})), "message", "asctime"}
RECORDS: st.SearchStrategy[dict[str, Any]] = st.builds(
    dict,
    message=st.text(st.characters()) | VALUES,
    args=st.lists(VALUES, max_size=3).map(tuple),
    extra=st.dictionaries(
        st.text(st.characters(), min_size=1).filter(lambda key: key not in TAKEN), VALUES, max_size=4
    ),
    level=st.integers(0, 60),
    reconcile=st.none() | st.builds(dict, **dict.fromkeys(WEB, st.text(st.characters()))),
    error=st.none() | st.builds(ValueError, st.text(st.characters())) | st.builds(RudeError),
)


def formatted(formatter: logging.Formatter, given_record: dict[str, Any]) -> str:
    logger = logging.Logger("shop")  # noqa: LOG001
    error = given_record["error"]
    record = logger.makeRecord(
        "shop",
        given_record["level"],
        "file.py",
        1,
        given_record["message"],
        given_record["args"],
        (type(error), error, None) if error else None,
        extra=given_record["extra"],
    )
    if given_record["reconcile"] is None:
        return formatter.format(record)
    with reconcile_fields(**given_record["reconcile"]):
        return formatter.format(record)


@given(RECORDS)
def test_any_record_is_one_line_of_valid_json(record: dict[str, Any]) -> None:
    line = formatted(masthead.controller.JsonFormatter(), record)
    assert line.isascii()
    assert "\n" not in line
    assert "\r" not in line
    found = json.loads(line, parse_constant=pytest.fail)
    assert list(found)[:4] == ["ts", "level", "logger", "msg"]


@given(RECORDS)
def test_any_record_is_text_whose_other_lines_are_indented(record: dict[str, Any]) -> None:
    text = formatted(masthead.controller.TextFormatter(), record)
    text.encode()
    first, *others = text.split("\n")
    assert first.isprintable()
    assert all(line.startswith("  ") for line in others)


def test_text_is_short_and_readable() -> None:
    with logged_to(masthead.controller.TextFormatter()) as (logger, stream), reconcile_fields(**WEB):
        logger.info("created the Deployment", extra={"replicas": 3, "why": "no such one", "of": "web"})
    time, _, rest = stream.getvalue().partition(" ")
    assert len(time) == len("15:04:05.123")
    assert rest == (
        'INFO    website default/web 5f0c2a9e-1  created the Deployment  replicas=3  why="no such one"  of=web\n'
    )


def test_a_terminal_has_colours_and_a_file_has_none() -> None:
    record = logging.makeLogRecord({"levelno": logging.ERROR, "levelname": "ERROR", "msg": "no", "name": "shop"})
    assert "\x1b[31mERROR" in masthead.controller.TextFormatter(color=True).format(record)
    assert "\x1b" not in masthead.controller.TextFormatter().format(record)


def run_program(program: str, *, environment: dict[str, str] | None = None) -> list[str]:
    """Return the error output of a new process, with a root logger that pytest has not configured."""
    run = subprocess.run([sys.executable, "-c", program], check=True, capture_output=True, text=True, env=environment)
    return run.stderr.splitlines()


def test_setup_logging_replaces_only_its_own_handler() -> None:
    lines = run_program(
        """
import logging, masthead, sys
other = logging.StreamHandler(sys.stderr)
other.setFormatter(logging.Formatter("other %(message)s"))
logging.getLogger().addHandler(other)
masthead.controller.setup_logging("text", "warning")
masthead.controller.setup_logging("json", "info")
logging.getLogger("shop").info("hello")
logging.getLogger("shop").debug("not shown")
logging.basicConfig(format="third %(message)s")
"""
    )
    assert lines[0] == "other hello"
    assert json.loads(lines[1])["msg"] == "hello"
    assert len(lines) == 2


def test_without_a_terminal_lines_are_json() -> None:
    lines = run_program("import logging, masthead; masthead.controller.setup_logging(); logging.info('hello')")
    assert [json.loads(line)["msg"] for line in lines] == ["hello"]


def test_the_formatters_can_be_named_in_a_configuration() -> None:
    stream = io.StringIO()
    logging.config.dictConfig(
        {
            "version": 1,
            "disable_existing_loggers": False,
            "filters": {"reconcile": {"()": "masthead.controller.ReconcileFilter"}},
            "formatters": {"json": {"()": "masthead.controller.JsonFormatter"}},
            "handlers": {
                "it": {
                    "class": "logging.StreamHandler",
                    "stream": stream,
                    "formatter": "json",
                    "filters": ["reconcile"],
                }
            },
            "loggers": {"configured": {"handlers": ["it"], "level": "INFO", "propagate": False}},
        }
    )
    with reconcile_fields(**WEB):
        logging.getLogger("configured").info("hello")
    assert json_line(stream)["reconcileID"] == "5f0c2a9e-1"


@pytest.mark.parametrize(("log_format", "level"), [("xml", "INFO"), ("json", "LOUD")])
def test_an_unknown_format_or_level_raises_and_changes_nothing(log_format: str, level: str) -> None:
    before = logging.getLogger().handlers[:]
    with pytest.raises(ArgumentError, match="must be"):
        masthead.controller.setup_logging(log_format, level)  # type: ignore[arg-type]
    assert logging.getLogger().handlers == before


@given(st.text(max_size=3_000), st.integers(1_000, 2_000))
def test_shortened_texts_are_shorter_by_more_than_the_note(text: str, limit: int) -> None:
    found = shortened(text, limit)
    if len(text) <= limit:
        assert found == text
    else:
        assert len(found) <= limit * 0.8 + 40
        assert len(text) - len(found) > 100


def test_long_texts_are_cut_between_words() -> None:
    words = [f"word-{number}" for number in range(1_000)]
    start, _, end = shortened(" ".join(words), 1_000).partition("… (")
    assert start.split() == words[: len(start.split())]
    kept = end.partition(" …")[2].split()
    assert kept == words[-len(kept) :]


def test_texts_without_blanks_are_cut_all_the_same() -> None:
    assert shortened("x" * 10_000, 1_000) == f"{'x' * 375}… (9250 characters left out) …{'x' * 375}"
