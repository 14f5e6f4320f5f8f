"""`execute`, of the client and of its sessions."""

from __future__ import annotations

import http.client
import math
from dataclasses import replace
from time import monotonic
from typing import Any, Generator, Literal, Sequence, cast, overload
from uuid import uuid4

from ._judge import Answered
from ._pending import OnApproval, Status, create_tell_approvals, to_query, wait_for_all
from ._read_body import NO_JSON, parse_json, to_event, to_list, to_results
from ._send import NDJSON, Outgoing, Sender, to_bad_answer, to_broken_stream
from ._to_json import to_json
from .answers import Answer, MessagesAnswer, RawAnswer, TextAnswer
from .events import StreamEvent
from .formats import MessageFormat, ProviderFormat
from .results import ToolCall

DEADLINE = 60.0
# The service answers at its deadline at the latest; what has not come by then was lost on the way.
GRACE = 5.0

Order = Literal["parallel", "sequential"]
OnError = Literal["continue", "stop"]


class Executor:
    """Has calls executed: the client itself, or one session of it."""

    # What is printed where the address was refused.
    _origin = "no address"

    def __init__(self, sender: Sender, timeout: float, session_id: str | None, deadline: float | None) -> None:
        self._sender = sender
        self._origin = sender.origin
        self._timeout = timeout
        self._session_id = session_id
        self._deadline = DEADLINE if deadline is None else deadline

    @overload
    def execute(
        self,
        calls: Sequence[ToolCall],
        *,
        format: Literal["native"] = "native",
        raw: Literal[False] = False,
        session_id: str | None = None,
        round_id: str | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
        timeout: float | None = None,
        lost_repeats: int | None = None,
        order: Order | None = None,
        on_error: OnError | None = None,
        dry_run: bool = False,
        wait: Literal["all"] | None = None,
        on_approval: OnApproval | None = None,
        respond_async: float | None = None,
    ) -> Answer: ...
    @overload
    def execute(
        self,
        calls: Sequence[ToolCall],
        *,
        format: Literal["text"],
        raw: Literal[False] = False,
        session_id: str | None = None,
        round_id: str | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
        timeout: float | None = None,
        lost_repeats: int | None = None,
        order: Order | None = None,
        on_error: OnError | None = None,
        dry_run: bool = False,
        wait: Literal["all"] | None = None,
        on_approval: OnApproval | None = None,
        respond_async: float | None = None,
    ) -> TextAnswer: ...
    @overload
    def execute(
        self,
        calls: object,
        *,
        format: ProviderFormat,
        raw: Literal[False] = False,
        session_id: str | None = None,
        round_id: str | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
        timeout: float | None = None,
        lost_repeats: int | None = None,
        order: Order | None = None,
        on_error: OnError | None = None,
        dry_run: bool = False,
        wait: Literal["all"] | None = None,
        on_approval: OnApproval | None = None,
        respond_async: float | None = None,
    ) -> MessagesAnswer: ...
    @overload
    def execute(
        self,
        calls: object,
        *,
        format: MessageFormat,
        raw: Literal[True],
        session_id: str | None = None,
        round_id: str | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
        timeout: float | None = None,
        lost_repeats: int | None = None,
        order: Order | None = None,
        on_error: OnError | None = None,
        dry_run: bool = False,
        wait: Literal["all"] | None = None,
        on_approval: OnApproval | None = None,
        respond_async: float | None = None,
    ) -> RawAnswer: ...
    def execute(
        self,
        calls: object,
        *,
        format: str = "native",
        raw: bool = False,
        session_id: str | None = None,
        round_id: str | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
        timeout: float | None = None,
        lost_repeats: int | None = None,
        order: Order | None = None,
        on_error: OnError | None = None,
        dry_run: bool = False,
        wait: Literal["all"] | None = None,
        on_approval: OnApproval | None = None,
        respond_async: float | None = None,
    ) -> Answer | RawAnswer:
        """Has calls executed, safely: every attempt carries the same Idempotency-Key, so that no write runs twice.

        Returns whatever becomes of the calls; raises a RecourseError where the service did not take them.

        calls: a list of calls; with the format of a provider, the model's message as the provider gave it.
        raw: the answer is nothing but what the provider expects.
        session_id: one per agent; retry budgets are kept under it.
        round_id: batches of a session with one round id are one round of the retry budget.
        idempotency_key: 1 to 255 printable characters; a new one for each `execute` unless given.
        request_id: 16 to 64 of `A–Z a–z 0–9 _ -`, what `recover` takes; made unless given.
        deadline: the service has this many seconds for the calls.
        timeout: all attempts and the waits between them have this many seconds.
        lost_repeats: how often it is sent again after an attempt without any answer; as `timeout` allows unless given.
        dry_run: nothing runs, is kept or counted: each result says what its call would do. Not with wait or respond_async.
        wait: `all` waits until calls that outlive their request have ended, as long as `timeout`; no result is pending.
        on_approval: with `wait`, hears once of each call that waits for a person; `waiting["pending"]["approval"]` says what is to be
            approved, and where.
        respond_async: answers after this many seconds at the latest, with pending results for calls that go on.
        """
        said: dict[str, Any] = {
            "session_id": session_id,
            "round_id": round_id,
            "order": order,
            "on_error": on_error,
            "dry_run": dry_run or None,
        }
        whole = self._timeout if timeout is None else timeout
        wait_ms = _to_wait_ms(wait, respond_async, whole, FIRST_WAIT if on_approval is None else FIRST_WAIT_FOR_APPROVALS)
        outgoing = self._to_outgoing(calls, format, raw, said, deadline, timeout, request_id, wait_ms)
        outgoing = replace(outgoing, idempotency_key=idempotency_key or str(uuid4()), lost_repeats=lost_repeats)
        ends_at = monotonic() + whole
        answered, attempts = self._sender(outgoing)
        if wait == "all" and answered.status == 202:
            tell = create_tell_approvals(on_approval)
            tell(to_results(parse_json(answered.text)) or [])
            wait_for_all(self._sender, outgoing, ends_at, tell)
            # The same request again runs nothing, and is answered as if its calls had never been pending, messages and all.
            replayed = answered.headers.get("idempotent-replayed")
            answered, _ = self._sender(replace(outgoing, timeout=max(GRACE, ends_at - monotonic())))
            answered = replace(answered, headers={**answered.headers, "idempotent-replayed": replayed or "false"})
        answer = _to_answer(outgoing, answered, attempts, calls, format, raw)
        if answer is None:
            raise to_bad_answer(outgoing, answered, attempts)
        return answer

    def stream(
        self,
        calls: object,
        *,
        format: MessageFormat | Literal["native"] = "native",
        session_id: str | None = None,
        round_id: str | None = None,
        idempotency_key: str | None = None,
        request_id: str | None = None,
        deadline: float | None = None,
        timeout: float | None = None,
        order: Order | None = None,
        on_error: OnError | None = None,
        respond_async: float | None = None,
    ) -> Generator[StreamEvent, None, None]:
        """Has calls executed, and gives what happens as it happens: `accepted`, each `result` once, `progress` and `part`
        in between, last `done`.

        Begins with the first event that is asked for; closing it ends the calls that may be ended. Raises a RecourseError
        where the service did not take the calls, or the stream broke before `done`. The options are those of `execute`,
        but without an idempotency_key none is made: results that are kept are known only together, at the end. With
        respond_async calls may outlive the request; the stream follows them to their end.
        """
        said = {"session_id": session_id, "round_id": round_id, "order": order, "on_error": on_error}
        wait_ms = _to_wait_ms(None, respond_async, 0)
        outgoing = self._to_outgoing(calls, format, False, said, deadline, timeout, request_id, wait_ms)
        outgoing = replace(outgoing, idempotency_key=idempotency_key, manner="stream")
        answered, attempts = self._sender(outgoing)
        lines = answered.stream
        if lines is None:
            raise to_bad_answer(outgoing, answered, attempts)
        try:
            if not answered.headers.get("content-type", "").startswith(NDJSON):
                raise to_bad_answer(outgoing, answered, attempts)
            while True:
                try:
                    event = to_event(parse_json(lines.read()))
                except (OSError, ValueError, http.client.HTTPException) as cause:
                    raise to_broken_stream(outgoing, answered, attempts) from cause
                if event == "none":
                    raise to_bad_answer(outgoing, answered, attempts)
                if event == "other":
                    continue
                yield event
                if event["event"] == "done":
                    return
        finally:
            lines.close()

    def _to_outgoing(
        self,
        calls: object,
        format: str,
        raw: bool,
        said: dict[str, Any],
        deadline: float | None,
        timeout: float | None,
        request_id: str | None,
        wait_ms: int | None = None,
    ) -> Outgoing:
        """The request that has these calls executed, without a key."""
        whole = self._timeout if timeout is None else timeout
        within = min(self._deadline if deadline is None else deadline, whole)
        envelope: dict[str, Any] = {**said, "deadline_ms": math.ceil(within * 1000), "wait_ms": wait_ms}
        if envelope["session_id"] is None:
            envelope["session_id"] = self._session_id
        path, body = _to_request(calls, format, raw, {k: v for k, v in envelope.items() if v is not None})
        return Outgoing(
            method="POST",
            path=path,
            request_id=request_id or str(uuid4()),
            attempt_timeout=within + GRACE,
            timeout=whole,
            body=body,
            headers={} if wait_ms is None else {"prefer": "respond-async"},
        )


