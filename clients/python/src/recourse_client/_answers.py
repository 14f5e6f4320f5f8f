"""Execution for loops that must go on: what a model reads comes back whatever became of a request."""

from __future__ import annotations

import threading
from base64 import urlsafe_b64encode
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from hashlib import sha256
from typing import Any, Callable, Generic, Mapping, TypeVar, cast
from uuid import uuid4

from ._error import RecourseError
from ._messages import MessageCall, read_calls, to_fingerprint, write_answers
from ._to_json import to_json
from .answers import CallAnswer, MessageAnswer, MessagesAnswer
from .formats import ConversationFormat
from .results import ToolResult

Execute = Callable[..., MessagesAnswer]


def to_call_key(session: str, call_id: str) -> str:
    """The Idempotency-Key of one call: the same session and call id give the same 43 characters in every client."""
    return _digest("call", session, call_id)


def to_turn_key(session: str, turn: str | int) -> str:
    """The Idempotency-Key of all calls of one message; `turn` stands for that message and no other of the session."""
    return _digest("turn", session, str(turn))


def _digest(*parts: str) -> str:
    """SHA-256 in base64url without padding (RFC 4648): ids may be longer than a key, and hold what no header can carry."""
    whole = "\0".join(parts).encode("utf-8", "replace")
    return urlsafe_b64encode(sha256(whole).digest()).rstrip(b"=").decode("ascii")


# What a model reads in place of a result; the texts of all clients stand in clients/contract-cases.json.


def to_lost_text(tool: str) -> str:
    """Nobody knows whether the call ran: it was sent, and no answer came."""
    return (
        f"ERROR: answer_lost: The answer to this call of '{tool}' was lost on its way. It may or may not have taken effect. "
        "Check before calling it again. If you cannot check, say that its outcome is unknown."
    )


def to_not_run_text(tool: str, reason: str) -> str:
    """The service did not take the call. `reason` is a sentence."""
    return (
        f"ERROR: not_executed: '{tool}' was not executed, and nothing has happened. {reason} "
        "Try again later, or say what could not be done."
    )


def to_still_pending_text(tool: str) -> str:
    """The call was accepted and has not ended in the time that the client waits."""
    return (
        f"'{tool}' has not ended yet and goes on. Do not start it in another way; "
        "the same call again later gives its result."
    )


def to_settled_text(tool: str, text: str) -> str:
    """The same call again, after its answer was lost: nothing ran this time."""
    return (
        f"The answer to your earlier call of '{tool}' with these arguments was lost. This is its result; "
        f"it was not executed a second time.\n{text}"
    )


@dataclass(frozen=True)
class _Request:
    """A request as it is sent, the same to the byte each time."""

    body: object
    options: Mapping[str, Any]


@dataclass(frozen=True)
class _Unsettled:
    """The place of a call in a request that may have run and whose answer was lost."""

    request: _Request
    place: int


Kept = TypeVar("Kept")


