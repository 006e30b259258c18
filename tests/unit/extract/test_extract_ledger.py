"""What is left of a round's file changes, however often they are undone and moved about."""

from __future__ import annotations

import pytest

from archive.extract.contents import MAX_CHARACTERS, Contents
from archive.extract.ledger import Ledger


@pytest.fixture
def ledger() -> Ledger:
    return Ledger()


def left(ledger: Ledger) -> dict[str, tuple[int, int]]:
    return {path: (e.added, e.removed) for path, e in ledger.changed().items()}


def test_a_new_file_has_all_its_lines(ledger: Ledger) -> None:
    ledger.write("a", "1\n2\n", 1)
    assert left(ledger) == {"a": (2, 0)}


def test_a_file_made_and_removed_is_nothing(ledger: Ledger) -> None:
    ledger.write("a", "1\n", 1)
    ledger.delete("a", 2)
    assert left(ledger) == {}


def test_a_file_that_was_there_and_is_removed_is_a_change(ledger: Ledger) -> None:
    ledger.saw("a")
    ledger.delete("a", 2)
    assert left(ledger) == {"a": (0, 0)}


def test_a_folder_goes_with_what_was_made_in_it(ledger: Ledger) -> None:
    ledger.write("d/e/a", "1\n", 1)
    ledger.write("d/b", "1\n", 2)
    ledger.write("other", "1\n", 3)
    ledger.delete("d/", 4)
    assert left(ledger) == {"other": (1, 0)}
    ledger.write("d/b", "1\n2\n", 5)
    ledger.delete("d/", 6)
    assert left(ledger) == {"other": (1, 0)}


def test_a_folder_moves_with_what_was_made_in_it(ledger: Ledger) -> None:
    ledger.write("d/e/a", "1\n", 1)
    ledger.move("d", "f", 2)
    assert left(ledger) == {"f/e/a": (1, 0)}
    assert ledger.content("f/e/a") == "1\n"


def test_an_edit_taken_back_is_none(ledger: Ledger) -> None:
    ledger.replace("a", "x", "y", 1)
    ledger.replace("a", "y", "x", 2)
    assert left(ledger) == {}


def test_the_same_edit_twice_is_taken_back_once(ledger: Ledger) -> None:
    ledger.replace("a", "x", "y", 1)
    ledger.replace("a", "x", "y", 2)
    ledger.replace("a", "y", "x", 3)
    assert left(ledger) == {"a": (1, 1)}
    ledger.undo("a")
    assert left(ledger) == {}


def test_restoring_takes_back_what_was_not_committed(ledger: Ledger) -> None:
    ledger.replace("a", "x", "y", 1)
    ledger.settle()
    ledger.replace("b", "x", "y", 2)
    ledger.write("new", "1\n", 3)
    ledger.restore_all()
    assert left(ledger) == {"a": (1, 1), "new": (1, 0)}


def test_a_stash_comes_back(ledger: Ledger) -> None:
    ledger.replace("a", "x", "y", 1)
    ledger.shelve()
    ledger.restore_all()
    assert left(ledger) == {}
    ledger.unshelve()
    assert left(ledger) == {"a": (1, 1)}
    ledger.shelve()
    ledger.restore_all()
    assert left(ledger) == {}


def test_a_known_content_makes_a_rewrite_a_difference(ledger: Ledger) -> None:
    ledger.saw("a", lambda: "1\n2\n3\n")
    ledger.write("a", "1\n2\n3\n4\n", 1)
    assert left(ledger) == {"a": (1, 0)}


def test_what_an_edit_would_blow_up_is_no_longer_known(ledger: Ledger) -> None:
    ledger.write("a", "x" * 1000, 1)
    ledger.replace("a", "x", "y" * (MAX_CHARACTERS // 100), 2, times=0)
    assert ledger.content("a") is None


def test_contents_find_room_once() -> None:
    contents = Contents()
    contents.put("a", "x" * (MAX_CHARACTERS - 1))
    contents.put("b", "two")
    assert contents.get("b") is None
    contents.show("c", lambda: "c")
    assert contents.get("c") == "c"


def test_replacements_in_a_file_that_was_shown_wait_until_its_content_is_asked_for(
    ledger: Ledger,
) -> None:
    read: list[str] = []

    def shown() -> str:
        read.append("a")
        return "1\n2\n2\n"

    ledger.saw("a", shown)
    ledger.replace("a", "2\n", "two\n", 1)
    ledger.replace("a", "two\n", "three\n", 2)
    assert not read
    assert ledger.content("a") == "1\nthree\n2\n"
    ledger.replace("a", "2\n", "3\n", 3)
    assert ledger.content("a") == "1\nthree\n3\n"
    assert read == ["a"]


def test_replacements_are_forgotten_with_what_was_shown(ledger: Ledger) -> None:
    ledger.saw("a", lambda: "1\n")
    ledger.replace("a", "1", "2", 1)
    ledger.saw("a", lambda: "1\n")
    assert ledger.content("a") == "1\n"
