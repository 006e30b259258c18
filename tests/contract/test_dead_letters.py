"""Dead letters: shown as they are, moved back whole and once, on every Redis we support."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
import redis.asyncio

from streams.dead_letters import DeadLetter, DeadLetterNotFound, DeadLetters
from streams.errors import UsageError
from streams.keys import Keys
from streams.wire import Wires

SENT_MS = 1_700_000_000_123


@pytest.fixture
def keys(tenant: str) -> Keys:
    return Keys(tenant)


@pytest.fixture
async def wires(every_client: redis.asyncio.Redis, keys: Keys) -> AsyncIterator[Wires]:
    wires = Wires(every_client, keys.inbox)
    yield wires
    await wires.close()


@pytest.fixture
def dead(wires: Wires, keys: Keys) -> DeadLetters:
    return DeadLetters(wires, keys)


async def bury(wires: Wires, keys: Keys, *fields: bytes, code: str = "schema") -> str:
    """Put an entry into the dead stream as the sequencer does."""
    named = [part for name, value in _pairs(fields) for part in (b"f:" + name, value)]
    (entry_id,) = await wires.exchange(
        [
            (
                "XADD", keys.dead, "*", *named,
                "reason", "payload: is not JSON", "code", code, "origin_id", f"{SENT_MS}-7",
                "attempts", "1", "first_seen_ms", str(SENT_MS), "dead_ms", str(SENT_MS + 5),
            )
        ]
    )  # fmt: skip
    return str(entry_id.decode())


def _pairs(flat: tuple[bytes, ...]) -> list[tuple[bytes, bytes]]:
    return list(zip(flat[::2], flat[1::2], strict=True))


async def inbox(wires: Wires, keys: Keys) -> list[list[bytes]]:
    (entries,) = await wires.exchange([("XRANGE", keys.inbox, "-", "+")])
    return [fields for _, fields in entries]


async def every(dead: DeadLetters, *, newest_first: bool = False) -> list[DeadLetter]:
    return [letter async for letter in dead.list(newest_first=newest_first)]


async def test_a_dead_letter_shows_the_producers_fields_byte_for_byte(
    dead: DeadLetters, wires: Wires, keys: Keys
) -> None:
    fields = (b"stream", b"\xff\x00", b"stream", b"twice", b"f:odd", b"1", b"reason", b"theirs")
    entry_id = await bury(wires, keys, *fields, code="encoding")

    letter = await dead.get(entry_id)

    assert letter.fields == tuple(_pairs(fields))
    assert letter.reason == "payload: is not JSON"
    assert (letter.code, letter.origin_id, letter.attempts) == ("encoding", f"{SENT_MS}-7", 1)
    assert (letter.first_seen_ms, letter.dead_ms) == (SENT_MS, SENT_MS + 5)
    assert letter.size == sum(map(len, fields))


async def test_letters_come_page_by_page_in_either_order(
    dead: DeadLetters, wires: Wires, keys: Keys
) -> None:
    buried = [await bury(wires, keys, b"stream", b"s%d" % n) for n in range(40)]

    assert [letter.id for letter in await every(dead)] == buried
    assert [letter.id for letter in await every(dead, newest_first=True)] == buried[::-1]
    assert await dead.count() == 40


async def test_requeue_returns_the_original_fields_byte_for_byte_in_order(
    dead: DeadLetters, wires: Wires, keys: Keys
) -> None:
    fields = (
        b"type", b"t", b"stream", b"s", b"payload", b"\x81\xa1a\xff", b"id", b"e-1",
        b"timestamp", b"2026-01-01T00:00:00Z", b"stream", b"again",
    )  # fmt: skip
    entry_id = await bury(wires, keys, *fields)

    moved = await dead.requeue(entry_id)

    (only,) = await wires.exchange([("XRANGE", keys.inbox, moved, moved)])
    assert only[0][1] == list(fields)
    assert await dead.count() == 0


async def test_requeue_keeps_the_time_an_entry_without_timestamp_was_sent(
    dead: DeadLetters, wires: Wires, keys: Keys
) -> None:
    """Its time was its place in the inbox, which it can't have again."""
    await dead.requeue(await bury(wires, keys, b"stream", b"s", b"type", b"t"))

    sent = b"%d" % SENT_MS
    assert await inbox(wires, keys) == [[b"stream", b"s", b"type", b"t", b"timestamp", sent]]


async def test_many_requeues_of_one_letter_at_once_move_it_once(
    dead: DeadLetters, wires: Wires, keys: Keys
) -> None:
    entry_id = await bury(wires, keys, b"stream", b"s", b"type", b"t")

    outcomes = await asyncio.gather(
        *(dead.requeue(entry_id) for _ in range(8)), return_exceptions=True
    )

    assert len(await inbox(wires, keys)) == 1
    assert sum(isinstance(outcome, str) for outcome in outcomes) == 1
    assert sum(isinstance(outcome, DeadLetterNotFound) for outcome in outcomes) == 7


async def test_letters_that_die_meanwhile_do_not_stop_a_requeue(
    dead: DeadLetters, wires: Wires, keys: Keys
) -> None:
    letters = [await bury(wires, keys, b"stream", b"s%d" % n) for n in range(20)]

    async def die() -> None:
        for n in range(60):
            await bury(wires, keys, b"stream", b"late%d" % n)

    await asyncio.gather(die(), *(dead.requeue(letter) for letter in letters))

    assert len(await inbox(wires, keys)) == 20
    assert await dead.count() == 60


async def test_purge_deletes_only_what_it_names_and_says_how_many(
    dead: DeadLetters, wires: Wires, keys: Keys
) -> None:
    first, second, third = [await bury(wires, keys, b"stream", b"s") for _ in range(3)]

    assert await dead.purge([first, third, "1-1"]) == 2
    assert [letter.id for letter in await every(dead)] == [second]
    assert await inbox(wires, keys) == []


async def test_an_unknown_letter_is_said_to_be_unknown(dead: DeadLetters) -> None:
    for call in (dead.get, dead.requeue):
        with pytest.raises(DeadLetterNotFound, match="there is no dead letter 5-0"):
            await call("5-0")


@pytest.mark.parametrize("wrong", ["-", "+", "5", "5-", "abc", "5-0\n", "(5-0", ""])
async def test_what_is_no_id_is_refused_before_redis_sees_it(dead: DeadLetters, wrong: str) -> None:
    with pytest.raises(UsageError, match="is no id of a dead letter"):
        await dead.requeue(wrong)
    with pytest.raises(UsageError, match="is no id of a dead letter"):
        await dead.purge([wrong])


async def test_an_entry_from_a_foreign_hand_is_shown_without_what_it_lacks(
    dead: DeadLetters, wires: Wires, keys: Keys
) -> None:
    (entry_id,) = await wires.exchange([("XADD", keys.dead, "1700000000000-0", "hello", "x")])

    letter = await dead.get(entry_id.decode())

    assert (letter.fields, letter.reason, letter.origin_id) == ((), "", "")
    assert letter.dead_ms == 1_700_000_000_000
