"""An agent of the OpenAI Agents SDK whose tools are behind Recourse."""

import asyncio
import os
import sys
from uuid import uuid4

from agents import Agent, FunctionTool, Runner
from recourse_client import Recourse


def to_tools(recourse, session):
    """The service's tools, executed in the session. The model always reads an answer: see `answer_call`."""

    def to_tool(name, description, schema):
        async def call(context, arguments):
            # The calls of a turn are one round of the budget.
            ids = {"call_id": context.tool_call_id, "round_id": str(context.usage.requests)}
            return (await asyncio.to_thread(session.answer_call, name, arguments, **ids)).text

        return FunctionTool(name, description, schema, call, strict_json_schema=False)

    return [to_tool(tool["name"], tool["description"], tool["parameters"]) for tool in recourse.tools("openai-responses")]


def run(recourse, question):
    session = recourse.session(f"agent-{uuid4()}")  # retry budgets are kept under it
    model = os.environ.get("OPENAI_MODEL", "gpt-5.6-luna")
    agent = Agent(name="Agent", model=model, tools=to_tools(recourse, session))
    return Runner.run_sync(agent, question).final_output


if __name__ == "__main__":
    url = os.environ.get("RECOURSE_URL", "http://127.0.0.1:8080")
    with Recourse(url, api_key=os.environ.get("RECOURSE_API_KEY") or None) as client:
        print(run(client, " ".join(sys.argv[1:]) or "What do the notes begin with?"))
