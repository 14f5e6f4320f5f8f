"""As much of the OpenAI Agents SDK as examples/python uses: a tool gets its context and the arguments as a text."""

import asyncio
from types import SimpleNamespace

from chat_loop import run_loop


class FunctionTool:
    def __init__(self, name, description, params_json_schema, on_invoke_tool, strict_json_schema=True):
        self.listed, self.on_invoke_tool = (name, description, params_json_schema), on_invoke_tool


class Agent:
    def __init__(self, *, name, model, tools):
        self.tools = {tool.listed[0]: tool for tool in tools}


class Runner:
    @staticmethod
    def run_sync(agent, question):
        def call(name, arguments, call_id, step):
            context = SimpleNamespace(tool_call_id=call_id, usage=SimpleNamespace(requests=step))
            return asyncio.run(agent.tools[name].on_invoke_tool(context, arguments))

        return SimpleNamespace(final_output=run_loop(question, [tool.listed for tool in agent.tools.values()], call))
