"""The loop that the stand-ins for agent frameworks share: a model behind OpenAI's chat API, and tools that are functions."""

import json
import os
from urllib.request import Request, urlopen


def run_loop(question, tools, call):
    """`tools` are name, description and schema; `call(name, arguments, call_id, step)` gives what the model reads."""
    listed = [
        {"type": "function", "function": {"name": name, "description": description, "parameters": schema}}
        for name, description, schema in tools
    ]
    messages = [{"role": "user", "content": question}]
    for step in range(1, 10):
        body = json.dumps({"model": "scripted", "messages": messages, "tools": listed}).encode()
        url = f"{os.environ['OPENAI_BASE_URL']}/chat/completions"
        headers = {"Content-Type": "application/json", "Authorization": f"Bearer {os.environ['OPENAI_API_KEY']}"}
        with urlopen(Request(url, body, headers)) as answer:
            message = json.load(answer)["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        for made in message["tool_calls"]:
            text = call(made["function"]["name"], made["function"]["arguments"], made["id"], step)
            messages.append({"role": "tool", "tool_call_id": made["id"], "content": text})
    raise RuntimeError("no answer")
