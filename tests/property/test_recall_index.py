"""Results are the same with an index, without one, and by looking at every round in full."""

from __future__ import annotations

import itertools
import json
import os
import random
import tempfile
from datetime import UTC, datetime, timedelta
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, initialize, invariant, rule

from archive import FileArchiveReader, FileArchiveWriter, RoundRecord
from archive.erase import Eraser
from archive.places import ArchivedRound, Problem
from archive.publishing.publication import end_time
from archive.recall.query import Filters, Query, matches, newest_first, parse_query
from archive.recall.search import Recall
from archive.record import Check, FileChange, Verdict
from archive.record_json import record_to_bytes

START = datetime(2026, 1, 1, tzinfo=UTC)
PIECES = [
    "Straße", "STRASSE", "ﬁle", "Cafe\u0301", "café", "İstanbul", "日本語", "日本", "한글",
    "\u1112\u1161\u11ab", "\u212aelvin", "a/b\\c", '"quoted"', "tab\tand\nline", "—", "é", "n",
    "\u0301x", "fox", "FOX", "(a+)+$", "%_*", "\x1b[2J", "emoji 🙂", "zero\0byte", "\u1fef",
    "Agent_7", "#142, #143", "None", "{'a': 1}",
]  # fmt: skip
texts = st.lists(st.sampled_from(PIECES), max_size=4).map(" ".join) | st.text(max_size=6).filter(
    lambda text: not any("\ud800" <= letter <= "\udfff" for letter in text)
)


def _order(found: ArchivedRound) -> tuple[int, int, str, str]:
    return newest_first(found.place, end_time(found.record))


@st.composite
def queries(draw: st.DrawFn) -> str:
    """A word, or a part of one, in any case and form."""
    piece = draw(st.sampled_from(PIECES) | texts.filter(bool))
    start = draw(st.integers(0, max(0, len(piece) - 1)))
    part = piece[start : start + draw(st.integers(1, 8))]
    return draw(st.sampled_from([part, part.upper(), part.lower(), f'"{part}"', f"{part} fox"]))


