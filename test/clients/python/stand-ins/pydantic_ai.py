"""As much of pydantic-ai as examples/python uses: functions of a schema get their arguments by name, and a context."""

import json
from types import SimpleNamespace
from typing import Generic, TypeVar

from chat_loop import run_loop

Deps = TypeVar("Deps")


class RunContext(Generic[Deps]):
    def __init__(self, tool_call_id, run_step):
        self.tool_call_id = tool_call_id
        self.run_step = run_step


class Tool:
    @classmethod
    def from_schema(cls, function, name, description, json_schema, takes_ctx=False):
        tool = cls()
        tool.function, tool.listed, tool.takes_ctx = function, (name, description, json_schema), takes_ctx
        return tool


class Agent:
    def __init__(self, model, *, tools):
        self.tools = {tool.listed[0]: tool for tool in tools}

    def run_sync(self, question):
        def call(name, arguments, call_id, step):
            return self.tools[name].function(RunContext(call_id, step), **json.loads(arguments))

        return SimpleNamespace(output=run_loop(question, [tool.listed for tool in self.tools.values()], call))
