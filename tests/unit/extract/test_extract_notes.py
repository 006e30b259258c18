"""Decisions and open ends: verbatim sentences, by cue words of several languages."""

from __future__ import annotations

import pytest

USER_DECIDES = [
    "let's completely remove the legacy export",
    "Instead, I'd like one comparison to the whole value.",
    "The server must never retry a payment.",
    "We should use the username if there is no name",
    "Please don't touch the migrations folder.",
    "Go with option B for the queue.",
    "i no longer use the old hook",
    "keep the public API as it is",
    "We decided to store times in UTC.",
    "from now on all ids are UUIDs",
    "我们决定改用 PostgreSQL。",
    "接口必须保持向后兼容。",
    "Please keep backwards compatibility with v1 clients.",
    "no need to support python 3.8 anymore",
    "we don't need a cache for this",
    "drop support for node 16",
    "make sure it works offline, no network calls at all",
    "should be opt-in via a flag, default off",
    "The default should be 30 seconds.",
    "the limit is 100 requests per minute per user",
    "the user table gets a unique constraint on email",
    "each order has exactly one customer",
    "it's fine to break the old cli flags",
    "rename it, we use camelCase everywhere",
    "no mocks in integration tests please",
    "one file per module",
    "Non-goals: windows support, GUI.",
    "the CLI stays stateless",
    "ok do 1 and 3, skip 2",
    "leave the tests alone",
    "不要改公共接口",
    "保留旧接口，下个版本再删。",
    "默认关闭，通过配置开启。",
    "只改 src 目录下的文件。",
    "就用方案二吧。",
    "不需要支持旧版本了。",
]
ASSISTANT_DECIDES = [
    "I'll remove only the stale hook, leaving the others untouched.",
    "I’m going to make the shared file fail closed instead of open.",
    "I put the constants in the core package rather than in each plugin.",
    "Deleting branches is now a non-goal.",
    "I chose an exclusive lock because two writers corrupt the index.",
    "We'll store the hash instead of the raw token.",
    "To avoid a circular import, I put the types in `common.py`.",
    "I used a weak map instead of a map so that entries don't leak.",
    "The `id` field is now the single source of truth.",
    "Data model: an Order has many LineItems.",
    "I intentionally did not touch the generated files.",
    "The worker stays stateless; all state lives in Redis.",
    "为了保持兼容，我保留了旧接口。",
    "我把类型放在 common.py，避免循环依赖。",
]
UNDECIDED = [
    ("user", "can we use sqlite instead?"),
    ("user", "let's see what the tests say"),
    ("user", "I don't remember such a switch"),
    ("user", "what should happen when the file is missing?"),
    ("user", "fix tests"),
    ("assistant", "Let me check the imports."),
    ("assistant", "I'll run the suite to see where it stands."),
    ("assistant", "We should see 345 after the change."),
    ("assistant", "I'm checking the status, then I'll commit only the config."),
    ("user", "this must be a bug in the parser"),
    ("user", "I need to go, continue without me"),
    ("user", "I get: TypeError: must be str, not int"),
    ("user", "it always returns null"),
    ("user", "the default is 30 but it uses 10"),
    ("user", "make sure the tests don't fail"),
    ("user", "the limit is 10 but I get 20"),
    ("assistant", "Now I'm updating only the ignored override on this machine."),
    ("assistant", "The error says `must be str, not int`."),
    ("assistant", "The old code used a list instead of a set."),
    ("user", "不要担心"),
    ("assistant", "我先看看代码。"),
]
OPEN_ENDS = [
    "The branch still needs to be merged.",
    "You will need to rotate the key afterwards.",
    "I did not run the full test suite.",
    "I was unable to edit the generated file.",
    "Open question: whether the retry should be capped.",
    "One caveat: old clients keep the previous name.",
    "The lint error is pre-existing.",
    "TODO: verify the two names with the author",
    "后续需要补充集成测试。",
    "You will have to restart the server.",
    "I haven't tested this on Windows.",
    "The old endpoint remains until all clients have migrated.",
    "It doesn't support Windows paths yet.",
    "To roll back, revert the commit and run `migrate down`.",
    "Two tests are still failing: test_a and test_b.",
    "One test remains flaky.",
    "The remaining work is the CLI.",
    "Remaining: error messages and docs.",
    "This is a temporary workaround until upstream fixes the bug.",
    "The failing check is unrelated to this change and pre-existing.",
    "I left the retry logic for a separate change.",
    "Pagination is not implemented.",
    "Please rotate the leaked key.",
    "Make sure to run `npm install` before starting.",
    "目前不支持 Windows。",
    "后续可以优化查询性能。",
    "我没有运行端到端测试。",
]
NO_OPEN_ENDS = [
    "All tests pass.",
    "No further changes needed.",
    "The TODO comment was removed.",
    "The remaining tests pass.",
    "This no longer needs a restart.",
    "I fixed the open question by adding a note.",
    "The button needs to be clicked twice to reproduce the bug, which is what I fixed.",
    "The request needs to be authenticated, so the client sends the token.",
    "I could not find any other usages.",
    "It still supports the old format.",
    "Remember to consider the limits of the data.",
    "没有遗留问题。",
    "不再需要重启。",
]


@pytest.mark.parametrize("sentence", USER_DECIDES)
def test_a_directive_of_the_user_is_a_decision(script, sentence) -> None:
    assert script.user(sentence).done().extract().decisions == (sentence,)


@pytest.mark.parametrize("sentence", ASSISTANT_DECIDES)
def test_a_choice_of_the_assistant_is_a_decision(script, sentence) -> None:
    assert script.user("go on").assistant(sentence).done().extract().decisions == (sentence,)


