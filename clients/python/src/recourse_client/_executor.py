"""`execute`, of the client and of its sessions."""

from __future__ import annotations

import math
from typing import Any, Literal, Sequence, cast, overload
from urllib.parse import urlencode
from uuid import uuid4

from ._judge import Answered
from ._read_body import NO_JSON, parse_json, to_list, to_results
from ._send import Outgoing, Sender, to_bad_answer
from ._to_json import to_json
from .answers import Answer, MessagesAnswer, RawAnswer, TextAnswer
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
        order: Order | None = None,
        on_error: OnError | None = None,
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
        order: Order | None = None,
        on_error: OnError | None = None,
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
        order: Order | None = None,
        on_error: OnError | None = None,
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
        order: Order | None = None,
        on_error: OnError | None = None,
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
        order: Order | None = None,
        on_error: OnError | None = None,
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
        """
        whole = self._timeout if timeout is None else timeout
        within = min(self._deadline if deadline is None else deadline, whole)
        envelope = {
            "session_id": self._session_id if session_id is None else session_id,
            "round_id": round_id,
            "order": order,
            "on_error": on_error,
            "deadline_ms": math.ceil(within * 1000),
        }
        path, body = _to_request(calls, format, raw, {k: v for k, v in envelope.items() if v is not None})
        outgoing = Outgoing(
            method="POST",
            path=path,
            request_id=request_id or str(uuid4()),
            attempt_timeout=within + GRACE,
            timeout=whole,
            body=body,
            idempotency_key=idempotency_key or str(uuid4()),
        )
        answered, attempts = self._sender(outgoing)
        answer = _to_answer(outgoing, answered, attempts, calls, format, raw)
        if answer is None:
            raise to_bad_answer(outgoing, answered, attempts)
        return answer


def to_query(parameters: dict[str, Any]) -> str:
    """A query with its `?`; "" where there are no parameters."""
    return f"?{urlencode(parameters)}" if parameters else ""


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
    body = parse_json(answered.text)
    if raw:
        return None if body is NO_JSON else RawAnswer(request_id, key, replayed, attempts, body)
    results = to_results(body)
    # One result per call, where the calls are counted here; those in a message are known to its provider's format.
    is_counted = format in ("native", "text")
    if results is None or (is_counted and len(cast("Sequence[object]", calls)) != len(results)):
        return None
    if format == "native":
        return Answer(request_id, key, replayed, attempts, results)
    messages = to_list(body, "messages")
    if messages is None:
        return None
    kind = TextAnswer if format == "text" else MessagesAnswer
    return kind(request_id, key, replayed, attempts, results, messages)
