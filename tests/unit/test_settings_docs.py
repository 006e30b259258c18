"""The page of settings is what the settings say."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

from worker.settings.docs import settings_page
from worker.settings.load import load_settings
from worker.settings.model import setting_fields

PAGE = Path(__file__).parents[2] / "docs" / "settings.md"


def test_the_page_is_the_one_the_settings_make():
    """Write it anew with `python -m worker.settings.docs > docs/settings.md`."""
    assert PAGE.read_text(encoding="utf-8") == settings_page()


def test_every_setting_says_what_it_means_and_has_a_default_on_the_page():
    page = settings_page()

    for key, info in setting_fields().items():
        assert info.description, key
        assert f"| `{key}` |" in page


def test_every_default_on_the_page_may_be_written_as_it_stands_there():
    rows = re.findall(r"^\| `[\w.]+` \| `([^`]+)` \|.*`(ARES_\w+)` \|$", settings_page(), re.M)
    assert len(rows) > 40

    written = load_settings(environ={name: value for value, name in rows})

    assert written.model_dump() == load_settings(environ={}).model_dump()
    assert written.origin("archive.batch") != "default"


def test_the_example_on_the_page_loads(tmp_path):
    example = re.search(r"```toml\n(.*?)```", settings_page(), re.S)
    assert example is not None
    assert tomllib.loads(example[1])
    path = tmp_path / "worker.toml"
    path.write_text(example[1])

    assert load_settings(path, environ={}).archive.max_rounds == 0