# Long enough for most calls to end within their request, and short enough for proxies.
FIRST_WAIT = 20.0
# Who is told of approvals wants to hear of them before that.
FIRST_WAIT_FOR_APPROVALS = 1.0


def _to_wait_ms(
    wait: str | None, respond_async: float | None, whole: float, first: float = FIRST_WAIT
) -> int | None:
    if wait == "all":
        return math.ceil(min(first, whole) * 1000)
    return None if respond_async is None else math.ceil(respond_async * 1000)


def _to_request(calls: object, format: str, raw: bool, envelope: dict[str, Any]) -> tuple[str, bytes]:
    """Calls travel inside the envelope; a provider's message is the body as it is, and the envelope is in the address."""
    named = {} if format == "native" else {"format": format}
    if raw:
        named["raw"] = "true"
    if format in ("native", "text"):
        return f"tool-calls{to_query(named)}", to_json({**envelope, "calls": calls})
    return f"tool-calls{to_query({**named, **envelope})}", to_json(calls)


def _to_answer(
    outgoing: Outgoing, answered: Answered, attempts: int, calls: object, format: str, raw: bool
) -> Answer | RawAnswer | None:
    """What the body says; None where it is no answer to these calls."""
    request_id, key = outgoing.request_id, outgoing.idempotency_key or ""
    replayed = answered.headers.get("idempotent-replayed") == "true"
    status: Status = "pending" if answered.status == 202 else "done"
    body = parse_json(answered.text)
    if raw:
        return None if body is NO_JSON else RawAnswer(request_id, key, replayed, attempts, body, status)
    results = to_results(body)
    # One result per call, where the calls are counted here; those in a message are known to its provider's format.
    is_counted = format in ("native", "text")
    if results is None or (is_counted and len(cast("Sequence[object]", calls)) != len(results)):
        return None
    if format == "native":
        return Answer(request_id, key, replayed, attempts, results, status)
    messages = to_list(body, "messages")
    if messages is None:
        return None
    kind = TextAnswer if format == "text" else MessagesAnswer
    return kind(request_id, key, replayed, attempts, results, status, messages)
