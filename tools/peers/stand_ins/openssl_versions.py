"""A pytest plugin: oscrypto reads versions of OpenSSL such as 3.0.17.

The pattern of its last release takes one digit for each part; kopf's tests install a fixed commit from its repository.
"""

from __future__ import annotations

import importlib
import re
from unittest import mock

_search = re.search


def _search_versions(pattern: str | bytes, text: str | bytes, *flags: int) -> re.Match[str] | re.Match[bytes] | None:
    if isinstance(pattern, str) and isinstance(text, str):
        return _search(pattern.replace(r"\d", r"\d+"), text, *flags)
    return _search(pattern, text, *flags)  # type: ignore[arg-type]


with mock.patch.object(re, "search", _search_versions):
    importlib.import_module("oscrypto._openssl._libcrypto")
