"""An agent loop in plain Python: a model behind OpenAI's API, its tools behind Recourse. Needs nothing but Python."""

import json
import os
import sys
import time
import uuid
from http.client import HTTPException
from urllib.error import HTTPError
from urllib.parse import urlencode
from urllib.request import Request, urlopen

RECOURSE_URL = os.environ.get("RECOURSE_URL", "http://127.0.0.1:8080")
RECOURSE_KEY = os.environ.get("RECOURSE_API_KEY", "")
MODEL_URL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
MODEL_KEY = os.environ.get("OPENAI_API_KEY", "")
MODEL = os.environ.get("OPENAI_MODEL", "gpt-5.6-luna")
AGAIN = (408, 409, 429, 502, 503, 504)


def ask(url, key, body=None, headers=None, tries=1, timeout=120):
    """The JSON that answers a request. It is sent again where that can help: lost, or refused for the moment."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}", **(headers or {})}
    data = None if body is None else json.dumps(body).encode()
    for left in range(tries - 1, -1, -1):
        wait = 0.2 * 2 ** (tries - 1 - left)
        try:
            with urlopen(Request(url, data, headers), timeout=timeout) as answer:
                return json.load(answer)
        except HTTPError as refused:
            # Other 4xx: the request is wrong. A call that failed is a 200, and the model's to read.
            if refused.code not in AGAIN or left == 0:
                raise
            asked = refused.headers.get("Retry-After", "")
            wait = max(wait, int(asked)) if asked.isdigit() else wait
        except (OSError, HTTPException):
            if left == 0:
                raise
        time.sleep(wait)


def execute(message, session_id):
    """The message as the model gave it, in; the messages that answer each of its calls, out."""
    query = urlencode({"format": "openai-chat", "raw": "true", "session_id": session_id, "deadline_ms": 60_000})
    # One key for all tries: a repeat runs nothing twice.
    headers = {"Idempotency-Key": str(uuid.uuid4())}
    return ask(f"{RECOURSE_URL}/tool-calls?{query}", RECOURSE_KEY, message, headers, tries=8, timeout=65)


def run(question, max_steps=10):
    session_id = f"agent-{uuid.uuid4()}"  # retry budgets are kept under it
    tools = ask(f"{RECOURSE_URL}/tools?format=openai-chat", RECOURSE_KEY, tries=8, timeout=10)["tools"]
    messages = [{"role": "user", "content": question}]
    for _ in range(max_steps):
        body = {"model": MODEL, "messages": messages, "tools": tools}
        message = ask(f"{MODEL_URL}/chat/completions", MODEL_KEY, body)["choices"][0]["message"]
        if not message.get("tool_calls"):
            return message["content"]
        messages += [message, *execute(message, session_id)]
    raise SystemExit(f"No answer after {max_steps} steps.")


if __name__ == "__main__":
    print(run(" ".join(sys.argv[1:]) or "What do the notes begin with?"))
