"""An agent of pydantic-ai whose tools are behind Recourse."""

import os
import sys
from uuid import uuid4

from pydantic_ai import Agent, RunContext, Tool
from recourse_client import Recourse


def to_tools(recourse, session):
    """The service's tools, executed in the session. The model always reads an answer: see `answer_call`."""

    def to_tool(name, description, schema):
        def call(context: RunContext[None], **arguments):
            # The calls of a step are one round of the budget.
            round_id = str(context.run_step)
            return session.answer_call(name, arguments, call_id=context.tool_call_id, round_id=round_id).text

        return Tool.from_schema(call, name=name, description=description, json_schema=schema, takes_ctx=True)

    listed = [tool["function"] for tool in recourse.tools("openai-chat")]
    return [to_tool(tool["name"], tool["description"], tool["parameters"]) for tool in listed]


def run(recourse, question):
    session = recourse.session(f"agent-{uuid4()}")  # retry budgets are kept under it
    agent = Agent(os.environ.get("PYDANTIC_AI_MODEL", "openai:gpt-5.6-luna"), tools=to_tools(recourse, session))
    return agent.run_sync(question).output


if __name__ == "__main__":
    url = os.environ.get("RECOURSE_URL", "http://127.0.0.1:8080")
    with Recourse(url, api_key=os.environ.get("RECOURSE_API_KEY") or None) as client:
        print(run(client, " ".join(sys.argv[1:]) or "What do the notes begin with?"))
