"""The lines of an answer that is read while it is made."""

from __future__ import annotations

import http.client

from ._connection import Connection, seconds_left


class Lines:
    """Has a connection of its own until it is closed. Reading ends by an exception where the answer does not."""

    def __init__(self, connection: Connection, response: http.client.HTTPResponse, ends_at: float, most: int) -> None:
        self._connection = connection
        self._response = response
        self._ends_at = ends_at
        self._most = most

    def read(self) -> bytes:
        """The next line; raises OSError, HTTPException or, where it has more bytes than the limit, ValueError."""
        seconds_left(self._ends_at)
        line = self._response.readline(self._most + 1)
        if line.endswith(b"\n"):
            return line
        if len(line) > self._most:
            raise ValueError(f"An event is larger than {self._most} bytes.")
        raise http.client.IncompleteRead(b"")

    def close(self) -> None:
        """Ends the connection: the service learns that nobody reads any more."""
        self._response.close()
        self._connection.close()