def make(number: int, stream: str, text: str, **changes: object) -> RoundRecord:
    fields = {
        "round": number,
        "action": "fix",
        "summary": text,
        "stream_id": stream,
        "tenant_id": "default",
        "first_version": number,
        "last_version": number,
        "ended_at": START + timedelta(minutes=number // 2),
        "events_digest": f"{stream}{number}",
        **changes,
    }
    return RoundRecord(**fields)  # type: ignore[arg-type]


def ask(recall: Recall, query: Query, **options: object) -> tuple[list[str], list[Problem]]:
    problems: list[Problem] = []
    found = recall.query(query, report=problems.append, **options)  # type: ignore[arg-type]
    return [item.place.path for item in found], sorted(problems)


class ArchiveAndIndex(RuleBasedStateMachine):
    """An archive that lives: written, erased, rotated, edited and broken by hand."""

    def __init__(self) -> None:
        super().__init__()
        self.folder = tempfile.TemporaryDirectory()
        self.archive = Path(self.folder.name, "archive")
        self.cache = Path(self.folder.name, "cache")
        self.writer = FileArchiveWriter(self.archive, max_rounds=4)
        self.numbers = {stream: itertools.count(1) for stream in ("a", "B/ß")}
        self.query = "fox"

    def teardown(self) -> None:
        self.folder.cleanup()

    @initialize()
    def begin(self) -> None:
        self.publish("a", "the quick fox", "x", False)

    @rule(stream=st.sampled_from(["a", "B/ß"]), text=texts, path=texts, failed=st.booleans())
    def publish(self, stream: str, text: str, path: str, failed: bool) -> None:
        number = next(self.numbers[stream])
        verdict = Verdict(checks=(Check("test", "pytest", "fail" if failed else "pass"),))
        record = make(
            number,
            stream,
            text,
            files=(FileChange(path, 1),),
            verdict=verdict,
            refs={"pr": f"#{number}"},
        )
        self.writer.record(record)

    @rule(text=texts, ref=st.sampled_from(["#142", ["#142", "#143"], None, {"a": 1}]))
    def write_as_ares(self, text: str, ref: object) -> None:
        folder = self.archive / "Agent_7"
        folder.mkdir(exist_ok=True)
        content = {"round": 1, "summary": "s", "mood": {"words": [text, 7]}, "refs": {"pr": ref}}
        (folder / "round_1.json").write_text(json.dumps(content))

    def _some_file(self, seed: int) -> Path | None:
        files = sorted(self.archive.rglob("round_*.json"))
        return random.Random(seed).choice(files) if files else None

    @rule(seed=st.integers(0, 99))
    def erase(self, seed: int) -> None:
        path = self._some_file(seed)
        if path is not None and path.parent.parent.name == "default":
            stream = "a" if path.parent.name == "a" else "B/ß"
            Eraser(self.archive).round("default", stream, int(path.stem.split("_")[1]))

    @rule(seed=st.integers(0, 99))
    def cut_off(self, seed: int) -> None:
        path = self._some_file(seed)
        if path is not None:
            os.truncate(path, path.stat().st_size // 2)

    @rule(seed=st.integers(0, 99), text=texts)
    def edit_in_place(self, seed: int, text: str) -> None:
        path = self._some_file(seed)
        if path is not None:
            path.write_bytes(record_to_bytes(make(1, "", text)))

    @rule(seed=st.integers(0, 99))
    def remove(self, seed: int) -> None:
        path = self._some_file(seed)
        if path is not None:
            path.unlink()

    @rule(query=queries())
    def look_for(self, query: str) -> None:
        self.query = query if query.split() else "fox"

    @invariant()
    def every_way_finds_the_same(self) -> None:
        query = parse_query(self.query)
        with_index = ask(Recall(self.archive, cache=self.cache), query)
        assert with_index == ask(Recall(self.archive), query)
        everything = FileArchiveReader(self.archive).rounds()
        in_full = sorted((r for r in everything if matches(query, r)), key=_order)
        assert with_index[0] == [found.place.path for found in in_full]

    @invariant()
    def filters_and_limits_change_nothing_of_that(self) -> None:
        query = parse_query(self.query)
        for filters, limit in (
            (Filters(failed=True), None),
            (Filters(file="fox"), None),
            (Filters(file="*x"), 2),
            (Filters(ref="#1"), None),
            (Filters(since=START + timedelta(minutes=1)), 1),
            (Filters(action="fix", outcome="completed"), 3),
            (Filters(streams=("B/ß", "Agent_7", "a")), None),
        ):
            with_index = ask(
                Recall(self.archive, cache=self.cache), query, filters=filters, limit=limit
            )
            assert with_index == ask(Recall(self.archive), query, filters=filters, limit=limit)


TestArchiveAndIndex = ArchiveAndIndex.TestCase
TestArchiveAndIndex.settings = settings(max_examples=25, stateful_step_count=12, deadline=None)


@given(st.lists(texts, min_size=1, max_size=8), queries())
@settings(max_examples=150, deadline=None)
def test_no_file_that_matches_is_passed_over_by_its_bytes(summaries, words):
    """As written by us, and with every letter escaped, as other programs may write it."""
    if not words.split():
        words = "fox"
    query = parse_query(words)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name, "s")
        folder.mkdir()
        for number, text in enumerate(summaries, 1):
            data = record_to_bytes(make(number, "s", text))
            if number % 2:
                escaped = json.dumps(json.loads(data)).replace("/", "\\/")
                data = escaped.encode()
            (folder / f"round_{number}.json").write_bytes(data)
        everything = list(FileArchiveReader(name).rounds())
        assert len(everything) == len(summaries)
        expected = sorted((r for r in everything if matches(query, r)), key=_order)
        assert ask(Recall(name), query)[0] == [r.place.path for r in expected]
