"""A program that is only checked, by `npm run types`: the types hold what they promise, and refuse what is marked."""

from typing import Any, Literal

from recourse_client import FailureCode, Recourse, RecourseError, ToolResult, ToolSuccess

recourse = Recourse("http://127.0.0.1:8080", api_key="k")


def natively() -> list[ToolSuccess]:
    answer = recourse.execute([{"id": 1, "name": "echo", "arguments": {"text": "x"}}], session_id="s", deadline=1.5)
    first: ToolResult = answer.results[0]
    if first["outcome"] == "success":
        return [first]
    if first["outcome"] == "pending":
        state: Literal["queued", "waiting_for_approval", "running"] = first["pending"]["state"]
        return [state]  # pyright: ignore
    if first["outcome"] == "checked":
        would: Literal["run", "ask", "refuse", "retry", "replay"] = first["dry_run"]["would"]
        return [would]  # pyright: ignore
    code: FailureCode = first["error"]["code"]
    wrong: Literal["no_such_code"] = code  # pyright: ignore
    first["no_such_member"]  # pyright: ignore
    return []


def in_chat(message: object) -> list[Any]:
    return recourse.session("s").execute(message, format="openai-chat").messages


def pending() -> list[ToolResult]:
    answer = recourse.execute([], respond_async=0.5)
    recourse.execute([], wait="all").status
    recourse.execute([], wait="any")  # pyright: ignore
    recourse.execute([], wait="all", on_approval=lambda waiting: print(waiting["pending"]["approval"]))
    recourse.execute([], wait="all", on_approval=lambda waiting: print(waiting["no_such_member"]))  # pyright: ignore
    return recourse.results(answer.request_id, wait=25).results + recourse.cancel(answer.request_id, index=0).results


def as_text() -> list[str]:
    return recourse.execute([], format="text").messages


def raw(message: object) -> Any:
    return recourse.execute(message, format="vapi", raw=True).body


def limits() -> float:
    return recourse.tools()[0]["limits"]["timeout_ms"]


def failing(error: RecourseError) -> float | None:
    return error.retry_after


recourse.execute({}, format="smoke signals")  # pyright: ignore
recourse.execute([{"name": 1}])  # pyright: ignore
recourse.execute([], dead_line=1)  # pyright: ignore
recourse.execute([]).messages  # pyright: ignore
