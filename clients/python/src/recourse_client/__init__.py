"""A typed client for Recourse, the HTTP service that executes tools for LLM agents."""

from ._error import RecourseError
from .answers import Answer, CallAnswer, MessageAnswer, MessagesAnswer, RawAnswer, RecoveredAnswer, ResultsAnswer, TextAnswer
from .client import Recourse, RecourseSession
from .events import AcceptedEvent, DoneEvent, PartEvent, ProgressEvent, ResultEvent, StreamEvent
from .formats import CatalogueFormat, ConversationFormat, MessageFormat, ProviderFormat
from .results import (
    ToolCall,
    ToolChecked,
    ToolFailure,
    ToolPending,
    ToolResult,
    ToolSuccess,
    is_fatal,
    is_retryable,
    may_have_run,
)
from .wire import (
    DryRun,
    FailureCode,
    FailureDetail,
    PendingCall,
    Problem,
    Reconciled,
    RetryState,
    SessionView,
    ToolDescription,
)

__all__ = [
    "AcceptedEvent",
    "Answer",
    "CallAnswer",
    "CatalogueFormat",
    "ConversationFormat",
    "DoneEvent",
    "DryRun",
    "FailureCode",
    "FailureDetail",
    "MessageAnswer",
    "MessageFormat",
    "MessagesAnswer",
    "PartEvent",
    "PendingCall",
    "Problem",
    "ProgressEvent",
    "ProviderFormat",
    "RawAnswer",
    "Recourse",
    "RecourseError",
    "RecourseSession",
    "Reconciled",
    "RecoveredAnswer",
    "ResultEvent",
    "ResultsAnswer",
    "RetryState",
    "SessionView",
    "StreamEvent",
    "TextAnswer",
    "ToolCall",
    "ToolChecked",
    "ToolDescription",
    "ToolFailure",
    "ToolPending",
    "ToolResult",
    "ToolSuccess",
    "is_fatal",
    "is_retryable",
    "may_have_run",
]
