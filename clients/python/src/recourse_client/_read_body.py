"""Tells the service's answers from what anything else sends."""

from __future__ import annotations

import json
from typing import Any, Literal, cast

from .events import StreamEvent
from .results import ToolResult
from .wire import Problem, SessionView

NO_JSON = object()
"""What `parse_json` returns where a text is no JSON."""


def parse_json(text: bytes) -> Any:
    """The value of a JSON text; NO_JSON where it is none."""
    try:
        return json.loads(text.decode("utf-8"), parse_constant=_refuse)
    except (ValueError, RecursionError):
        return NO_JSON


def _refuse(constant: str) -> None:
    # NaN and Infinity, which Python reads and JSON does not have.
    raise ValueError(constant)


def _members(body: Any) -> dict[str, Any]:
    return cast("dict[str, Any]", body) if isinstance(body, dict) else {}


def to_problem(body: Any) -> Problem | None:
    """The body as a problem of the service (RFC 9457), or None."""
    members = _members(body)
    is_problem = isinstance(members.get("code"), str) and isinstance(members.get("detail"), str) and "status" in members
    return cast(Problem, body) if is_problem else None


def _is_result(value: Any) -> bool:
    members = _members(value)
    texts = [members.get(name) for name in ("outcome", "executed", "message")]
    index = members.get("index")
    return (
        isinstance(members.get("success"), bool)
        and all(isinstance(text, str) for text in texts)
        and all(name in members for name in ("error", "retry"))
        and isinstance(index, int)
        and not isinstance(index, bool)
    )


def to_results(body: Any) -> list[ToolResult] | None:
    """The results of a body, in their places (the first one's `index` is 0, and so on), or None."""
    members = _members(body)
    results: Any = members.get("results")
    if not isinstance(members.get("request_id"), str) or not isinstance(results, list):
        return None
    listed = cast("list[Any]", results)
    if not all(_is_result(result) and result["index"] == place for place, result in enumerate(listed)):
        return None
    return cast("list[ToolResult]", listed)


def to_list(body: Any, name: str) -> list[Any] | None:
    """The list that an object has under `name`, or None."""
    value: Any = _members(body).get(name)
    if not isinstance(value, list):
        return None
    return cast("list[Any]", value)


EVENTS = ("accepted", "result", "progress", "part", "done")


def to_event(body: Any) -> StreamEvent | Literal["other", "none"]:
    """An event of a stream; `other`: a sign of life, or one of a later service. `none`: no event."""
    members = _members(body)
    event, data = members.get("event"), members.get("data")
    if isinstance(event, str) and event not in EVENTS:
        return "other"
    is_event = isinstance(event, str) and isinstance(members.get("id"), str) and isinstance(data, dict)
    if not is_event or (event == "result" and not _is_result(data)):
        return "none"
    return cast("StreamEvent", body)


def to_session_view(body: Any) -> SessionView | None:
    """The body as a view of a session, or None."""
    members = _members(body)
    is_view = isinstance(members.get("session"), dict) and all(
        isinstance(members.get(name), list) for name in ("tools", "calls")
    )
    return cast(SessionView, body) if is_view else None
