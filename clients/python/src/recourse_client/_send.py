"""Sends a request until it is answered, its time is up, or sending it again is of no use."""

from __future__ import annotations

import re
import ssl
from dataclasses import dataclass, field, replace
from random import random
from time import monotonic, sleep, time
from typing import Dict, Mapping
from urllib.parse import SplitResult, quote, urlsplit

from ._attempt import Manner, TryOnce
from ._error import RecourseError
from ._hide_key import HideKey
from ._judge import Answered, Attempt, Lost, Oversized, Verdict, judge, to_unreached_word, to_wait


@dataclass(frozen=True)
class Outgoing:
    """One request, the same in every attempt. Times are in seconds."""

    method: str
    path: str
    """Behind the service's URL, without a slash in front."""
    request_id: str
    attempt_timeout: float
    """One attempt has this long for its answer."""
    timeout: float
    """All attempts and the waits between them have this long."""
    body: bytes | None = None
    idempotency_key: str | None = None
    headers: Mapping[str, str] = field(default_factory=dict[str, str])
    """Beside those that every request has."""
    expected: tuple[int, ...] = ()
    """Statuses that are an answer although they are no success."""
    lost_repeats: int | None = None
    """How often it is sent again after an attempt without any answer; as `timeout` allows where it is None."""
    manner: Manner = "whole"
    """`stream`: a success is handed on as it comes."""


class Sender:
    """Knows where the service is, and the key. Shows neither the key nor anything that holds it."""

    def __init__(
        self,
        url: str,
        *,
        api_key: str | None,
        connect_timeout: float,
        max_answer_bytes: int,
        ssl_context: ssl.SSLContext | None,
    ) -> None:
        parts = _to_base(url)
        host, port = parts.hostname or "", parts.port or (443 if parts.scheme == "https" else 80)
        context = (ssl_context or ssl.create_default_context()) if parts.scheme == "https" else None
        self.origin = f"{parts.scheme}://{parts.netloc}"
        self._base = quote(parts.path.rstrip("/"), safe="/%:@!$&'()*+,;=~")
        self._authorization = _to_authorization(api_key)
        self._connect_timeout = connect_timeout
        self._max_answer_bytes = max_answer_bytes
        self._try_once = TryOnce(host, port, context, HideKey(api_key), max_answer_bytes)

    def close(self) -> None:
        """Closes the connections that are kept for later requests."""
        self._try_once.close()

    def __call__(self, outgoing: Outgoing) -> tuple[Answered, int]:
        """The answer, and how often the request was sent; raises a RecourseError where none is to be had."""
        started_at = monotonic()
        ends_at = started_at + outgoing.timeout
        connects_by = started_at + min(outgoing.timeout, self._connect_timeout)
        headers = _Headers({**outgoing.headers, **_to_headers(outgoing), **self._authorization()})
        verdict = NOTHING_SENT
        attempts = 0
        while True:
            attempts += 1
            attempt = self._try_once(
                outgoing.method,
                f"{self._base}/{outgoing.path}",
                outgoing.body,
                headers,
                min(ends_at, monotonic() + outgoing.attempt_timeout),
                # Once it was reached the whole time counts.
                ends_at if verdict.reached else connects_by,
                outgoing.manner,
            )
            if isinstance(attempt, Answered) and _is_expected(attempt.status, outgoing):
                return attempt, attempts
            verdict = _add(verdict, judge(attempt, time()))
            wait = to_wait(attempts, verdict.retry_after, random())
            if not _may_repeat(verdict, outgoing) or monotonic() + wait + LEAST >= (ends_at if verdict.reached else connects_by):
                raise self._to_error(outgoing, attempt, verdict, attempts) from _to_cause(attempt)
            sleep(min(wait, LONGEST_SLEEP))

    def _to_error(self, outgoing: Outgoing, attempt: Attempt, verdict: Verdict, attempts: int) -> RecourseError:
        status = None if isinstance(attempt, Lost) else attempt.status
        if isinstance(attempt, Lost):
            code, detail = "no_answer", self._to_silence(attempt.cause, verdict)
        elif isinstance(attempt, Oversized):
            limit = self._max_answer_bytes
            code = "answer_too_large"
            detail = f"The answer is larger than {limit} bytes and was not read to its end. Raise max_answer_bytes to accept it."
        elif verdict.problem is None:
            code, detail = "bad_answer", NOT_OURS
        else:
            code, detail = verdict.problem["code"], _to_line(verdict.problem["detail"])
        return _create_error(outgoing, code, detail, status, attempts, verdict)

    def _to_silence(self, cause: Exception, verdict: Verdict) -> str:
        if verdict.reached:
            return "The service did not answer in time."
        word = to_unreached_word(cause)
        if isinstance(cause, ssl.SSLError):
            return f"{self.origin} answers, but not with a TLS connection that can be trusted ({word})."
        return f"Nothing answers at {self.origin} ({word}). Is the service running?"


NOTHING_SENT = Verdict(again=True, reached=False, may_have_run=False)


