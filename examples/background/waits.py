"""An agent that waits: calls that outlive their request are hidden, and the model reads their final results."""

import json
import os
import sys
from urllib.request import Request, urlopen
from uuid import uuid4

from recourse_client import Recourse

MODEL_URL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
MODEL_KEY = os.environ.get("OPENAI_API_KEY", "")
MODEL = os.environ.get("OPENAI_MODEL", "gpt-5.6-luna")


def ask_model(messages, tools):
    body = json.dumps({"model": MODEL, "messages": messages, "tools": tools}).encode()
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {MODEL_KEY}"}
    with urlopen(Request(f"{MODEL_URL}/chat/completions", body, headers), timeout=120) as answer:
        return json.load(answer)["choices"][0]["message"]


def run(recourse, question, max_steps=10):
    session = recourse.session(f"agent-{uuid4()}")  # retry budgets are kept under it
    tools = recourse.tools("openai-chat")
    messages = [{"role": "user", "content": question}]
    for _ in range(max_steps):
        message = ask_model(messages, tools)
        if not message.get("tool_calls"):
            return message["content"]
        # An hour for builds, renders and deployments; a call that ends at once is answered at once.
        turn = len(messages)
        answer = session.answer_message(message, format="openai-chat", turn=turn, wait="all", timeout=3600)
        messages += [message, *answer.messages]
    raise SystemExit(f"No answer after {max_steps} steps.")


if __name__ == "__main__":
    url = os.environ.get("RECOURSE_URL", "http://127.0.0.1:8080")
    with Recourse(url, api_key=os.environ.get("RECOURSE_API_KEY") or None) as client:
        print(run(client, " ".join(sys.argv[1:]) or "Deploy it."))
