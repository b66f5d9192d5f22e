"""Warnings of the client on the command line: not each of many, and what is wrong instead of what is logged."""

from __future__ import annotations

import logging

from masthead._cli.client_warnings import ClientWarnings, telling_warnings
from masthead.errors import ConnectError


def record(text: str, *arguments: object, level: int = logging.WARNING) -> logging.LogRecord:
    return logging.LogRecord("masthead.client", level, "", 0, text, arguments, None)


def test_of_many_warnings_one_is_told_every_half_minute() -> None:
    told: list[str] = []
    times = iter([0.0, 1.0, 29.9, 30.0, 31.0])
    warnings = ClientWarnings(told.append, lambda: next(times))
    for number in range(5):
        warnings.handle(record("number %d", number))

    assert told == ["number 0", "number 3"]


def test_the_error_is_told_instead_of_what_is_for_logs() -> None:
    told: list[str] = []
    error = ConnectError("watch pods: 127.0.0.1:9 refused the connection; check the port")
    ClientWarnings(told.append).handle(record("a watch resumes in %.1f s after %s", 1.5, error))

    assert told == ["reconnecting: watch pods: 127.0.0.1:9 refused the connection"]


def test_only_warnings_of_the_client_are_told_and_only_within_the_block() -> None:
    told: list[str] = []
    logger = logging.getLogger("masthead.client")
    with telling_warnings(told.append):
        logger.info("retrying")
        logging.getLogger("masthead.cache").warning("another")
        logger.warning("two\nlines\x1b[2J")
    logger.warning("too late")

    assert told == ["two lines"]


def test_every_warning_is_told_where_none_repeats() -> None:
    told: list[str] = []
    with telling_warnings(told.append, "masthead.client.migration", every=0.0):
        logging.getLogger("masthead.client.migration").warning("first")
        logging.getLogger("masthead.client.migration").warning("second")
        logging.getLogger("masthead.client").warning("another")

    assert told == ["first", "second"]
