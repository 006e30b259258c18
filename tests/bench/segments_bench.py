"""Sealed segments: projecting, sealing, searching a full scope."""

from __future__ import annotations

import hashlib
import itertools
import json
import os
import uuid
from collections.abc import AsyncIterator
from pathlib import Path
from typing import Any

import msgspec

from archive.segments import ArchiveStore, project_archive
from archive.segments.projection import hash_key, project
from archive.segments.record import encode_live
from bench.measure import Bench, Row, Stopwatch, interleaved, median

MB = 1_000_000
SENTENCE = (
    "The quick brown fox reviews module 7 of the importer, finds that retry_after isn't read, "
    "and asks whether the well-known back-off should be kept for the next release. "
)


def plain_text(size: int, seed: int = 0, *, accents: bool = True) -> str:
    """`size` characters of prose, with an accent now and then as people write it, or without."""
    words = f"{seed}: {SENTENCE}{'é' if accents else ''}\n"
    return (words * (size // len(words) + 1))[:size]


def messages(size: int, each: int, seed: int = 0, *, accents: bool = True) -> list[dict[str, Any]]:
    """`size` characters of prose in messages of `each`."""
    text = plain_text(size, seed, accents=accents)
    roles = itertools.cycle(("user", "assistant"))
    parts = (text[start : start + each] for start in range(0, size, each))
    return [{"role": role, "content": part} for role, part in zip(roles, parts, strict=False)]


async def rows(bench: Bench) -> AsyncIterator[Row]:
    """The rows of segments."""
    for each, what in ((4 * MB, "in one message"), (2_000, "in messages of 2 kB")):
        yield await project_row(messages(4 * MB, each), what)
    for accents, what in ((False, "of English"), (True, "of text with accents")):
        yield await seal_row(bench, what, accents=accents)
    for each, what in ((2 * MB, "one message each"), (2_000, "messages of 2 kB")):
        yield await search_row(bench, each, what)


async def project_row(source: list[dict[str, Any]], what: str) -> Row:
    """Megabytes of plain text projected a second."""

    def run() -> float:
        with Stopwatch() as watch:
            project_archive("talk", source, "note")
        return watch.rate(4)

    return Row(f"segments: project 4 MB {what}", "MB/s", await median(run), at_least=50)


async def seal_row(bench: Bench, what: str, *, accents: bool) -> Row:
    """Milliseconds for 1 MB sealed into an empty scope, against one fsynced write of the bytes."""
    source = messages(MB, MB, accents=accents)
    data = plain_text(MB, accents=accents).encode()
    base = bench.folder / f"seal-accents-{accents}"
    base.mkdir()
    stores = (ArchiveStore(base, f"scope-{n}", "talk") for n in itertools.count())
    places = (base / f"written-{n}" for n in itertools.count())

    def ours() -> float:
        # As a caller has them: fresh from a parser. Python keeps the UTF-8 of text used before.
        store, fresh = next(stores), json.loads(json.dumps(source))
        with Stopwatch() as watch:
            store.seal(fresh, "note")
        return watch.seconds * 1e3

    def floor() -> float:
        place = next(places)
        with Stopwatch() as watch:
            write_and_sync(place, data)
        return watch.seconds * 1e3

    measured, written = await interleaved(ours, floor, runs=41)
    note = "floor: one fsynced write"
    if accents:  # Python alone takes about as long to encode such text as the floor to write it
        note = f"{note}; UTF-8 of it alone {await encode_ms(source):.1f} ms"
    return Row(f"segments: seal 1 MB {what}", "ms", measured, written, at_most=3, note=note)


async def encode_ms(source: list[dict[str, Any]]) -> float:
    """Milliseconds to encode the text of a fresh message as JSON writers do, and keep it."""
    pack = msgspec.msgpack.Encoder().encode

    def run() -> float:
        (fresh,) = json.loads(json.dumps(source))
        with Stopwatch() as watch:
            pack(fresh["content"])
        return watch.seconds * 1e3

    return await median(run, runs=9)


async def search_row(bench: Bench, each: int, what: str) -> Row:
    """Seconds to search a full scope without a match, against the least work on its bytes."""
    count = bench.count(128, least=8)
    base = bench.folder / f"search-{each}"
    files = fill(base, count, each)
    store = ArchiveStore(base, "full", "talk")

    def ours() -> float:
        with Stopwatch() as watch:
            assert store.search("zebra crossing", 32) == []
        return watch.seconds * 1e3

    def floor() -> float:
        with Stopwatch() as watch:
            for path in files:
                data = path.read_bytes()
                json.loads(data)
                hashlib.sha256(data).digest()
                data.decode().lower()
        return watch.seconds * 1e3

    measured, least = await interleaved(ours, floor)
    return Row(f"segments: search {count} x 2 MB, {what}", "ms", measured, least, at_most=2)


def fill(base: Path, count: int, each: int) -> list[Path]:
    """`count` segments of 2 MB, written as the store writes them, but without its scans."""
    ArchiveStore(base, "full", "talk")
    scope, logical = hash_key("full"), hash_key("talk")
    files = []
    for index in range(count):
        projected = project(logical, messages(19 * MB // 10, each, index), "note", None)
        parts = encode_live(
            scope,
            logical,
            uuid.uuid4().hex,
            projected.digest,
            count=projected.source_message_count,
            elements=projected.elements,
            note=projected.note,
        )
        files.append(base / "context-archives" / scope / f"{index:03}.json")
        files[-1].write_bytes(b"".join(parts))
        files[-1].chmod(0o600)
    return files


def write_and_sync(place: Path, data: bytes) -> None:
    """One durable write, as plain as it gets."""
    handle = os.open(place, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        os.write(handle, data)
        os.fsync(handle)
    finally:
        os.close(handle)
