"""Entries that kill the process which decodes them: set aside in the end, nobody else harmed."""

from __future__ import annotations

import json

from streams.keys import Keys
from support.doomed import BEFORE, Doom, Nursery
from support.outcome import check_against, lapse, outcome
from support.worker_process import Installation
from worker.console.exit_codes import ExitCode

KEYS = Keys("default")
KILLED = -9


def test_four_deadly_entries_among_a_hundred_good_ones(start_server, tmp_path):
    server = start_server()
    here = Installation(server.url, tmp_path / "rounds")
    sent: dict[str, list[str]] = {f"s{n}": [] for n in range(5)}
    with server.admin() as admin, Nursery(here.environment, tmp_path / "nursery") as nursery:
        for n in range(100):
            stream = f"s{n % 5}"
            type_ = "task.completed" if n % 20 >= 15 else "llm.call"
            admin.xadd(KEYS.inbox, {"stream": stream, "type": type_, "id": f"e{n}"})
            sent[stream].append(f"e{n}")
            if n % 25 == 10:
                deadly = {"stream": stream, "type": "llm.call", "payload": '{"text": "poison"}'}
                admin.xadd(KEYS.inbox, deadly | {"id": f"p{n}"})

        deaths = 0
        while nursery.run("run", "--once", doom=Doom(1, BEFORE, "decode poison")) != 0:
            deaths += 1
            assert deaths < 40
            lapse(admin)

        seen = outcome(admin, here)
        check_against(seen, sent)
        assert seen.waiting == 0
        assert [code for code, _ in seen.dead] == [b"poison"] * 4
        assert sum(json.loads(file)["event_count"] for file in seen.rounds.values()) == 100
        assert [fields[b"attempts"] for _, fields in admin.xrange(KEYS.dead)] == [b"5"] * 4
        assert set(admin.hgetall(KEYS.attempts)) == set()
        assert nursery.run("verify") == 0


def test_a_deadly_entry_of_the_page_read_ahead_is_found_like_any_other(start_server, tmp_path):
    server = start_server()
    here = Installation(server.url, tmp_path / "rounds")
    with server.admin() as admin, Nursery(here.environment, tmp_path / "nursery") as nursery:
        for n in range(800):
            payload = '{"text": "poison"}' if n == 700 else "{}"
            admin.xadd(KEYS.inbox, {"stream": "s", "type": "llm.call", "payload": payload})
        while nursery.run("run", "--once", doom=Doom(1, BEFORE, "decode poison")) != 0:
            lapse(admin)

        assert admin.xlen(KEYS.dead) == 1
        assert admin.get(KEYS.head("s")).startswith(b"799-")
        assert nursery.run("verify") == 0


def test_a_deadly_entry_requeued_after_the_cause_is_mended_comes_in(start_server, tmp_path):
    server = start_server()
    here = Installation(server.url, tmp_path / "rounds")
    with server.admin() as admin, Nursery(here.environment, tmp_path / "nursery") as nursery:
        admin.xadd(KEYS.inbox, {"stream": "s", "type": "x", "payload": '{"a": "poison"}'})
        while nursery.run("run", "--once", doom=Doom(1, BEFORE, "decode poison")) != 0:
            lapse(admin)
        [(letter, _)] = admin.xrange(KEYS.dead)

        assert nursery.run("dead", "requeue", letter.decode()) == 0
        assert nursery.run("run", "--once") == 0

        assert admin.xlen(KEYS.log("s")) == 1
        assert admin.xlen(KEYS.dead) == 0


def test_a_round_whose_record_kills_its_worker_is_set_aside_and_all_others_are_archived(
    start_server, tmp_path
):
    server = start_server()
    here = Installation(server.url, tmp_path / "rounds")
    with server.admin() as admin, Nursery(here.environment, tmp_path / "nursery") as nursery:
        for n in range(30):
            payload = '{"text": "poison"}' if n == 7 else "{}"
            admin.xadd(KEYS.inbox, {"stream": f"s{n}", "type": "x", "payload": payload})
            admin.xadd(KEYS.inbox, {"stream": f"s{n}", "type": "task.completed"})
        deadly = Doom(1, BEFORE, "build poison")

        deaths = 0
        while nursery.run("run", "--once", doom=deadly) == KILLED:
            deaths += 1
            assert deaths < 12
            lapse(admin)

        assert len(here.rounds()) == 29
        assert "died 5 times while archiving it" in nursery.log()
        for n in range(5):  # newcomers find it set aside
            admin.xadd(KEYS.inbox, {"stream": f"s{n + 5}", "type": "task.completed"})
        assert nursery.run("run", "--once", doom=deadly) == ExitCode.CORRUPT
        assert len(here.rounds()) == 33

        admin.delete(KEYS.deadly)  # as after a day; the cause is mended
        assert nursery.run("run", "--once") == 0
        assert len(here.rounds()) == 35
        assert nursery.run("verify") == 0
