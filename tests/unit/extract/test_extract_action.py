"""What the round was for, in one word, and in one line."""

from __future__ import annotations

import pytest

EDIT = {"file_path": "a.py", "old_string": "x", "new_string": "y"}

WITH_CHANGES = [
    ("fix the flaky upload test", "fix"),
    ("The menu says Guest but I am logged in. We should show the name", "fix"),
    ("login crashes with an exception when the name is empty", "fix"),
    ("please address the PR feedback", "fix"),
    ("run the linter and make sure it passes", "fix"),
    ("add a retry to the client", "implement"),
    ("can you add some tests for the parser?", "implement"),
    ("let's completely drop the tide command", "implement"),
    ("rename fetch to load", "implement"),
    ("修复登录失败的问题", "fix"),
    ("添加导出功能", "implement"),
    ("TypeError: cannot read properties of undefined", "fix"),
    ("tests are red on main", "fix"),
    ("the button does nothing when I click it", "fix"),
    ("make the linter happy", "fix"),
    ("get rid of the deprecation warnings", "fix"),
    ("The date is shown in UTC instead of local time", "fix"),
    ("translate the readme to German", "implement"),
    ("make the retry count configurable", "implement"),
    ("port the errors module to the new API", "implement"),
]
WITHOUT_CHANGES = [
    ("can you have a look at these comments?", "review"),
    ("why does the build break?", "review"),
    ("does it read the tide store?", "review"),
    ("please propose an implementation plan", "plan"),
    ("为什么会失败？", "review"),
    ("explain the architecture of the worker", "review"),
    ("review the design of the cache", "review"),
    ("run the tests", "review"),
    ("how would you implement offline mode?", "plan"),
    ("format the code", "implement"),
]


@pytest.mark.parametrize(("task", "action"), WITH_CHANGES)
def test_a_round_with_changes_fixes_or_implements(script, task, action) -> None:
    script.user(task).call("Edit", EDIT, "The file a.py has been updated.")

    assert script.done().extract().action == action


@pytest.mark.parametrize(("task", "action"), WITHOUT_CHANGES)
def test_a_round_without_changes_reviews_or_plans(script, task, action) -> None:
    assert script.user(task).assistant("Here it is.").done().extract().action == action


def test_a_round_that_only_writes_plans_plans(script) -> None:
    script.user("simplify the design").call(
        "Write", {"file_path": "docs/plans/sync.md", "content": "x"}, "File created successfully"
    )

    assert script.done().extract().action == "plan"


def test_a_spec_that_is_a_test_is_no_plan(script) -> None:
    script.user("add a spec for the user").call(
        "Write", {"file_path": "spec/user_spec.rb", "content": "x"}, "File created successfully"
    )

    assert script.done().extract().action == "implement"


def test_creating_tickets_is_planning(script) -> None:
    script.user("create the beads").shell("bd create --title='x'", "Created issue: a-1", 0)

    assert script.done().extract().action == "plan"


def test_committing_and_pushing_is_implementing(script) -> None:
    script.user("ok commit and push").shell("git commit -m x && git push", "[main 1a2b3c4] x", 0)

    assert script.done().extract().action == "implement"


@pytest.mark.parametrize(
    ("body", "action"),
    [
        ("We can publish the tables under a CC0 licence.", "implement"),
        ("The parser raises an error for empty input.", "fix"),
    ],
)
def test_an_issue_is_what_its_text_says_not_its_frame(script, body, action) -> None:
    script.user(
        f"Please fix the following issue.\n\n# Problem Statement\n{body}\n\nIMPORTANT: do it"
    )
    script.call("Edit", EDIT, "The file a.py has been updated.")

    assert script.done().extract().action == action


def test_the_summary_names_task_and_result_on_one_line(script) -> None:
    script.user("Add a retry\nto the client")

    found = script.done("Done.\n\nThe client retries **three** times.", "Add a retry to the client")

    assert found.extract().summary == "Add a retry to the client: The client retries three times."


def test_the_summary_is_never_longer_than_200_characters(script) -> None:
    summary = script.done("It works well " * 90, "Add the thing " * 80).extract().summary

    assert len(summary) <= 200
    assert "…" in summary


def test_a_failed_round_says_why(script) -> None:
    script.user("fix tests").event(
        "task.failed", {"task": "fix tests", "error": "Request interrupted by user"}
    )

    found = script.extract()

    assert (found.outcome, found.error) == ("failed", "Request interrupted by user")
    assert found.summary == "fix tests: failed: Request interrupted by user"


def test_a_completed_round_admits_what_it_could_not_do(script) -> None:
    script.user("fix it").assistant("I was unable to edit `a.py`. Sorry.")

    found = script.done("I was unable to edit `a.py`. Sorry.").extract()

    assert (found.outcome, found.error) == ("completed", "I was unable to edit `a.py`.")


def test_a_round_without_words_still_has_a_summary(script) -> None:
    found = script.event("llm.call", {"model": "m"}).extract()

    assert found.outcome == "unfinished"
    assert found.summary == "0 messages, 0 tool calls (unfinished)"


def test_a_result_that_is_a_diff_is_summed_up_by_its_files(script) -> None:
    diff = (
        "\ndiff --git a/src/a.py b/src/a.py\n--- a/src/a.py\n+++ b/src/a.py\n@@ -1 +1 @@\n-x\n+y\n"
    )

    assert script.done(diff, task="Round the number").extract().summary == (
        "Round the number: Changed src/a.py"
    )


def test_a_table_is_no_line_to_sum_up_with(script) -> None:
    script.assistant(
        "| # | Status |\n|---|---|\n| 1 | open |\n\nThe only open point was the slice."
    )

    found = script.event("task.completed", {"task": "Address it"}).extract()

    assert found.summary == "Address it: The only open point was the slice."
