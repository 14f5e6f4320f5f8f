"""One attempt to have a request answered, over http.client."""

from __future__ import annotations

import http.client
import ssl
from time import monotonic
from typing import Literal, Mapping

from ._connection import Connection, Pool, seconds_left
from ._hide_key import HideKey
from ._judge import Answered, Attempt, Lost, Oversized
from ._lines import Lines

CHUNK = 64 * 1024

Manner = Literal["whole", "stream"]
# What becomes of a connection: another request may use it, none may, or whoever reads the stream has it.
Fate = Literal["keep", "close", "hand on"]


class TryOnce:
    """Sends a request once. What it raises is no network's fault."""

    def __init__(
        self, host: str, port: int, context: ssl.SSLContext | None, hide_key: HideKey, max_answer_bytes: int
    ) -> None:
        self._pool = Pool(host, port, context)
        self._hide_key = hide_key
        self._max_answer_bytes = max_answer_bytes

    def close(self) -> None:
        """Closes the connections that are kept for later requests."""
        self._pool.close()

    def __call__(
        self,
        method: str,
        target: str,
        body: bytes | None,
        headers: Mapping[str, str],
        ends_at: float,
        connects_by: float,
        manner: Manner = "whole",
    ) -> Attempt:
        """The times are those of `monotonic`: `ends_at` that of the answer, `connects_by` that of a new connection.

        manner: a success is read to its end, or handed on as a stream with the connection.
        """
        connection = self._pool.take()
        if connection is None:
            connection = self._pool.create()
            try:
                connection.connect_until(min(ends_at, max(connects_by, monotonic() + 0.001)))
            except OSError as cause:
                return Lost(self._hide_key.in_cause(cause), reached=False)
        fate: Fate = "close"
        try:
            connection.end_at(ends_at)
            attempt, fate = self._exchange(connection, method, target, body, headers, ends_at, manner)
        except (OSError, http.client.HTTPException) as cause:
            return Lost(self._hide_key.in_cause(cause), reached=True)
        finally:
            # Also where a KeyboardInterrupt ends the waiting: the service learns that its client has gone.
            if fate == "close":
                connection.close()
        if fate == "keep":
            self._pool.give_back(connection)
        return attempt

    def _exchange(
        self,
        connection: Connection,
        method: str,
        target: str,
        body: bytes | None,
        headers: Mapping[str, str],
        ends_at: float,
        manner: Manner,
    ) -> tuple[Attempt, Fate]:
        """The answer, and what becomes of the connection."""
        try:
            connection.request(method, target, body=body, headers=dict(headers))
        except BrokenPipeError:
            # It may have answered and hung up before it had read all of the body: that answer is waiting.
            pass
        response = connection.getresponse()
        named = {name.lower(): response.getheader(name) or "" for name in response.headers}
        ok = 200 <= response.status < 300
        if ok and manner == "stream":
            lines = Lines(connection, response, ends_at, self._max_answer_bytes)
            return Answered(response.status, named, b"", lines), "hand on"
        try:
            text = self._read(response, ends_at)
            if text is None:
                return Oversized(response.status), "close"
            # What tools returned stays as it is; anything else may end in an error, and from there in a log.
            answered = Answered(response.status, named, text if ok else self._hide_key.in_bytes(text))
            return answered, "close" if response.will_close else "keep"
        finally:
            response.close()

    def _read(self, response: http.client.HTTPResponse, ends_at: float) -> bytes | None:
        """The body; None where it has more bytes than the limit: what is beyond is not read."""
        parts: list[bytes] = []
        left = self._max_answer_bytes
        while part := self._read_part(response, min(CHUNK, left + 1)):
            seconds_left(ends_at)
            parts.append(part)
            left -= len(part)
            if left < 0:
                return None
        # Up to Python 3.14 an answer that breaks off ends like a whole one where it is read in parts.
        if response.length:
            raise http.client.IncompleteRead(b"", response.length)
        return b"".join(parts)

    def _read_part(self, response: http.client.HTTPResponse, most: int) -> bytes:
        try:
            return response.read(most)
        except ValueError as cause:
            # What http.client makes of a chunk with a negative size.
            raise http.client.HTTPException("The answer is not HTTP.") from cause
