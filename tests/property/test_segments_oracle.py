"""The projection against a second, naive one that was written from the format's rules alone."""

from __future__ import annotations

import hashlib
import json
import os
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from archive.segments import project_archive

WITHHELD = "[archive: withheld]"
NO_ARGUMENTS = {"_archive_withheld": True}
MARKS = [
    "password",
    "passwd",
    "api_key",
    "apikey",
    "api-key",
    "access_token",
    "refresh_token",
    "secret",
    "authorization",
    "sk-",
    "ghp_",
    "github_pat_",
    "xoxb-",
    "akia",
    "eyjh",
    "bearer ",
    "private key",
]
PLAIN = set("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.:-")
OPEN = ("normal", "standard", "model_visible")
AFTER = "model_visible_after_redaction"
ALLOWED: dict[str, tuple[Any, ...]] = {
    "channel": ("final",),
    "content_class": ("user_text", "assistant_text", "tool_calls", "tool_results"),
    "sensitivity": OPEN,
    "retention": OPEN,
    "retention_class": OPEN,
    "disclosure": ("model_visible", AFTER),
    "disclosure_class": ("model_visible", AFTER),
}


def eligible(value: Any) -> bool:
    if not isinstance(value, dict):
        return True
    if "private" in value and value["private"] is not False:
        return False
    return all(
        isinstance(value[key], str) and value[key] in allowed
        for key, allowed in ALLOWED.items()
        if key in value
    )


def after_redaction(value: dict[str, Any]) -> bool:
    return value.get("disclosure_class", value.get("disclosure")) == AFTER


def all_eligible(value: Any) -> bool:
    if isinstance(value, dict):
        return eligible(value) and all(map(all_eligible, value.values()))
    return all(map(all_eligible, value)) if isinstance(value, list) else True


def credential(text: str) -> bool:
    low = "".join(chr(ord(c) + 32) if "A" <= c <= "Z" else c for c in text)
    return any(mark in low for mark in MARKS)


def screen(text: str, restricted: bool, redactor: Any) -> str:
    if restricted and redactor is None:
        return WITHHELD
    text = redactor(text) if redactor else text
    return WITHHELD if credential(text) else text


def valid(value: Any) -> bool:
    return (
        isinstance(value, str)
        and 1 <= len(value) <= 128
        and set(value) <= PLAIN
        and not credential(value)
    )


def kept_block(block: Any, role: str, restricted: bool, redactor: Any) -> Any:
    if not isinstance(block, dict) or not eligible(block):
        return None
    restricted = restricted or after_redaction(block)
    kind = block.get("type")
    if kind == "text" and isinstance(block.get("text"), str):
        return {"type": "text", "text": screen(block["text"], restricted, redactor)}
    if kind == "tool_use" and role == "assistant":
        if not valid(block.get("id")) or not valid(block.get("name")):
            return None
        found: Any = NO_ARGUMENTS
        checkpoint = block["name"] == "context_checkpoint"
        if redactor and not checkpoint and "input" in block and all_eligible(block["input"]):
            compact = json.dumps(
                block["input"], sort_keys=True, ensure_ascii=False, separators=(",", ":")
            )
            try:
                found = json.loads(screen(compact, restricted, redactor))
            except ValueError:
                found = NO_ARGUMENTS
        return {"type": "tool_use", "id": block["id"], "name": block["name"], "input": found}
    if kind == "tool_result" and role == "user" and valid(block.get("tool_use_id")):
        result = {"type": kind, "tool_use_id": block["tool_use_id"], "content": WITHHELD}
        if block.get("is_error") in (True, False) and isinstance(block["is_error"], bool):
            result["is_error"] = block["is_error"]
        content = block.get("content")
        if redactor and isinstance(content, str):
            result["content"] = screen(content, restricted, redactor)
        elif redactor and isinstance(content, list):
            result["content"] = [
                {"type": "text", "text": screen(one["text"], False, redactor)}
                for one in content
                if isinstance(one, dict)
                and eligible(one)
                and one.get("type") == "text"
                and isinstance(one.get("text"), str)
            ] or WITHHELD
        return result
    return None


