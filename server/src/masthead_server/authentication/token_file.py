"""Users from a token file, in the format of kube-apiserver's ``--token-auth-file``."""

from __future__ import annotations

import csv
import logging
from typing import TYPE_CHECKING, Final

from masthead.errors import ConfigError
from masthead_server.wire.user_info import UserInfo, add_authenticated_group

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

__all__ = ["read_token_file"]

_log: Final = logging.getLogger(__name__)
_MAX_BYTES: Final = 16 * 1024 * 1024
_COLUMNS: Final = "token, user name, user uid"


def read_token_file(file: Path) -> dict[str, UserInfo]:
    """Return the users of a file, by their tokens.

    Each line has a token, a user name, a uid, and optionally the groups, quoted and separated by commas:
    ``secret,jane,1001,"developers,testers"``.

    Raises:
        ConfigError: If the file cannot be read, or a line has too few columns.
    """
    users: dict[str, UserInfo] = {}
    for number, record in _read_records(file):
        if len(record) < 3:
            found = f"line {number} has {len(record)}"
            raise ConfigError(f"token file {str(file)!r} must have at least 3 columns ({_COLUMNS}), and {found}")
        token, name, uid = record[:3]
        if not token:
            _log.warning("line %d of the token file %s has no token, and is ignored", number, file)
            continue
        if token in users:
            _log.warning("line %d of the token file %s repeats a token, and replaces its user", number, file)
        groups = tuple(record[3].split(",")) if len(record) > 3 else ()
        users[token] = add_authenticated_group(UserInfo(name, uid, groups))
    return users


def _read_records(file: Path) -> Iterator[tuple[int, list[str]]]:
    """The lines of the file that are not empty, with their numbers.

    Raises:
        ConfigError: If the file cannot be read, or is no CSV.
    """
    try:
        if file.stat().st_size > _MAX_BYTES:
            raise ConfigError(f"token file {str(file)!r} is larger than {_MAX_BYTES} bytes")
        with file.open(encoding="utf-8", newline="") as lines:
            reader = csv.reader(lines, strict=True)
            for record in reader:
                if record:
                    yield reader.line_num, record
    except OSError as error:
        raise ConfigError(f"cannot read the token file {str(file)!r}: {error.strerror}") from None
    except (ValueError, csv.Error) as error:
        raise ConfigError(f"token file {str(file)!r} is no CSV ({_COLUMNS}, groups): {error}") from None
