"""An agent loop in plain Python: a model behind OpenAI's API, its tools behind Recourse. Needs only `requests`."""

import os
import sys
import uuid

import requests
from requests.adapters import HTTPAdapter
from urllib3.util import Retry

RECOURSE_URL = os.environ.get("RECOURSE_URL", "http://127.0.0.1:8080")
RECOURSE_KEY = os.environ.get("RECOURSE_API_KEY", "")
MODEL_URL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
MODEL_KEY = os.environ.get("OPENAI_API_KEY", "")
MODEL = os.environ.get("OPENAI_MODEL", "gpt-5.6-luna")

recourse = requests.Session()
if RECOURSE_KEY:
    recourse.headers["Authorization"] = f"Bearer {RECOURSE_KEY}"
# 4xx: the request is wrong. A call that failed is a 200, and the model's to read.
recourse.hooks["response"].append(lambda answer, **_: answer.raise_for_status())
# Lost connections too, and POST too: every batch has a key, so that a repeat runs nothing twice.
retry = Retry(total=8, backoff_factor=0.2, status_forcelist=[408, 409, 429, 502, 503, 504], allowed_methods=None)
recourse.mount(RECOURSE_URL, HTTPAdapter(max_retries=retry))


def execute(message, session_id):
    """The message as the model gave it, in; the messages that answer each of its calls, out."""
    return recourse.post(
        f"{RECOURSE_URL}/tool-calls",
        params={"format": "openai-chat", "raw": "true", "session_id": session_id, "deadline_ms": 60_000},
        headers={"Idempotency-Key": str(uuid.uuid4())},
        json=message,
        timeout=(5, 65),
    ).json()


def ask_model(messages, tools):
    headers = {"Authorization": f"Bearer {MODEL_KEY}"}
    body = {"model": MODEL, "messages": messages, "tools": tools}
    answer = requests.post(f"{MODEL_URL}/chat/completions", headers=headers, json=body, timeout=120)
    answer.raise_for_status()
    return answer.json()["choices"][0]["message"]


def run(question, max_steps=10):
    session_id = f"agent-{uuid.uuid4()}"  # retry budgets are kept under it
    tools = recourse.get(f"{RECOURSE_URL}/tools", params={"format": "openai-chat"}, timeout=10).json()["tools"]
    messages = [{"role": "user", "content": question}]
    for _ in range(max_steps):
        message = ask_model(messages, tools)
        if not message.get("tool_calls"):
            return message["content"]
        messages += [message, *execute(message, session_id)]
    raise SystemExit(f"No answer after {max_steps} steps.")


if __name__ == "__main__":
    print(run(" ".join(sys.argv[1:]) or "What do the notes begin with?"))
