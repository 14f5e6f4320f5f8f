"""The client of one service."""

from __future__ import annotations

import math
import ssl
import threading
from types import TracebackType
from typing import Any, Literal, Mapping, overload
from urllib.parse import quote
from uuid import uuid4

from ._answers import Answers
from ._executor import Executor
from ._judge import Answered
from ._pending import POLL_GRACE, OnApproval, status_of, to_query
from ._read_body import parse_json, to_list, to_problem, to_results, to_session_view
from ._send import Outgoing, Sender, to_bad_answer
from .answers import CallAnswer, MessageAnswer, RecoveredAnswer, ResultsAnswer
from .formats import CatalogueFormat, ConversationFormat
from .wire import SessionView, ToolDescription

TIMEOUT = 180.0
# A restart takes a few seconds; a service that nobody has started takes for ever.
CONNECT_TIMEOUT = 10.0
# 64 results of 1 MiB, which is the most a service gives unless told otherwise.
MAX_ANSWER_BYTES = 64 * 1024 * 1024
# What only reads or forgets is answered at once.
ATTEMPT_TIMEOUT = 10.0


class _Asker(Executor):
    """What may be repeated freely, and so needs no key."""

    def _ask(
        self,
        method: str,
        path: str,
        timeout: float | None,
        expected: tuple[int, ...] = (),
        headers: Mapping[str, str] | None = None,
        attempt_timeout: float = ATTEMPT_TIMEOUT,
    ) -> tuple[Outgoing, Answered, int]:
        outgoing = Outgoing(
            method=method,
            path=path,
            request_id=str(uuid4()),
            attempt_timeout=attempt_timeout,
            timeout=self._timeout if timeout is None else timeout,
            headers=headers or {},
            expected=expected,
        )
        return (outgoing, *self._sender(outgoing))


class RecourseSession(_Asker):
    """One session of the service: an agent's run. Made by `Recourse.session`."""

    def __init__(self, sender: Sender, timeout: float, session_id: str, deadline: float | None) -> None:
        super().__init__(sender, timeout, session_id, deadline)
        self.id = session_id
        self._answers = Answers(self.execute, session_id)

    def __repr__(self) -> str:
        return f"<RecourseSession {self.id!r} at {self._origin}>"

    def answer_call(
        self,
        name: str,
        arguments: object = None,
        *,
        call_id: str | int | None = None,
        round_id: str | None = None,
        deadline: float | None = None,
        timeout: float | None = None,
        wait: Literal["all"] | None = None,
        on_approval: OnApproval | None = None,
    ) -> CallAnswer:
        """Has one call executed; what the model reads comes back whatever became of the request.

        The request has an Idempotency-Key made of session, call id and round, and is sent again once if its answer is lost.
        After that the model reads that the call may have happened; if it makes the same call again, the lost request is sent once
        more under its old key, so that nothing runs twice. Raises a RecourseError where the service refuses a request (400, 401,
        403 …), which no model can mend.

        arguments: an object, or the text that the model wrote.
        call_id: the model's; one is made where it is missing or empty.
        round_id: the same for all calls of a model's step, and no other step's of the session.
        """
        options = {"deadline": deadline, "timeout": timeout, "wait": wait, "on_approval": on_approval}
        return self._answers.call(name, arguments, call_id, round_id, options)

    def answer_message(
        self,
        message: object,
        *,
        format: ConversationFormat,
        turn: str | int,
        deadline: float | None = None,
        timeout: float | None = None,
        wait: Literal["all"] | None = None,
        on_approval: OnApproval | None = None,
    ) -> MessageAnswer:
        """As `answer_call`, for all calls of a message as its provider's API gave it.

        turn: stands for this message and no other of the session, such as the length of the conversation: the key is made of it.
        """
        options = {"deadline": deadline, "timeout": timeout, "wait": wait, "on_approval": on_approval}
        return self._answers.message(message, format, turn, options)

    def view(self, *, timeout: float | None = None) -> SessionView:
        """What the service knows of it; empty for one never seen."""
        outgoing, answered, attempts = self._ask("GET", f"sessions/{_to_step(self.id)}", timeout)
        view = to_session_view(parse_json(answered.text))
        if view is None:
            raise to_bad_answer(outgoing, answered, attempts)
        return view

    def reset_budgets(self, tool: str | None = None, *, timeout: float | None = None) -> None:
        """Gives all tools their retries back, or one."""
        which = "" if tool is None else f"/{_to_step(tool)}"
        self._forget(f"sessions/{_to_step(self.id)}/budgets{which}", timeout)

    def end(self, *, timeout: float | None = None) -> None:
        """Makes the service forget it."""
        self._forget(f"sessions/{_to_step(self.id)}", timeout)

    def _forget(self, path: str, timeout: float | None) -> None:
        outgoing, answered, attempts = self._ask("DELETE", path, timeout)
        # A page to log in at is a success, too, by its status alone.
        if answered.status != 204:
            raise to_bad_answer(outgoing, answered, attempts)


