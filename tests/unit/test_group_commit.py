"""Who shares a commit with whom."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence

import pytest

from streams.committing.batch import Outcome
from streams.committing.group import GroupCommit
from streams.plan import Append, BatchLimits


async def settled() -> None:
    """Until every task that can go on has gone on."""
    for _ in range(20):
        await asyncio.sleep(0)


class Committer:
    """Commits whatever it is given once `answer` is set; keeps what each commit held."""

    def __init__(self) -> None:
        self.commits: list[list[str]] = []
        self.answer = asyncio.Event()

    async def commit(self, appends: Sequence[Append]) -> list[Outcome]:
        self.commits.append([append.stream for append in appends])
        await self.answer.wait()
        await settled()
        return list(range(1, len(appends) + 1))


def appends(group: GroupCommit, *streams: str) -> list[asyncio.Task[int]]:
    return [asyncio.create_task(group.append(Append(stream, ()))) for stream in streams]


@pytest.fixture
def committer() -> Committer:
    return Committer()


async def test_appends_behind_a_commit_under_way_are_the_next_one(committer):
    tasks = appends(GroupCommit(committer, BatchLimits()), "a", "b", "c")
    await settled()
    assert committer.commits == [["a"]]
    committer.answer.set()
    await asyncio.gather(*tasks)
    assert committer.commits == [["a"], ["b", "c"]]


async def test_callers_answered_together_who_append_again_share_the_next_commit(committer):
    group = GroupCommit(committer, BatchLimits())

    async def caller(stream: str) -> None:
        for _ in range(3):
            await group.append(Append(stream, ()))

    committer.answer.set()
    await asyncio.gather(*map(caller, "abc"))
    # Only the very first comes alone.
    assert committer.commits == [["a"], ["b", "c", "a"], ["b", "c", "a"], ["b", "c"]]


async def test_more_callers_than_places_are_all_served(committer):
    tasks = appends(GroupCommit(committer, BatchLimits(), max_waiting=2), *"abcdefgh")
    await settled()
    committer.answer.set()
    await asyncio.wait_for(asyncio.gather(*tasks), 5)
    assert sorted(stream for commit in committer.commits for stream in commit) == list("abcdefgh")
    assert max(map(len, committer.commits)) <= 8


async def test_a_caller_that_gives_up_waiting_leaves_the_others_their_turn(committer):
    tasks = appends(GroupCommit(committer, BatchLimits(), max_waiting=2), *"abcdef")
    await settled()
    tasks[1].cancel()
    tasks[4].cancel()
    committer.answer.set()
    done = await asyncio.wait_for(asyncio.gather(*tasks, return_exceptions=True), 5)
    assert [type(one) for one in done].count(asyncio.CancelledError) == 2
    assert "b" not in {stream for commit in committer.commits for stream in commit}
