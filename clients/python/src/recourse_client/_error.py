"""What is raised where the service did not take a request."""

from __future__ import annotations

from typing import Any

from .wire import Problem


class RecourseError(Exception):
    """The service did not take a request, or could not be asked. What becomes of a call is a result and never this.

    `__cause__` is what the last attempt met, where no answer came.
    """

    def __init__(
        self,
        message: str,
        *,
        code: str,
        status: int | None,
        problem: Problem | None,
        retry_after: float | None,
        request_id: str,
        idempotency_key: str | None,
        attempts: int,
        may_have_run: bool,
    ) -> None:
        super().__init__(message)
        self.code = code
        """Of the problem; `no_answer`, `bad_answer` or `answer_too_large` where there is none."""
        self.status = status
        """Of the last answer; None where there was none."""
        self.problem = problem
        """The problem as the service wrote it (RFC 9457); None where what answered was none."""
        self.retry_after = retry_after
        """How many seconds the service asks to wait; None where it does not say."""
        self.request_id = request_id
        """What `recover` takes, and what the service's log calls the request."""
        self.idempotency_key = idempotency_key
        """Executing again with this key runs nothing a second time. None where the request carried none."""
        self.attempts = attempts
        """How often the request was sent."""
        self.may_have_run = may_have_run
        """Whether any attempt may have reached the tools. Where this is false, nothing has run."""

    def __reduce__(self) -> tuple[object, ...]:
        # A process pool sends errors pickled, and Exception forgets what was given by name.
        return (_rebuild, (str(self), vars(self).copy()))


def _rebuild(message: str, members: dict[str, Any]) -> RecourseError:
    error = RecourseError.__new__(RecourseError, message)
    # Notes (`add_note`) are among them.
    vars(error).update(members)
    return error