class Recourse(_Asker):
    """A client of one service. Opens nothing until it is used; any number of threads may use it at the same time.

    url: where the service is; a path in front of its own is kept.
    timeout: all attempts of one operation and the waits between them, in seconds.
    connect_timeout: an operation that has not connected once within this many seconds is given up.
    max_answer_bytes: an answer with more bytes is not read to its end.
    ssl_context: for https; the platform's own certificates unless given.
    """

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None = None,
        timeout: float = TIMEOUT,
        connect_timeout: float = CONNECT_TIMEOUT,
        max_answer_bytes: int = MAX_ANSWER_BYTES,
        ssl_context: ssl.SSLContext | None = None,
    ) -> None:
        sender = Sender(
            url,
            api_key=api_key,
            connect_timeout=connect_timeout,
            max_answer_bytes=max_answer_bytes,
            ssl_context=ssl_context,
        )
        super().__init__(sender, timeout, None, None)
        self._catalogues: dict[str, tuple[str, bytes]] = {}
        self._lock = threading.Lock()

    def __repr__(self) -> str:
        return f"<Recourse at {self._origin}>"

    def __enter__(self) -> Recourse:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def close(self) -> None:
        """Closes the connections that are kept for later requests. The client may be used again."""
        self._sender.close()

    def session(self, id: str, *, timeout: float | None = None, deadline: float | None = None) -> RecourseSession:
        """One session; `timeout` and `deadline` hold for its operations unless these say otherwise."""
        return RecourseSession(self._sender, self._timeout if timeout is None else timeout, id, deadline)

    def recover(self, request_id: str, *, timeout: float | None = None) -> RecoveredAnswer | None:
        """The results of an `execute` whose answer was lost; None where none are kept, or the batch still runs."""
        path = f"tool-calls/{_to_step(request_id)}"
        outgoing, answered, attempts = self._ask("GET", path, timeout, expected=(404,))
        body = parse_json(answered.text)
        results = to_results(body)
        if results is not None:
            return RecoveredAnswer(request_id, results)
        problem = to_problem(body)
        if problem is not None and problem["code"] == "result_not_kept":
            return None
        raise to_bad_answer(outgoing, answered, attempts)

    def results(
        self,
        request_id: str,
        *,
        wait: float = 0.0,
        until: Literal["all", "any"] | None = None,
        timeout: float | None = None,
    ) -> ResultsAnswer:
        """The results of a batch, as they are now or after a wait.

        wait: the service waits this many seconds for pending calls before it answers, at most 30.
        until: which of them must have ended for an answer before that; all unless given.
        """
        query = {"wait_ms": str(math.ceil(wait * 1000))} if wait > 0 else {}
        if until is not None:
            query["until"] = until
        path = f"tool-calls/{_to_step(request_id)}{to_query(query)}"
        return self._ask_results(request_id, "GET", path, timeout, wait + POLL_GRACE)

    def cancel(
        self, request_id: str, *, index: int | None = None, force: bool = False, timeout: float | None = None
    ) -> ResultsAnswer:
        """Ends the pending calls of a batch; gives the results as they are then. Calls that go on are pending in it.

        index: the place of the one call; all calls of the batch unless given.
        force: also cuts off writes that are running: nobody knows then how they ended.
        """
        one = "" if index is None else f"/calls/{_to_step(str(index))}"
        path = f"tool-calls/{_to_step(request_id)}{one}{to_query({'force': 'true'} if force else {})}"
        return self._ask_results(request_id, "DELETE", path, timeout, ATTEMPT_TIMEOUT)

    def _ask_results(
        self, request_id: str, method: str, path: str, timeout: float | None, attempt_timeout: float
    ) -> ResultsAnswer:
        outgoing, answered, attempts = self._ask(method, path, timeout, attempt_timeout=attempt_timeout)
        results = to_results(parse_json(answered.text))
        if results is None:
            raise to_bad_answer(outgoing, answered, attempts)
        return ResultsAnswer(request_id, status_of(results), results)

    @overload
    def tools(
        self, format: Literal["native"] = "native", *, strict: bool = False, timeout: float | None = None
    ) -> list[ToolDescription]: ...
    @overload
    def tools(self, format: CatalogueFormat, *, strict: bool = False, timeout: float | None = None) -> list[Any]: ...
    def tools(self, format: str = "native", *, strict: bool = False, timeout: float | None = None) -> list[Any]:
        """The tools this key may use, as the service describes them or as a provider's request lists them.

        With `strict` their schemas are as OpenAI's strict mode wants them, where a tool's own can be written so. The
        catalogue is transferred again only when it has changed.
        """
        query = {} if format == "native" else {"format": format}
        if strict:
            query["strict"] = "true"
        path = f"tools{to_query(query)}"
        with self._lock:
            etag, known = self._catalogues.get(path, ("", b""))
        headers = {"if-none-match": etag} if etag else {}
        outgoing, answered, attempts = self._ask("GET", path, timeout, expected=(304,), headers=headers)
        text = known if answered.status == 304 else answered.text
        tools = to_list(parse_json(text), "tools")
        if tools is None:
            raise to_bad_answer(outgoing, answered, attempts)
        if answered.status != 304:
            with self._lock:
                self._catalogues[path] = (answered.headers.get("etag", ""), text)
        return tools


def _to_step(name: str) -> str:
    """A name as one step of a path. Encoded or not, these would be none, and the request would go to another address."""
    if name in ("", ".", ".."):
        raise ValueError(f"{name!r} cannot be written into a URL path.")
    return quote(name, safe="")
