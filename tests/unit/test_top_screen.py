"""What `top` draws: within any size, without colour where there is none, the worst in red."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from support.top_samples import HEALTHY, LEASES, NOW_MS, sample, stream, tenant
from worker.console.output import width_of
from worker.top.rows import SORTS, short, span
from worker.top.sample import LeaseLook, RedisLook, WorkerLook
from worker.top.screen import Frame, render
from worker.top.table import fit

RED = "\x1b[31m"
NAMES = [
    "session-42",
    "日本語のストリーム/エージェント",
    "a\x1b[2J\nb",
    "x" * 200,
    "",
    "\u202eevil",
]


def bare(line: str) -> str:
    """A line without its colours."""
    return re.sub(r"\x1b\[[0-9;]*m", "", line)


def drawn(*tenants, before=None, **frame) -> list[str]:
    """The screen of these tenants; 80 columns and 24 lines unless told otherwise."""
    size = {"width": 80, "height": 24} | frame
    return render(sample(*tenants, taken_s=1.0), before, Frame(**size))


@given(
    width=st.integers(1, 250),
    height=st.integers(1, 80),
    tenants=st.integers(1, 12),
    workers=st.integers(0, 30),
    streams=st.lists(st.sampled_from(NAMES) | st.text(max_size=40), max_size=30),
    color=st.booleans(),
    sort=st.sampled_from(SORTS),
    trouble=st.sampled_from(["", "Redis is away " * 20]),
)
def test_no_screen_is_larger_than_its_terminal(
    width, height, tenants, workers, streams, color, sort, trouble
):
    crowd = [WorkerLook(f"pod-{n}", n, n * 1_000) for n in range(workers)]
    looks = [stream(name, 10**n % 10**13) for n, name in enumerate(streams)]
    all_of_them = [tenant(f"t{n}", *looks, workers=crowd) for n in range(tenants)]

    lines = render(
        sample(*all_of_them), None, Frame(width, height, color=color, sort=sort, trouble=trouble)
    )

    assert len(lines) <= height
    assert all(width_of(bare(line)) <= width for line in lines)
    assert color or "\x1b" not in "".join(lines)


def test_a_common_terminal_shows_every_part():
    screen = drawn(
        tenant("default", stream("session-1", 1_234, archived_version=1_200, rounds=7)),
        before=sample(tenant("default", stream("session-1", 1_220, rounds=6))),
    )

    assert len(screen) == 24
    assert screen[0] == (
        "ares-worker  08:00:00Z  redis 7.0.15  12 MiB of 1.0 GiB  1234 calls/s  up 25h"
    )
    named = {line.split()[0]: line.split()[1:] for line in screen if line}
    assert named["default"] == ["0", "0s", "held", "14", "0", "0s", "0", "1", "0", "1"]
    assert named["pod-a"] == ["up", "0.2s", "0", "sequencer"]
    assert named["session-1"] == ["14", "1234", "34", "7", "1234", "4.0", "KiB", "0", "1s"]
    assert screen[-1] == "q quit  s sort: recent"


def test_where_space_is_short_columns_give_way_and_the_most_telling_stay():
    look = tenant("default", stream("session-1"))

    def heading(width: int) -> list[str]:
        return next(line for line in drawn(look, width=width) if line.startswith("TENANT")).split()

    assert "SUBS" in heading(120)
    assert "SUBS" not in heading(80)
    assert heading(40) == ["TENANT", "INBOX", "AGE", "SEQ", "EV/S", "LAG"]
    assert heading(24) == ["TENANT", "INBOX", "LAG"]


def test_a_name_too_long_is_cut_and_its_numbers_stay():
    line = next(line for line in drawn(tenant("t", stream("x" * 200, 77))) if "xxx" in line)

    assert "x~x" in line
    assert "77" in line
    assert len(line) == 80


def test_names_that_begin_alike_stay_apart_where_they_are_cut():
    alike = [stream(f"agents/of-the-payment-team/session-{number}") for number in (101, 102)]

    names = [line.split()[0] for line in drawn(tenant("t", *alike)) if line.startswith("agents/")]

    assert [name[-12:] for name in names] == ["/session-101", "/session-102"]


def test_what_does_not_fit_is_counted():
    crowd = tenant("default", *(stream(f"s-{number}") for number in range(100)))

    screen = drawn(crowd)

    shown = sum(1 for line in screen if line.startswith("s-"))
    assert f"({100 - shown} more)" in screen


def test_without_an_end_every_stream_is_told_and_no_key():
    crowd = tenant("default", *(stream(f"s-{number}") for number in range(100)))

    screen = drawn(crowd, height=None)

    assert sum(1 for line in screen if line.startswith("s-")) == 100
    assert not any("quit" in line for line in screen)


@pytest.mark.parametrize(
    ("sort", "first"), [("recent", "new"), ("rate", "fast"), ("open", "open"), ("size", "large")]
)
def test_streams_stand_in_the_order_asked_for(sort, first):
    before = [stream(name, 50, archived_version=50) for name in ("new", "fast", "open", "large")]
    after = [
        stream("new", 50, archived_version=50, last_commit_ms=NOW_MS),
        stream("fast", 90, archived_version=90),
        stream("open", 51, archived_version=0),
        stream("large", 50, archived_version=50, log_bytes=10**9),
    ]

    screen = drawn(tenant("t", *after), before=sample(tenant("t", *before)), sort=sort)

    heading = next(n for n, line in enumerate(screen) if line.startswith("STREAM"))
    assert screen[heading + 1].split()[0] == first
    assert screen[-1].endswith(f"sort: {sort}")


def test_a_tenant_nobody_sequences_stands_out():
    free = (LeaseLook("sequencer", None, 0), LEASES[1])

    screen = drawn(tenant("default", leases=free), color=True)

    assert any(f"{RED}none" in line for line in screen)


@pytest.mark.parametrize(("seconds", "style"), [(9.0, None), (20.0, "\x1b[33m"), (90.0, RED)])
def test_an_inbox_that_waits_is_coloured_by_how_long(seconds, style):
    facts = replace(HEALTHY, inbox_events=7, inbox_oldest_seconds=seconds)

    line = next(line for line in drawn(tenant(facts=facts), color=True) if "default" in line)

    assert (style in line) if style else "\x1b" not in line


def test_a_quarantined_stream_is_marked_and_says_where_to_look():
    screen = drawn(tenant("t", stream("bad", quarantined="its log holds 3"), stream("good")))

    assert any(line.startswith("! bad") for line in screen)
    assert screen[-1] == "1 stream quarantined: ares-worker streams repair STREAM"


def test_trouble_stands_where_the_keys_stood():
    screen = drawn(tenant(), trouble="Connection refused; trying again", color=True)

    assert screen[-1] == f"{RED}Connection refused; trying again\x1b[0m"


def test_a_worker_of_several_tenants_is_one_row():
    screen = drawn(tenant("acme"), tenant("other"))

    [line] = [line for line in screen if line.startswith("pod-b")]
    assert line.split() == ["pod-b", "up", "1.1s", "6", "janitor", "2/2"]


def test_a_worker_that_died_is_told_from_one_that_has_nothing_to_do():
    idle, dead = WorkerLook("pod-a", 0, 4_900), WorkerLook("pod-b", 3, 45_000)

    screen = drawn(tenant(workers=(idle, dead), leases=()), color=True)

    [line_of_a], [line_of_b] = (
        [line for line in screen if line.startswith(name)] for name in ("pod-a", "pod-b")
    )
    assert line_of_a.split() == ["pod-a", "up", "4.9s", "0"]
    assert bare(line_of_b).split() == ["pod-b", "silent", "45s", "3"]
    assert (line_of_a.count(RED), line_of_b.count(RED)) == (0, 2)


def test_a_worker_heard_of_by_one_of_its_tenants_lives():
    looks = (WorkerLook("pod-a", 1, 45_000), WorkerLook("pod-a", 2, 300))

    screen = drawn(*(tenant(f"t{n}", workers=(look,)) for n, look in enumerate(looks)))

    [line] = [line for line in screen if line.startswith("pod-a")]
    assert line.split()[:4] == ["pod-a", "up", "0.3s", "3"]


def test_the_holder_of_a_lease_need_not_read_the_feed():
    held = (LeaseLook("sequencer", "", 5_000), LeaseLook("janitor", "pod-z", 5_000))

    screen = drawn(tenant(workers=(), leases=held))

    assert any(line.split() == ["(unnamed)", "-", "-", "-", "sequencer"] for line in screen)
    assert any(line.split() == ["pod-z", "-", "-", "-", "janitor"] for line in screen)


def test_an_empty_fleet_is_told_as_one():
    screen = drawn(tenant(workers=(), leases=()))

    assert any(line.startswith("nobody") for line in screen)
    assert any(line.startswith("none yet") for line in screen)


def test_what_redis_does_not_tell_is_left_out():
    screen = render(sample(tenant(), redis=RedisLook()), None, Frame(80, 24))

    assert screen[0].split() == ["ares-worker", "08:00:00Z"]


def test_a_redis_nearly_full_is_red():
    full = RedisLook(memory_bytes=95, max_bytes=100)

    assert RED in render(sample(tenant(), redis=full), None, Frame(80, 24, color=True))[0]


@pytest.mark.parametrize(
    ("number", "text"),
    [
        (None, "-"), (0, "0"), (7, "7"), (0.42, "0.4"), (9.96, "10"), (9_999, "9999"),
        (10_000, "10.0k"), (99_960, "100k"), (1_234_567, "1235k"), (12_345_678, "12.3M"),
        (10**15, "1000T"),
    ],
)  # fmt: skip
def test_numbers_are_short(number, text):
    assert short(number) == text


@given(st.floats(0, 10**15))
def test_no_number_takes_more_than_five_characters(number):
    assert len(short(number)) <= 5


@pytest.mark.parametrize(
    ("seconds", "text"),
    [(None, "-"), (0, "0s"), (-1.0, "0s"), (0.42, "0.4s"), (95, "95s"), (150, "2m"),
     (7_200, "2h"), (200_000, "2d")],
)  # fmt: skip
def test_lengths_of_time_are_short(seconds, text):
    assert span(seconds) == text


@given(st.text(), st.integers(0, 60))
def test_text_fits_whatever_it_is(text, width):
    shown = fit(text, width)

    assert width_of(shown) <= width
    assert not re.search(r"[\x00-\x1f\x7f-\x9f]", shown)
