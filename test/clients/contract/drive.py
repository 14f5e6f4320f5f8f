"""Runs cases with the Python client: a line of JSON in for each, a line of JSON out when it has ended, in any order."""

import copy
import dataclasses
import json
import sys
import threading
import time
import traceback
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[3] / "clients/python/src"))

from recourse_client import Recourse, RecourseError, is_fatal, is_retryable, may_have_run  # noqa: E402
from recourse_client._judge import to_retry_after, to_wait  # noqa: E402

PRINTING = threading.Lock()


def seconds(options):
    """Options as the cases have them, in milliseconds, as the client wants them."""
    named = {
        "deadline_ms": "deadline",
        "timeout_ms": "timeout",
        "connect_timeout_ms": "connect_timeout",
        "wait_ms": "wait",
    }
    if "respond_async" in options:
        options = {**options, "respond_async": options["respond_async"]["wait_ms"] / 1000}
    return {
        named.get(name, name): value / 1000 if name in named and value is not None else value
        for name, value in options.items()
    }


def answer_call(session, call):
    try:
        answer = session.answer_call(call["name"], call["arguments"], call_id=call["id"], round_id=call.get("round_id"))
        return {"text": answer.text, "is_error": answer.is_error}
    except RecourseError as error:
        return {"raises": error.code}


def perform(recourse, operation):
    options = seconds(operation.get("options", {}))
    target = recourse.session(operation["session"]) if "session" in operation else recourse
    what = operation["do"]
    if what == "execute":
        answer = target.execute(operation["calls"], **options)
        said = dataclasses.asdict(answer)
        if "results" in said:
            said["retryable"] = [is_retryable(result) for result in answer.results]
            said["fatal"] = [is_fatal(result) for result in answer.results]
            said["may_have_run"] = [may_have_run(result) for result in answer.results]
        return said
    if what == "answer_calls":
        return [answer_call(target, call) for call in operation["calls"]]
    if what == "stream":
        return {"events": list(target.stream(operation["calls"], **options))}
    if what == "tools":
        format = options.pop("format", "native")
        return recourse.tools(format, **options)
    if what == "recover":
        recovered = recourse.recover(operation["request_id"], **options)
        return None if recovered is None else dataclasses.asdict(recovered)
    if what in ("results", "cancel"):
        return dataclasses.asdict(getattr(recourse, what)(operation["request_id"], **options))
    if what == "reset_budgets":
        return target.reset_budgets(operation.get("tool"), **options)
    return {"view": target.view, "end": target.end}[what](**options)


def printed(error):
    """Everything that a log could print of what was raised; of an operation with the variables of the client's frames."""
    # Where it is refused, the key is an argument.
    kept = traceback.TracebackException.from_exception(error, capture_locals=isinstance(error, RecourseError))
    # This file's own frames have the key in a variable, as those of any user.
    for one in [kept, kept.__cause__, kept.__context__]:
        if one is not None:
            one.stack = traceback.StackSummary.from_list([frame for frame in one.stack if frame.filename != __file__])
    return "".join([*kept.format(chain=True), repr(error), repr(vars(error)), repr(getattr(error, "__cause__", None))])


def attempt(perform_it):
    started_at = time.monotonic()
    try:
        outcome = {"returns": perform_it()}
    except RecourseError as error:
        said = copy.copy(vars(error))
        wait = said.pop("retry_after")
        said["retry_after_ms"] = None if wait is None else round(wait * 1000)
        outcome = {"raises": {**said, "message": str(error)}, "printed": printed(error)}
    except (TypeError, ValueError) as error:
        outcome = {"refuses": True, "printed": printed(error)}
    return {**outcome, "elapsed_ms": (time.monotonic() - started_at) * 1000}


def run(case):
    made = {}
    if "retry_after" in case:
        wait = to_retry_after(case["retry_after"], case["now_ms"] / 1000)
        return [{"returns": None if wait is None else round(wait * 1000)}]
    if "wait" in case:
        attempts, retry_after_ms, random = case["wait"]
        told = None if retry_after_ms is None else retry_after_ms / 1000
        return [{"returns": round(to_wait(attempts, told, random) * 1000)}]
    opened = attempt(lambda: made.setdefault("client", Recourse(case["url"], **seconds(case.get("client", {})))))
    if "client" not in made:
        return [opened]
    with made["client"] as recourse:
        outcomes = [attempt(lambda: perform(recourse, operation)) for operation in case["operations"]]
        outcomes[0]["client"] = f"{recourse!r} {recourse!s} {vars(recourse)!r} {recourse.session('s')!r}"
        return outcomes


def answer(line):
    case = json.loads(line)
    try:
        said = {"id": case["id"], "outcomes": run(case)}
    except BaseException:
        said = {"id": case["id"], "broken": traceback.format_exc()}
    with PRINTING:
        print(json.dumps(said), flush=True)


def main():
    threads = []
    for line in sys.stdin:
        threads.append(threading.Thread(target=answer, args=[line]))
        threads[-1].start()
    for thread in threads:
        thread.join()


main()
