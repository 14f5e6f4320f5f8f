"""Waits for calls that outlive their request."""

from __future__ import annotations

from time import monotonic, sleep, time
from typing import Any, Callable, Literal
from urllib.parse import quote, urlencode
from uuid import uuid4

from ._error import RecourseError
from ._judge import Answered, to_retry_after
from ._read_body import parse_json, to_results
from ._send import Outgoing, Sender, to_bad_answer
from .results import ToolPending, ToolResult

# Proxies give up after 30 s without a byte.
POLL = 25.0
# An answer that comes later than its wait was lost on the way.
POLL_GRACE = 10.0
# A service that answers at once must not be asked without a pause.
LEAST_PAUSE = 0.5

Status = Literal["pending", "done"]


def to_query(parameters: dict[str, Any]) -> str:
    """A query with its `?`; "" where there are no parameters."""
    said = {name: "true" if value is True else value for name, value in parameters.items()}
    return f"?{urlencode(said)}" if said else ""


def status_of(results: list[ToolResult]) -> Status:
    """Whether any of the results is that of a call that has not ended."""
    return "pending" if any(result["outcome"] == "pending" for result in results) else "done"


OnApproval = Callable[[ToolPending], None]


def create_tell_approvals(on_approval: OnApproval | None) -> Callable[[list[ToolResult]], None]:
    """Reads results as they come, and tells once of each call that waits for a person."""
    told: set[str] = set()

    def tell(results: list[ToolResult]) -> None:
        for result in results:
            if on_approval is None or result["outcome"] != "pending":
                continue
            approval = result.get("pending", {}).get("approval")
            if approval is not None and approval["id"] not in told:
                told.add(approval["id"])
                on_approval(result)

    return tell


def wait_for_all(
    sender: Sender, batch: Outgoing, ends_at: float, on_results: Callable[[list[ToolResult]], None]
) -> None:
    """Asks for the results of an accepted batch until all of its calls have ended; `on_results` hears of each answer.

    Raises a RecourseError, `still_pending` where `ends_at` (of `monotonic`) comes first: the calls go on all the same.
    """
    etag = ""
    while True:
        started_at = monotonic()
        left = ends_at - started_at
        if left <= 0:
            raise _to_still_pending(batch)
        outgoing = _to_poll(batch, min(POLL, left), left, etag)
        answered, attempts = _send_poll(sender, outgoing, batch)
        if answered.status != 304:
            results = to_results(parse_json(answered.text))
            if results is None:
                raise to_bad_answer(outgoing, answered, attempts)
            on_results(results)
            if status_of(results) == "done":
                return
            etag = answered.headers.get("etag", "")
        # The service has waited already, and the pause counts from the question.
        pause = to_retry_after(answered.headers.get("retry-after"), time()) or LEAST_PAUSE
        sleep(max(0.0, min(started_at + pause, ends_at) - monotonic()))


def _to_poll(batch: Outgoing, wait: float, left: float, etag: str) -> Outgoing:
    query = to_query({"wait_ms": max(1, int(wait * 1000))})
    return Outgoing(
        method="GET",
        path=f"tool-calls/{quote(batch.request_id, safe='')}{query}",
        request_id=str(uuid4()),
        attempt_timeout=wait + POLL_GRACE,
        timeout=left + POLL_GRACE,
        headers={"if-none-match": etag} if etag else {},
        expected=(304,),
    )


def _send_poll(sender: Sender, poll: Outgoing, batch: Outgoing) -> tuple[Answered, int]:
    """What fails here fails for a batch that was accepted: its calls may have run, and it is the batch to ask for."""
    try:
        return sender(poll)
    except RecourseError as error:
        error.request_id = batch.request_id
        error.idempotency_key = batch.idempotency_key
        error.may_have_run = True
        raise


def _to_still_pending(batch: Outgoing) -> RecourseError:
    return RecourseError(
        "Some calls have not ended in time. They go on; ask for them by results(request_id).",
        code="still_pending",
        status=None,
        problem=None,
        retry_after=None,
        request_id=batch.request_id,
        idempotency_key=batch.idempotency_key,
        attempts=1,
        may_have_run=True,
    )
