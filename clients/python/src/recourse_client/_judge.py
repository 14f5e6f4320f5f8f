"""What to make of one attempt: whether the same request may be sent again, when, and whether anything may have run."""

from __future__ import annotations

import errno
import re
import socket
import ssl
from dataclasses import dataclass, field
from datetime import timezone
from email.utils import parsedate_to_datetime
from typing import Mapping, Union

from ._lines import Lines
from ._read_body import parse_json, to_problem
from .wire import Problem


@dataclass(frozen=True)
class Answered:
    """An answer of HTTP, read to its end; the names of `headers` are in small letters."""

    status: int
    # Not printed: what reports errors prints the variables of frames, and an answer may repeat the key.
    headers: Mapping[str, str] = field(repr=False)
    text: bytes = field(repr=False)
    stream: Lines | None = field(default=None, repr=False)
    """What is still to be read, of an answer that was asked for as a stream."""


@dataclass(frozen=True)
class Oversized:
    """An answer that is too large to be read."""

    status: int


@dataclass(frozen=True)
class Lost:
    """No answer; where `reached` is false there was no connection, and nothing was sent."""

    cause: Exception
    reached: bool


Attempt = Union[Answered, Oversized, Lost]


@dataclass(frozen=True)
class Verdict:
    """What to make of an attempt; `again`: the same request may be sent once more."""

    again: bool
    reached: bool
    may_have_run: bool
    lost: int = 0
    """How many attempts were sent and had no answer at all."""
    retry_after: float | None = None
    problem: Problem | None = None


# Late, still running under the same key, too many, the service is full or going, a proxy had no answer.
AGAIN = (408, 409, 429, 502, 503, 504)


def judge(attempt: Attempt, now: float) -> Verdict:
    """Decides by status alone what is tried again; `now` is the time of day in seconds since 1970."""
    if isinstance(attempt, Lost):
        # A certificate that does not hold now will not hold in a second.
        again = not isinstance(attempt.cause, ssl.SSLCertVerificationError)
        return Verdict(again=again, reached=attempt.reached, may_have_run=attempt.reached, lost=int(attempt.reached))
    # Asked for again it would be as large.
    if isinstance(attempt, Oversized):
        return Verdict(again=False, reached=True, may_have_run=True)
    status = attempt.status
    problem = to_problem(parse_json(attempt.text))
    return Verdict(
        again=status in AGAIN,
        reached=True,
        # The service's own 503 says that nothing ran. Every other one may stand for a request that a proxy has passed on.
        may_have_run=(problem is None or status != 503) if status >= 500 else status == 409,
        retry_after=to_retry_after(attempt.headers.get("retry-after"), now),
        problem=problem,
    )


def to_unreached_word(cause: Exception) -> str:
    """The system's word for why there was no connection."""
    if isinstance(cause, ssl.SSLError):
        return cause.reason or "TLS"
    if isinstance(cause, socket.gaierror):
        return "EAI_AGAIN" if cause.errno == socket.EAI_AGAIN else "ENOTFOUND"
    if isinstance(cause, TimeoutError):
        return "ETIMEDOUT"
    number = cause.errno if isinstance(cause, OSError) else None
    return errno.errorcode.get(number or 0, type(cause).__name__)


def to_retry_after(text: str | None, now: float) -> float | None:
    """Seconds of a Retry-After (RFC 9110): a number or a date. None where it says neither."""
    if text is None:
        return None
    if re.fullmatch(r"[0-9]{1,9}", text.strip()):
        return float(text)
    # A date of HTTP begins with a weekday; "1 Jan" and the like are dates to Python, too.
    if re.match(r"\s*[A-Z][a-z]{2,8},? ", text) is None:
        return None
    try:
        date = parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError):
        return None
    # Without an offset it is in UTC, as all dates of HTTP are.
    aware = date if date.tzinfo is not None else date.replace(tzinfo=timezone.utc)
    return max(0.0, aware.timestamp() - now)


FIRST_WAIT = 0.2
LONGEST_WAIT = 5.0
# Clients that were told the same time do not all come back in the same moment.
SPREAD = 0.25


def to_wait(attempts: int, retry_after: float | None, random: float) -> float:
    """How many seconds to wait after so many attempts: as told, else twice as long each time; `random` is from 0 to 1.

    "At once" is not taken literally: a service or a proxy that says so again and again would be flooded.
    """
    if retry_after is not None and retry_after > 0:
        return retry_after + random * SPREAD
    return min(LONGEST_WAIT, FIRST_WAIT * 2.0 ** min(attempts - 1, 16)) * (0.5 + random / 2)
