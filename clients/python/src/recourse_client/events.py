"""What `stream` gives while calls run: `event` tells what `data` is."""

from __future__ import annotations

from typing import Any, List, Literal, Optional, TypedDict, Union

from .results import ToolResult
from .wire import Warning


class AcceptedCall(TypedDict):
    """A call of the batch; its result has the same `index`."""

    index: int
    id: Union[str, int, None]
    name: Optional[str]


class AcceptedData(TypedDict):
    """What runs from now on."""

    request_id: str
    session_id: Optional[str]
    calls: List[AcceptedCall]


class AcceptedEvent(TypedDict):
    """The first event: each call gets exactly one result."""

    event: Literal["accepted"]
    id: str
    data: AcceptedData


class ResultEvent(TypedDict):
    """The result of a call, as `execute` has it."""

    event: Literal["result"]
    id: str
    data: ToolResult


class Progress(TypedDict):
    """How far a call is, in its own unit."""

    done: float
    total: Optional[float]
    message: Optional[str]


class ProgressData(TypedDict):
    """Which call is how far."""

    index: int
    progress: Progress


class ProgressEvent(TypedDict):
    """Left out where this client reads too slowly."""

    event: Literal["progress"]
    id: str
    data: ProgressData


class PartData(TypedDict):
    """What a call shows to people before its result."""

    index: int
    value: Any


class PartEvent(TypedDict):
    """No part of the result. Left out where this client reads too slowly."""

    event: Literal["part"]
    id: str
    data: PartData


class _DoneData(TypedDict):
    request_id: str
    session_id: Optional[str]
    status: Literal["done"]


class DoneData(_DoneData, total=False):
    """What an answer has beside its results."""

    format: str
    messages: Any
    warnings: List[Warning]


class DoneEvent(TypedDict):
    """The last event."""

    event: Literal["done"]
    id: str
    data: DoneData


StreamEvent = Union[AcceptedEvent, ResultEvent, ProgressEvent, PartEvent, DoneEvent]
