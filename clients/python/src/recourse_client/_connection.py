"""Connections of http.client whose reads, writes and connecting all end when the attempt's time is up."""

from __future__ import annotations

import http.client
import io
import os
import select
import socket
import ssl
import threading
from time import monotonic
from typing import Any, cast


def seconds_left(ends_at: float) -> float:
    """The seconds until `ends_at`, a time of `monotonic`; raises TimeoutError where it is over."""
    left = ends_at - monotonic()
    if left <= 0:
        raise TimeoutError("The attempt timed out.")
    # About a month: what sockets take for sure.
    return min(left, 2_000_000.0)


class _TimedReader(io.RawIOBase):
    """Reads a socket until a fixed moment. A socket's own timeout begins anew with every byte that drips."""

    def __init__(self, sock: socket.socket, ends_at: float) -> None:
        self._sock = sock
        self._raw = sock.makefile("rb", buffering=0)
        self._ends_at = ends_at
        self.is_at_end = False

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int | None:
        self._sock.settimeout(seconds_left(self._ends_at))
        read = self._raw.readinto(buffer)
        self.is_at_end = read == 0
        return read

    def close(self) -> None:
        self._raw.close()
        super().close()


class _TimedSocket:
    """As much of a socket as http.client uses."""

    def __init__(self, sock: socket.socket) -> None:
        self.sock = sock
        self.ends_at = 0.0

    def sendall(self, data: bytes) -> None:
        # The timeout of sendall is that of the whole of it.
        self.sock.settimeout(seconds_left(self.ends_at))
        self.sock.sendall(data)

    def makefile(self, mode: str) -> io.BufferedReader:
        assert mode == "rb"
        return io.BufferedReader(_TimedReader(self.sock, self.ends_at))

    def close(self) -> None:
        self.sock.close()


class _Response(http.client.HTTPResponse):
    def begin(self) -> None:
        reader = self.fp.raw
        super().begin()
        # http.client takes a connection that ends among the headers for the end of the headers.
        if isinstance(reader, _TimedReader) and reader.is_at_end:
            raise http.client.IncompleteRead(b"")

    def _read_status(self) -> tuple[str, int, str]:
        # Early hints (103) go before an answer; http.client takes them for the answer itself.
        for _ in range(MAX_INTERIM):
            read = cast("tuple[str, int, str]", super()._read_status())  # type: ignore[misc]
            if not http.client.PROCESSING <= read[1] < http.client.OK:
                return read
            http.client.parse_headers(self.fp)
        raise http.client.HTTPException("The server sent too many interim (1xx) responses.")


# A server that sends nothing else is given up by time long before.
MAX_INTERIM = 1_000


class Connection(http.client.HTTPConnection):
    """One connection to the service. Set its end before each use."""

    response_class = _Response

    def __init__(self, host: str, port: int, context: ssl.SSLContext | None) -> None:
        super().__init__(host, port)
        # The port that the Host header leaves out.
        self.default_port = http.client.HTTP_PORT if context is None else http.client.HTTPS_PORT
        self._context = context
        self._timed: _TimedSocket | None = None
        self.idle_since = 0.0
        self.process = os.getpid()

    def end_at(self, ends_at: float) -> None:
        """From now on everything has until then, a time of `monotonic`."""
        if self._timed is not None:
            self._timed.ends_at = ends_at

    def connect_until(self, ends_at: float) -> None:
        """Connects, with TLS where the service has it; raises OSError where that fails or takes too long."""
        failure: OSError = OSError(f"{self.host} has no address.")
        addresses = socket.getaddrinfo(self.host, self.port, type=socket.SOCK_STREAM)
        for place, (family, kind, protocol, _name, address) in enumerate(addresses):
            try:
                sock = socket.socket(family, kind, protocol)
            except OSError as error:
                # A name may have addresses of IPv6 on a machine without it.
                failure = error
                continue
            try:
                # One that never answers leaves time for those behind it.
                sock.settimeout(seconds_left(ends_at) / (len(addresses) - place))
                sock.connect(address)
                sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
                if self._context is not None:
                    sock.settimeout(seconds_left(ends_at))
                    sock = self._context.wrap_socket(sock, server_hostname=self.host)
            except OSError as error:
                sock.close()
                failure = error
                continue
            except BaseException:
                sock.close()
                raise
            self._timed = _TimedSocket(sock)
            self.sock = self._timed
            return
        raise failure

    def connect(self) -> None:
        # http.client would connect again by itself, and nobody would know whether anything was sent before.
        raise http.client.NotConnected

    def is_usable(self) -> bool:
        """Whether the other end has neither closed it nor said anything since it was last used."""
        if self.sock is None or self._timed is None or self.process != os.getpid():
            return False
        if monotonic() - self.idle_since > MAX_IDLE:
            return False
        try:
            poll = select.poll()
            poll.register(self._timed.sock, select.POLLIN)
            return not poll.poll(0)
        except AttributeError:
            # Windows has no poll.
            return not select.select([self._timed.sock], [], [], 0)[0]


# Node closes what was idle for five seconds, and a proxy may do so without a word.
MAX_IDLE = 4.0
# More than that at once are opened, and closed when they were used.
MAX_KEPT = 32


class Pool:
    """Connections that are kept for the next request. Of any number of threads each has one of its own while it uses it."""

    def __init__(self, host: str, port: int, context: ssl.SSLContext | None) -> None:
        self._target = (host, port, context)
        self._lock = threading.Lock()
        self._idle: list[Connection] = []

    def take(self) -> Connection | None:
        """One that is still open, or None."""
        while True:
            with self._lock:
                if not self._idle:
                    return None
                connection = self._idle.pop()
            if connection.is_usable():
                return connection
            connection.close()

    def create(self) -> Connection:
        """One that is not yet open."""
        return Connection(*self._target)

    def give_back(self, connection: Connection) -> None:
        """Keeps one whose answer was read to its end."""
        connection.idle_since = monotonic()
        with self._lock:
            if len(self._idle) < MAX_KEPT:
                self._idle.append(connection)
                return
        connection.close()

    def close(self) -> None:
        """Closes those that nobody uses now."""
        with self._lock:
            idle, self._idle = self._idle, []
        for connection in idle:
            connection.close()