def naive(messages: list[Any], redactor: Any) -> list[dict[str, Any]]:
    kept = []
    for index, message in enumerate(messages):
        if not isinstance(message, dict) or "_synaps_context" in message or not eligible(message):
            continue
        role, content = message.get("role"), message.get("content")
        if role not in ("user", "assistant"):
            continue
        restricted = after_redaction(message)
        if isinstance(content, str):
            out = {"role": role, "content": screen(content, restricted, redactor)}
            kept.append({"source_index": index, "block_indices": [], "message": out})
        elif isinstance(content, list):
            found = [kept_block(block, role, restricted, redactor) for block in content]
            places = [place for place, block in enumerate(found) if block is not None]
            if places:
                out = {"role": role, "content": [found[place] for place in places]}
                kept.append({"source_index": index, "block_indices": places, "message": out})
    return kept


def naive_digest(logical_id: str, count: int, kept: list[dict[str, Any]]) -> str:
    def h(*parts: bytes) -> str:
        return hashlib.sha256(b"".join(len(p).to_bytes(8, "big") + p for p in parts)).hexdigest()

    def compact(value: Any) -> str:
        return json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"))

    elements = ",".join(
        f'{{"source_index":{one["source_index"]},'
        f'"block_indices":{compact(one["block_indices"])},"message":{compact(one["message"])}}}'
        for one in kept
    )
    logical = h(logical_id.encode())
    return h(logical.encode(), count.to_bytes(8, "big"), f"[{elements}]".encode())


words = st.sampled_from(
    ["", "plain", " é\n", "my Secret", "task-7", "x AKIA", "private", "\u212aey", '"quoted"\\', "k"]
)
label_values = st.sampled_from(
    [*OPEN, AFTER, "final", "user_text", "local_only", "other", None, True, False, 0, 1]
)
labels = st.dictionaries(st.sampled_from([*ALLOWED, "private", "else"]), label_values, max_size=2)
scalars = st.none() | st.booleans() | st.integers(-(2**63), 2**64 - 1) | words
values = st.recursive(
    scalars,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.builds(lambda a, b: {**a, **b}, st.dictionaries(words, inner, max_size=3), labels)
    ),
    max_leaves=6,
)
ids = st.sampled_from(["a", "toolu_1", "x" * 128, "x" * 129, "", "sk-1", "a b", None, 3])
names = st.sampled_from(["read", "context_checkpoint", "bad name"])
texts = st.fixed_dictionaries({"type": st.just("text"), "text": words | scalars})
any_block = st.builds(
    lambda kind, rest, tags: {**rest, "type": kind, **tags},
    st.sampled_from(["text", "tool_use", "tool_result", "thinking", "image", None]),
    st.fixed_dictionaries(
        {},
        optional={
            "text": words | scalars,
            "id": ids,
            "name": names,
            "tool_use_id": ids,
            "input": values,
            "is_error": scalars,
            "content": words | st.lists(texts | values, max_size=3) | scalars,
        },
    ),
    labels,
)
any_message = st.builds(
    lambda role, content, tags, derived: {"role": role, "content": content, **tags, **derived},
    st.sampled_from(["user", "assistant", "assistant", "user", "system", None]),
    words | st.lists(any_block | values, max_size=4) | scalars,
    labels,
    st.sampled_from([{}, {}, {}, {"_synaps_context": None}]),
)
redactors = st.sampled_from([None, str, lambda text: text.replace("a", "\u00e4")])


@settings(max_examples=10_000 if os.environ.get("ARES_SOAK") else 300, deadline=None)
@given(st.lists(any_message | values, max_size=5), redactors)
def test_both_keep_the_same_under_the_same_digest(messages: list[Any], redactor: Any) -> None:
    projection = project_archive("talk", messages, "", redactor)

    expected = naive(messages, redactor)
    found = [
        {
            "source_index": one.source_index,
            "block_indices": one.block_indices,
            "message": one.message,
        }
        for one in projection.messages
    ]
    assert json.dumps(found, sort_keys=True) == json.dumps(expected, sort_keys=True)
    assert projection.digest == naive_digest("talk", len(messages), expected)