class _ByCall(Generic[Kept]):
    """Keeps things by tool and arguments; any number of threads may use it."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._kept: dict[str, list[Kept]] = {}

    def has(self, name: str, arguments: object) -> bool:
        return to_fingerprint(name, arguments) in self._kept

    def add(self, name: str, arguments: object, kept: Kept) -> None:
        # The same call may have been lost twice: two were wanted then, and each has a request of its own.
        with self._lock:
            self._kept.setdefault(to_fingerprint(name, arguments), []).append(kept)

    def take(self, name: str, arguments: object) -> Kept | None:
        """The oldest of the same call; None where there is none."""
        fingerprint = to_fingerprint(name, arguments)
        with self._lock:
            first, *others = self._kept.pop(fingerprint, []) or [None]
            if others:
                self._kept[fingerprint] = [kept for kept in others if kept is not None]
            return first


class Answers:
    """`answer_call` and `answer_message` of one session.

    Each request has an Idempotency-Key made of session, call id and round, or of session and turn, and is sent again once if its
    answer is lost. After that the model reads that the call may have happened; if it makes the same call again, the lost request
    is sent once more under its old key, so that nothing runs twice.
    """

    def __init__(self, execute: Execute, session_id: str) -> None:
        """execute: that of the session."""
        self._execute = execute
        self._session_id = session_id
        self._unsettled: _ByCall[_Unsettled] = _ByCall()

    def call(
        self, name: str, arguments: object, call_id: str | int | None, round_id: str | None, options: Mapping[str, Any]
    ) -> CallAnswer:
        lost = self._unsettled.take(name, arguments)
        unsettled = lost or _Unsettled(self._to_call_request(name, arguments, call_id, round_id, options), 0)
        try:
            answered = self._send(unsettled.request)
        except BaseException as error:
            # Nothing that becomes of a repeat says that the lost request did not run.
            is_uncertain = lost is not None or _may_have_run(error)
            if is_uncertain:
                self._unsettled.add(name, arguments, unsettled)
            return _to_error_answer(error, name, is_uncertain)
        told = _to_call_answer(answered, unsettled.place)
        if lost is None or not answered.replayed:
            return told
        return CallAnswer(to_settled_text(name, told.text), told.is_error, told.result)

    def message(
        self, message: object, format: ConversationFormat, turn: str | int, options: Mapping[str, Any]
    ) -> MessageAnswer:
        calls = read_calls(message)
        key = to_turn_key(self._session_id, turn)
        if any(self._unsettled.has(call.name, call.arguments) for call in calls):
            return _to_message_answer(format, calls, self._call_each(calls, key, options))
        request = _Request(
            message, {**options, "format": format, "idempotency_key": key, "request_id": str(uuid4())}
        )
        try:
            answered = self._send(request)
            return MessageAnswer(answered.messages, answered.results)
        except BaseException as error:
            is_uncertain = _may_have_run(error)
            if is_uncertain:
                for place, call in enumerate(calls):
                    self._unsettled.add(call.name, call.arguments, _Unsettled(request, place))
            # A message that is not understood here cannot be answered here.
            if not calls:
                raise
            return _to_message_answer(
                format, calls, [_to_error_answer(error, call.name, is_uncertain) for call in calls]
            )

    def _call_each(self, calls: list[MessageCall], round_id: str, options: Mapping[str, Any]) -> list[CallAnswer]:
        """One request a call, side by side as the service runs those of a message; the calls are one round."""
        with ThreadPoolExecutor(len(calls)) as threads:
            asked = [
                threads.submit(self.call, call.name, call.arguments, call.id, round_id, options) for call in calls
            ]
            return [answer.result() for answer in asked]

    def _to_call_request(
        self, name: str, arguments: object, call_id: str | int | None, round_id: str | None, options: Mapping[str, Any]
    ) -> _Request:
        own = str(uuid4()) if call_id is None or call_id == "" else str(call_id)
        # Some servers count ids anew in every message.
        distinct = own if round_id is None else f"{own} {round_id}"
        text = arguments if isinstance(arguments, str) else to_json({} if arguments is None else arguments).decode()
        return _Request(
            [{"id": own, "type": "function", "function": {"name": name, "arguments": text}}],
            {
                **options,
                "format": "openai-chat",
                "round_id": round_id,
                "idempotency_key": to_call_key(self._session_id, distinct),
                "request_id": str(uuid4()),
            },
        )

    def _send(self, request: _Request) -> MessagesAnswer:
        return self._execute(request.body, lost_repeats=1, **request.options)


# Late, too large, too many, or the service is full or stopping.
FOR_MODEL = (None, 408, 413, 429, 503)


def _may_have_run(error: BaseException) -> bool:
    """Whether the calls of a failed request may have run. What an interrupt ended may have been sent."""
    return error.may_have_run if isinstance(error, RecourseError) else not isinstance(error, Exception)


def _to_error_answer(error: BaseException, tool: str, is_uncertain: bool) -> CallAnswer:
    """What the model reads; raises what no model can mend (400, 401, 403 …)."""
    if not isinstance(error, RecourseError) or not (error.may_have_run or error.status in FOR_MODEL):
        raise error
    if error.code == "still_pending":
        return CallAnswer(to_still_pending_text(tool), False, None)
    if is_uncertain:
        return CallAnswer(to_lost_text(tool), True, None)
    reason = "The tool service cannot be reached." if error.problem is None else error.problem["detail"]
    return CallAnswer(to_not_run_text(tool, reason), True, None)


def _to_call_answer(answered: MessagesAnswer, place: int) -> CallAnswer:
    result = answered.results[place]
    messages = [cast("dict[str, object]", message) for message in answered.messages if isinstance(message, dict)]
    content = messages[place].get("content") if place < len(messages) else None
    text = content if isinstance(content, str) else _to_result_text(result)
    return CallAnswer(text, not result["success"] and result["outcome"] != "pending", result)


# A picture in base64 is not for a model to read.
MAX_VALUE_LENGTH = 20_000


def _to_result_text(result: ToolResult) -> str:
    """What a model reads of a result that came for another message, where the service has not written it as a text."""
    if result["outcome"] == "pending" or result["outcome"] == "checked":
        return result["message"]
    if result["outcome"] != "success":
        return f"ERROR: {result['error']['code']}: {result['message']}"
    value: object = result["value"]
    written = "" if value is None else value if isinstance(value, str) else to_json(value).decode()
    lines = [line for line in (result["message"], written[:MAX_VALUE_LENGTH]) if line.strip()]
    return "\n".join(lines) or "The tool succeeded and returned nothing."


def _to_message_answer(
    format: ConversationFormat, calls: list[MessageCall], answers: list[CallAnswer]
) -> MessageAnswer:
    told = [(call, answer.text, answer.is_error) for call, answer in zip(calls, answers)]
    return MessageAnswer(write_answers(format, told), [answer.result for answer in answers if answer.result is not None])


