"""The formats of messages and catalogues, by the names that the service has for them."""

from __future__ import annotations

from typing import Literal, Union

ConversationFormat = Literal[
    "openai-chat",
    "openai-responses",
    "openai-realtime",
    "anthropic",
    "gemini",
    "bedrock",
    "mistral",
    "cohere",
    "ollama",
    "ai-sdk",
    "langchain",
]
"""The formats in which a conversation goes on."""

ProviderFormat = Union[ConversationFormat, Literal["vapi"]]
"""A message of a model as its provider's API gave it."""

MessageFormat = Union[ProviderFormat, Literal["text"]]
"""The formats of providers, and plain `text` for calls of the service's own form."""

CatalogueFormat = Literal[
    "openai-chat",
    "openai-responses",
    "openai-realtime",
    "anthropic",
    "gemini",
    "bedrock",
    "mistral",
    "cohere",
    "ollama",
    "ai-sdk",
    "mcp",
]
"""The tools as a request to the provider lists them."""
