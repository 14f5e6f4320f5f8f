"""The bytes that are sent for what a caller gave."""

from __future__ import annotations

import json
from typing import Any


def to_json(value: object) -> bytes:
    """Raises TypeError or ValueError where there is no JSON for it: nothing is sent then."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"), default=_to_members)
    # Half a character of UTF-16, which JSON can only write as an escape.
    return text.encode("utf-8", "backslashreplace")


def _to_members(value: Any) -> Any:
    """Messages of the clients of OpenAI, Anthropic, Google and others are models of pydantic."""
    dump = getattr(value, "model_dump", None)
    if callable(dump):
        return dump(mode="json", by_alias=True, exclude_none=True)
    raise TypeError(f"A value of type {type(value).__name__} cannot be written as JSON.")
