"""What the client's operations return."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

from .results import ToolResult


@dataclass(frozen=True)
class Answer:
    """To calls in the service's own form."""

    request_id: str
    idempotency_key: str
    replayed: bool
    """Nothing ran this time: these are the results of an earlier attempt."""
    attempts: int
    results: list[ToolResult]
    """One per call, in the order of the calls."""
    status: Literal["pending", "done"]
    """`pending` where a call goes on after this answer: with `respond_async` alone."""


@dataclass(frozen=True)
class MessagesAnswer(Answer):
    """To a message of a model."""

    messages: list[Any]
    """What to append to the conversation, in the provider's own shape."""


@dataclass(frozen=True)
class TextAnswer(Answer):
    """To calls whose answers are plain texts."""

    messages: list[str]
    """One `SUCCESS: …`, `ERROR: …` or `PENDING: …` per call."""


@dataclass(frozen=True)
class RawAnswer:
    """With `raw=True`."""

    request_id: str
    idempotency_key: str
    replayed: bool
    attempts: int
    body: Any
    """Nothing but what the provider expects."""
    status: Literal["pending", "done"]


@dataclass(frozen=True)
class CallAnswer:
    """What a model reads of one call."""

    text: str
    is_error: bool
    result: ToolResult | None
    """None where none came."""


@dataclass(frozen=True)
class MessageAnswer:
    """What a model reads of all calls of its message."""

    messages: list[Any]
    """What to append to the conversation, in the provider's own shape: each call has its answer."""
    results: list[ToolResult]
    """Those that came."""


@dataclass(frozen=True)
class RecoveredAnswer:
    """The kept results of an `execute` whose answer was lost."""

    request_id: str
    results: list[ToolResult]


@dataclass(frozen=True)
class ResultsAnswer:
    """The results of a batch as they are now."""

    request_id: str
    status: Literal["pending", "done"]
    """`pending` as long as any of the results is."""
    results: list[ToolResult]
    """One per call, in the order of the calls."""
