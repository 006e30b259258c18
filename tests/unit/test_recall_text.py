"""Text as recall compares it and as a terminal may show it."""

from __future__ import annotations

import pytest

from archive.recall.prefilter import ASCII_WHEN_FOLDED
from archive.recall.text import fold, match_spans, visible, visible_line


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("CAFÉ", "cafe\u0301"),
        ("Straße", "STRASSE"),
        ("ﬁle", "FILE"),
        ("한글", "\u1112\u1161\u11ab\u1100\u1173\u11af"),
        ("\u212a", "k"),
        ("ΣΑΣ", "σας"),
    ],
)
def test_what_looks_equal_is_equal(one, other):
    assert fold(one) == fold(other)


def test_letters_with_and_without_a_mark_differ():
    assert fold("cafe") not in fold("café")


def test_every_letter_that_folds_to_ascii_is_known_to_the_scan():
    surrogates = range(0xD800, 0xE000)
    found = {
        chr(code)
        for code in range(0x80, 0x110000)
        if code not in surrogates and any(letter < "\x80" for letter in fold(chr(code)))
    }
    assert found == set(ASCII_WHEN_FOLDED)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b]52;c;aGk=\x07", "\\x1b]52;c;aGk=\\x07"),
        ("\x1b[2J", "\\x1b[2J"),
        ("\x9b31m", "\\x9b31m"),
        ("safe\u202etxt.exe", "safe\\u202etxt.exe"),
        ("\u2066\u200b\ufeff", "\\u2066\\u200b\\ufeff"),
        ("\U000e0041", "\\U000e0041"),
        ("over\rwritten", "over\\rwritten"),
        ("Grüße, 日本語 🙂", "Grüße, 日本語 🙂"),
    ],
)
def test_what_could_drive_a_terminal_or_hide_text_is_escaped(text, shown):
    assert visible(text) == shown
    assert visible_line(text) == shown


def test_lines_stay_lines_unless_one_line_is_wanted():
    assert visible("a\n\tb") == "a\n\tb"
    assert visible_line("a\n\tb") == "a\\n\\tb"


@pytest.mark.parametrize(
    ("text", "needles", "marked"),
    [
        ("The Fox, the fox", ("fox",), ["Fox", "fox"]),
        ("Straße", ("ss",), ["ß"]),
        ("straße", ("stras",), ["straß"]),
        ("cafe\u0301 bar", ("café",), ["cafe\u0301"]),
        ("aaa", ("aa",), ["aa"]),
        ("foobar", ("oob", "bar"), ["oobar"]),
        ("nothing", ("x",), []),
        ("", ("x",), []),
    ],
)
def test_matches_are_marked_where_they_stand_in_the_original(text, needles, marked):
    spans = match_spans(text, needles)
    assert [text[start:end] for start, end in spans] == marked
