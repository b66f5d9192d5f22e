"""Objects in the JSON encoders of other packages."""

from __future__ import annotations

from datetime import datetime

import msgspec

from masthead._meta.model import Struct
from masthead._meta.quantity import Quantity
from masthead._meta.shape import describe_type
from masthead._meta.time import MicroTime, format_micro_time
from masthead._module import set_module


@set_module("masthead.meta")
def json_default(value: object) -> object:
    """Return the JSON form of a value that an encoder does not know, for ``json.dumps(pods, default=json_default)``.

    The same function is `default` of orjson and `enc_hook` of msgspec. It knows objects, lists and all other API types,
    quantities, times with a time zone, and bytes, which are base64 text in the API.

    Raises:
        TypeError: If it is another value.
        DecodeError: If a field of the object is invalid.
        ArgumentError: If the object has a value that cannot be encoded as JSON.
    """
    if isinstance(value, Struct):
        return value.to_dict()
    if isinstance(value, Quantity):
        return str(value)
    if isinstance(value, MicroTime):
        return format_micro_time(value)
    is_aware = isinstance(value, datetime) and value.utcoffset() is not None
    if is_aware or isinstance(value, bytes):
        return msgspec.to_builtins(value)
    raise TypeError(
        f"{describe_type(value)} has no JSON form here: json_default is for API objects, quantities, times with a time "
        "zone, and bytes"
    )