def _add(so_far: Verdict, verdict: Verdict) -> Verdict:
    """What one attempt has done, all have."""
    return replace(
        verdict,
        reached=so_far.reached or verdict.reached,
        may_have_run=so_far.may_have_run or verdict.may_have_run,
        lost=so_far.lost + verdict.lost,
    )


# An attempt with less time than this would only replace what is known by a time-out.
LEAST = 0.05
# A sleep of more is none on some platforms; nobody waits for it.
LONGEST_SLEEP = 2_000_000.0
NDJSON = "application/x-ndjson"
NOT_OURS = "The answer is not from a Recourse service. Check the URL, and any proxy in front of the service."


def _to_cause(attempt: Attempt) -> Exception | None:
    return attempt.cause if isinstance(attempt, Lost) else None


def _may_repeat(verdict: Verdict, outgoing: Outgoing) -> bool:
    """Without a key a batch that may have run is not sent again."""
    if outgoing.lost_repeats is not None and verdict.lost > outgoing.lost_repeats:
        return False
    is_safe = outgoing.manner == "whole" or outgoing.idempotency_key is not None
    return verdict.again and (is_safe or not verdict.may_have_run)


def _is_expected(status: int, outgoing: Outgoing) -> bool:
    return 200 <= status < 300 or status in outgoing.expected


def _to_headers(outgoing: Outgoing) -> dict[str, str]:
    accepted = "*/*" if outgoing.manner == "whole" else NDJSON
    headers = {"accept": accepted, "x-request-id": _to_header("request_id", outgoing.request_id)}
    if outgoing.idempotency_key is not None:
        headers["idempotency-key"] = _to_header("idempotency_key", outgoing.idempotency_key)
    if outgoing.body is not None:
        headers["content-type"] = "application/json"
    return headers


def _to_header(name: str, value: str) -> str:
    if re.fullmatch(r"[\x20-\x7e]*", value) is None:
        raise ValueError(f"{name} contains a character that is not allowed in a header.")
    return value


def _to_base(url: str) -> SplitResult:
    """The parts of an address; raises a ValueError that does not repeat it, for a password may stand there."""
    wrong = ValueError("url must be an http: or https: URL.")
    try:
        parts = urlsplit(url)
        port = parts.port
    except ValueError:
        raise wrong from None
    host = parts.hostname or ""
    if parts.username is not None or parts.password is not None:
        raise ValueError("url must not hold a user name or password; pass the key as api_key.")
    if parts.scheme not in ("http", "https") or re.fullmatch(r"[^\s/?#@%\\]+", host) is None or port == 0:
        raise wrong
    return parts


def _to_authorization(api_key: str | None) -> "_Authorization":
    key = None if api_key is None else api_key.strip()
    if key is not None and re.fullmatch(r"[\t\x20-\x7e\x80-\xff]*", key) is None:
        raise ValueError("api_key contains a character that is not allowed in a header.")
    return _Authorization(key)


class _Headers(Dict[str, str]):
    """Prints no values: what reports errors prints the variables of frames."""

    def __repr__(self) -> str:
        return f"<headers {', '.join(self)}>"


class _Authorization:
    """The header with the key. A closure, so that no printed member holds the key."""

    __slots__ = ("_make",)

    def __init__(self, key: str | None) -> None:
        def make() -> dict[str, str]:
            return {} if key is None else {"authorization": f"Bearer {key}"}

        self._make = make

    def __call__(self) -> dict[str, str]:
        return self._make()


# More than this is no sentence of the service, and not for a log.
MAX_DETAIL = 1_000


def _to_line(detail: str) -> str:
    """One line, without codes that a terminal obeys: who answers with a problem writes a part of the message."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u2028\u2029]+", " ", detail[:MAX_DETAIL])


def _create_error(
    outgoing: Outgoing, code: str, detail: str, status: int | None, attempts: int, verdict: Verdict
) -> RecourseError:
    path = outgoing.path.partition("?")[0]
    return RecourseError(
        f"{outgoing.method} /{path} ({status or code}): {detail}",
        code=code,
        status=status,
        problem=verdict.problem,
        retry_after=verdict.retry_after,
        request_id=outgoing.request_id,
        idempotency_key=outgoing.idempotency_key,
        attempts=attempts,
        may_have_run=verdict.may_have_run,
    )


def to_bad_answer(outgoing: Outgoing, answered: Answered, attempts: int) -> RecourseError:
    """What is raised where an answer is a success by its status and by nothing else."""
    verdict = Verdict(again=False, reached=True, may_have_run=True)
    return _create_error(outgoing, "bad_answer", NOT_OURS, answered.status, attempts, verdict)


def to_broken_stream(outgoing: Outgoing, answered: Answered, attempts: int) -> RecourseError:
    """What is raised where a stream ended before it was whole."""
    verdict = Verdict(again=False, reached=True, may_have_run=True)
    detail = "The stream broke before its last event."
    return _create_error(outgoing, "no_answer", detail, answered.status, attempts, verdict)
