"""What became of calls, and three functions that read it by its fields and never by its text."""

from __future__ import annotations

from typing import Any, Literal, Mapping, TypedDict, Union

from .wire import DryRun, FailureDetail, PendingCall, Reconciled, RetryState, Warning


class ToolCall(TypedDict, total=False):
    """One call as a model asks for it. `name` is needed."""

    id: str | int | None
    """Echoed in the result; never taken for an idempotency key."""
    name: str
    arguments: Mapping[str, Any] | str | None
    """An object, or a JSON text that holds one."""
    timeout_ms: float
    """May only shorten the tool's own limit."""


class _ResultRequired(TypedDict):
    index: int
    id: str | int | float | None
    name: str | None
    executed: Literal["yes", "no", "maybe"]
    """Whether the handler ran. For a tool that writes, `maybe` means: look before you call it again."""
    value: Any
    message: str
    """For the model."""
    retry: RetryState | None
    duration_ms: float


class _Result(_ResultRequired, total=False):
    reconciled: Reconciled
    """It was unknown how the write ended, and was found out."""
    empty: Literal[True]
    replayed: Literal[True]
    truncated: Literal[True]
    warnings: list[Warning]


class ToolSuccess(_Result):
    """The call did what it was asked for; `value` is what the tool returned."""

    success: Literal[True]
    outcome: Literal["success"]
    error: None


class ToolFailure(_Result):
    """The call failed; `outcome` says what to do next, `error` why."""

    success: Literal[False]
    outcome: Literal["retry", "failed", "refused", "unknown"]
    error: FailureDetail


class ToolPending(_Result):
    """The call was accepted and has not ended; `pending` says what it waits for."""

    success: Literal[False]
    outcome: Literal["pending"]
    error: None
    pending: PendingCall


class ToolChecked(_Result):
    """A call of a dry run; `dry_run` says what it would do, `error` the failure that it would have, if any."""

    success: Literal[False]
    outcome: Literal["checked"]
    error: FailureDetail | None
    dry_run: DryRun


ToolResult = Union[ToolSuccess, ToolFailure, ToolPending, ToolChecked]
"""What became of one call; `result["outcome"]` tells which of them it is."""


def is_retryable(result: ToolResult) -> bool:
    """A better call of this tool may work, and the session has a retry left for it."""
    # Without a state of the budget none was consulted, and none is used up.
    return result["outcome"] == "retry" and (result["retry"] is None or result["retry"]["allowed"])


def is_fatal(result: ToolResult) -> bool:
    """The tool wants the whole run of the agent to end."""
    return result["error"] is not None and result["error"]["fatal"]


def may_have_run(result: ToolResult) -> bool:
    """The handler ran, or nobody knows. For a tool that writes: making the call again could do it twice."""
    return result["executed"] != "no"