@pytest.mark.parametrize(("role", "sentence"), UNDECIDED)
def test_questions_and_narration_decide_nothing(script, role, sentence) -> None:
    (script.user if role == "user" else script.assistant)(sentence)

    assert script.done().extract().decisions == ()


@pytest.mark.parametrize("sentence", OPEN_ENDS)
def test_an_open_end_in_the_last_words_is_a_todo(script, sentence) -> None:
    script.user("go on").assistant(f"It works. {sentence}")

    assert script.done().extract().todos == (sentence,)


def test_plans_on_the_way_are_no_open_ends(script) -> None:
    script.user("go on").assistant("I still need to look at the parser.").assistant("All done.")

    assert script.done().extract().todos == ()


def test_a_list_of_next_steps_is_open_item_by_item(script) -> None:
    script.user("go on").assistant(
        "Done.\n\n## Next steps\n\n1. Update the chart\n2. Tell the team"
    )

    assert script.done().extract().todos == ("Update the chart", "Tell the team")


def test_answers_to_the_agents_questions_are_decisions(script) -> None:
    script.call("ask_user", {"question": "Which?"}, "User selected: Keep both tables")
    output = 'User has answered your questions: "Which rig?"="No rig", "Tools?"="Credo only".'
    script.call("AskUserQuestion", {"questions": []}, output)

    assert script.done().extract().decisions == ("Keep both tables", "No rig", "Credo only")


def test_what_a_colon_introduces_is_quoted(script) -> None:
    script.user("I got this feedback:\n\nThe parser must never accept tabs.")

    assert script.done().extract().decisions == ()


def test_a_prompt_around_an_issue_decides_nothing(script) -> None:
    script.user(
        "Please solve this issue: it fails\n\n## Important Rules\n\n1. You must never ask for help."
    )

    assert script.done().extract().decisions == ()


def test_code_tool_output_and_injected_text_are_not_searched(script) -> None:
    script.user("<system-reminder>You must never do it.</system-reminder>go on")
    script.call("Read", {"file_path": "a"}, "TODO: we decided to keep it")
    script.assistant("```\nI'll only remove the hook, leaving the rest\n```")

    found = script.done().extract()

    assert (found.decisions, found.todos) == ((), ())


def test_a_marker_in_a_code_block_counts(script) -> None:
    script.user("go on").assistant(
        "Final state:\n```go\n// TODO: verify with the author\nconst a = 1\n```"
    )

    assert script.done().extract().todos == ("// TODO: verify with the author",)


def test_wrapped_lines_are_one_sentence_and_nothing_is_cut(script) -> None:
    long = "The server must never " + "retry and " * 60 + "stop."
    script.user(long.replace(" and ", " and\n  ", 3))

    assert script.done().extract().decisions == (long,)


def test_a_sentence_said_twice_is_kept_once(script) -> None:
    script.user("We decided to use UTC.").user("We decided to use UTC.")

    assert script.done(task="We decided to use UTC.").extract().decisions == (
        "We decided to use UTC.",
    )


@pytest.mark.parametrize("sentence", NO_OPEN_ENDS)
def test_what_is_settled_is_no_open_end(script, sentence) -> None:
    assert script.user("go on").assistant(sentence).done(sentence).extract().todos == ()


def test_what_the_assistant_does_next_is_no_open_end(script) -> None:
    script.user("go on").assistant("下一步我会更新测试。").assistant(
        "I still need to look at b.py."
    )

    assert script.assistant("Done.").done().extract().todos == ()


DEMAND = "You must never use tabs."


@pytest.mark.parametrize(
    "text",
    [
        f"<ide_diagnostics>{DEMAND}</ide_diagnostics>go on",
        f"<rules>{DEMAND}</rules>\n<user_query>go on</user_query>",
        f"<attachments><attachment id='1'>{DEMAND}</attachment></attachments>go on",
        f"<environment_details>\n{DEMAND}\n</environment_details>",
        f"[ERROR] You did not use a tool in your previous response! {DEMAND}",
        f"[execute_command for 'npm test'] Result:\n{DEMAND}",
        f"OBSERVATION:\n{DEMAND}",
        f"Here is a demonstration of how to correctly accomplish this task.\n{DEMAND}",
        f"I have *added these files to the chat* so you can go ahead and edit them.\n{DEMAND}",
        f"Please continue working on the task on whatever approach you think is suitable. {DEMAND}",
    ],
)
def test_what_a_program_put_into_a_message_decides_nothing(script, text) -> None:
    assert script.user(text).done().extract().decisions == ()


def test_what_a_user_says_in_refusing_a_call_is_the_users_word(script) -> None:
    refusal = (
        "The user doesn't want to proceed with this tool use. To tell you how to proceed, the user "
        "said:\nno, we should use the helper\n\nNote: The user's next message may be a correction."
    )
    script.user("go on").call("Edit", {"file_path": "a", "new_string": "x"}, refusal, is_error=True)
    refusal = "The user denied this operation.\n<feedback>\nDon't touch the tests.\n</feedback>"
    script.call("write_to_file", {"path": "a", "content": "x"}, refusal)

    assert script.done().extract().decisions == (
        "no, we should use the helper",
        "Don't touch the tests.",
    )


def test_a_users_list_of_demands_is_meant(script) -> None:
    script.user("Build it.\n\n## Constraints\n\n- Python 3.11\n- No network")
    script.user("规则：\n- 不要改公共接口")

    assert script.done().extract().decisions == ("Python 3.11", "No network", "不要改公共接口")


def test_a_line_that_introduces_others_is_no_note_itself(script) -> None:
    script.user("go with 2").assistant(
        "完成了。\n\n待办：\n- 监控指标\n\nNext steps:\n- Tell the team"
    )

    found = script.done().extract()

    assert (found.decisions, found.todos) == (("go with 2",), ("监控指标", "Tell the team"))
