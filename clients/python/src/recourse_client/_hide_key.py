"""Takes the client's key out of what is raised: an address that echoes requests, or a page that lists them, repeats it."""

from __future__ import annotations

from http.client import HTTPException

PLACEHOLDER = "[api key]"
# A shorter one would be found in the middle of words.
MIN_LENGTH = 8


class HideKey:
    """Replaces one key, where it is long enough to be looked for."""

    __slots__ = ("_replace",)

    def __init__(self, api_key: str | None) -> None:
        key = (api_key or "").strip()

        def replace(text: str) -> str:
            return text if len(key) < MIN_LENGTH else text.replace(key, PLACEHOLDER)

        # A closure, so that no printed member holds the key.
        self._replace = replace

    def in_bytes(self, text: bytes) -> bytes:
        """The text without the key. Headers carry it in Latin-1, pages in UTF-8; both survive surrogates."""
        return self._replace(text.decode("utf-8", "surrogateescape")).encode("utf-8", "surrogateescape")

    def in_cause(self, cause: Exception) -> Exception:
        """The cause itself where its text is the system's; else one with the same text and without the key."""
        # The frames of http.client hold the whole request, and what reports errors prints the variables of frames.
        if not isinstance(cause, HTTPException) or isinstance(cause, OSError):
            return _without_frames(cause)
        # What http.client raises quotes the bytes that came, and holds them in its members.
        return HTTPException(self._replace(f"{type(cause).__name__}: {cause}"))


def _without_frames(cause: Exception) -> Exception:
    cause.__context__ = cause.__cause__ = None
    return cause.with_traceback(None)
