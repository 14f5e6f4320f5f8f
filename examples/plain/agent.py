"""An agent loop in plain Python: a model behind OpenAI's API, its tools behind Recourse. Needs nothing but Python."""

import json
import os
import sys
import time
import uuid
from concurrent.futures import ThreadPoolExecutor
from email.utils import parsedate_to_datetime
from http.client import HTTPException
from urllib.parse import urlencode
from urllib.request import Request, urlopen

RECOURSE_URL = os.environ.get("RECOURSE_URL", "http://127.0.0.1:8080")
RECOURSE_KEY = os.environ.get("RECOURSE_API_KEY", "")
MODEL_URL = os.environ.get("OPENAI_BASE_URL", "https://api.openai.com/v1")
MODEL_KEY = os.environ.get("OPENAI_API_KEY", "")
MODEL = os.environ.get("OPENAI_MODEL", "gpt-5.6-luna")
LOST = "ERROR: answer_lost: '%s' may or may not have taken effect: its answer was lost. Check before calling it again."
AGAIN = (408, 409, 429, 502, 503, 504)


def ask(url, key, body=None, tries=1, timeout=120):
    """The JSON that answers a request, which is sent again if its answer is lost or the service refuses it for a moment."""
    headers = {"Content-Type": "application/json", "Authorization": f"Bearer {key}"}
    data = None if body is None else json.dumps(body).encode()
    for left in range(tries - 1, -1, -1):
        try:
            with urlopen(Request(url, data, headers), timeout=timeout) as answer:
                return json.load(answer)
        except (OSError, HTTPException) as error:
            asked = getattr(error, "headers", {}).get("Retry-After", "")
            wait = max(0.2 * 2 ** (tries - 1 - left), to_seconds(asked))
            if getattr(error, "code", 503) not in AGAIN or left == 0 or wait > timeout:
                raise
        time.sleep(wait)


def to_seconds(retry_after):
    """How long a Retry-After asks to wait: it is a number, or a date as proxies send it; 0 where it says neither."""
    try:
        return float(retry_after) if retry_after.isdigit() else parsedate_to_datetime(retry_after).timestamp() - time.time()
    except (TypeError, ValueError, OverflowError):
        return 0


class Session:
    """Has one call after the other executed, or side by side; the model reads an answer to each."""

    def __init__(self):
        self.id = f"agent-{uuid.uuid4()}"  # retry budgets are kept under it
        self.lost = {}  # calls that may have run, as they were sent: the same call again is asked for under the old id

    def answer(self, call, step):
        asked = json.dumps(call["function"], sort_keys=True)
        # Its id is the key of a call, the same for all tries: some servers count the ids anew in every message.
        sent = self.lost.pop(asked, {**call, "id": f"{call['id']} {step}"})
        named = {"format": "openai-chat", "raw": "true", "session_id": self.id, "round_id": step, "idempotency": "call_id"}
        url = f"{RECOURSE_URL}/tool-calls?{urlencode({**named, 'deadline_ms': 60_000})}"
        try:
            [message] = ask(url, RECOURSE_KEY, [sent], tries=4, timeout=65)
        except (OSError, HTTPException) as error:
            if getattr(error, "code", 504) not in AGAIN:
                raise  # The request is wrong, or the key: no model can mend it.
            self.lost[asked] = sent
            message = {"role": "tool", "content": LOST % call["function"]["name"]}
        return {**message, "tool_call_id": call["id"]}


def run(question, max_steps=10):
    session = Session()
    tools = ask(f"{RECOURSE_URL}/tools?format=openai-chat", RECOURSE_KEY, tries=8, timeout=10)["tools"]
    messages = [{"role": "user", "content": question}]
    for step in range(max_steps):
        body = {"model": MODEL, "messages": messages, "tools": tools}
        message = ask(f"{MODEL_URL}/chat/completions", MODEL_KEY, body)["choices"][0]["message"]
        messages.append(message)
        if not message.get("tool_calls"):
            return message["content"]
        with ThreadPoolExecutor() as threads:
            messages += threads.map(lambda call: session.answer(call, step), message["tool_calls"])
    raise SystemExit(f"No answer after {max_steps} steps.")


if __name__ == "__main__":
    print(run(" ".join(sys.argv[1:]) or "What do the notes begin with?"))
