"""A typed client for Recourse, the HTTP service that executes tools for LLM agents."""

from ._error import RecourseError
from .answers import Answer, MessagesAnswer, RawAnswer, RecoveredAnswer, TextAnswer
from .client import Recourse, RecourseSession
from .formats import CatalogueFormat, MessageFormat, ProviderFormat
from .results import ToolCall, ToolFailure, ToolResult, ToolSuccess, is_fatal, is_retryable, may_have_run
from .wire import FailureCode, FailureDetail, Problem, RetryState, SessionView, ToolDescription

__all__ = [
    "Answer",
    "CatalogueFormat",
    "FailureCode",
    "FailureDetail",
    "MessageFormat",
    "MessagesAnswer",
    "Problem",
    "ProviderFormat",
    "RawAnswer",
    "Recourse",
    "RecourseError",
    "RecourseSession",
    "RecoveredAnswer",
    "RetryState",
    "SessionView",
    "TextAnswer",
    "ToolCall",
    "ToolDescription",
    "ToolFailure",
    "ToolResult",
    "ToolSuccess",
    "is_fatal",
    "is_retryable",
    "may_have_run",
]
