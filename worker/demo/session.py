"""Pure. A short agent session for `ares-worker demo`: two rounds, one completed and one failed."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

STREAM: Final = "demo-session"

SEARCHED: Final = "rate limit"
"""What the demo recalls; it stands in a decision of the first round."""

Step = tuple[str, Mapping[str, Any]]

_TASK: Final = "Add a rate limit to the login endpoint, see issue #142"
_EDIT: Final = {
    "file_path": "app/login.py",
    "old_string": "def login(request):\n    return check(request)\n",
    "new_string": "limiter = TokenBucket(rate=5, per=60)\n\n\n"
    "def login(request):\n    limiter.take(request.ip)\n    return check(request)\n",
}
_PASSED: Final = "tests/test_login.py ............ [100%]\n\n12 passed in 0.41s\n"
_FAILED: Final = (
    "FAILED tests/test_deploy.py::test_staging_answers - ConnectionError: 10.0.3.17:8443\n"
    "1 failed, 12 passed in 2.03s\n"
)


def _call(call: str, tool: str, args: Mapping[str, Any], output: str, code: int) -> list[Step]:
    return [
        ("tool.call.started", {"tool_call_id": call, "tool_name": tool, "args": args}),
        (
            "tool.call.completed",
            {"tool_call_id": call, "tool_name": tool, "output": output, "exit_code": code},
        ),
    ]


SESSION: Final[tuple[Step, ...]] = (
    ("session.created", {"session_id": STREAM, "agent": "demo"}),
    ("task.created", {"task": _TASK}),
    ("message.added", {"role": "user", "content": _TASK}),
    (
        "message.added",
        {
            "role": "assistant",
            "content": "Decision: the rate limit is a token bucket per client address, because a "
            "fixed window lets twice the rate through at its edge.",
        },
    ),
    *_call("c1", "edit", _EDIT, "The file app/login.py has been updated.", 0),
    *_call("c2", "bash", {"command": "pytest -q tests/test_login.py"}, _PASSED, 0),
    (
        "message.added",
        {
            "role": "assistant",
            "content": "The limit works and its tests pass.\n"
            "TODO: move the limit of 5 a minute into the settings.",
        },
    ),
    ("task.completed", {"task": _TASK, "result": "Login takes 5 tries a minute and address."}),
    ("task.created", {"task": "Try the rate limit on staging"}),
    *_call("c3", "bash", {"command": "pytest -q tests"}, _FAILED, 1),
    ("task.failed", {"error": "staging at 10.0.3.17:8443 doesn't answer"}),
)
