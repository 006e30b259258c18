"""Reading the archive takes its settings from the same places, without the heavy library."""

from __future__ import annotations

import subprocess
import sys

import pytest

from worker.settings.light import load_light_settings
from worker.settings.load import SettingsError, load_settings

FILES = [
    "",
    "tenants = ['file']\n[archive]\ndir = '/file'\n",
    "tenants = 'x, y'\n",
    "[archive]\nmax_rounds = 3\n",
]
ENVIRONS = [
    {},
    {"ARES_ARCHIVE_DIR": "/env"},
    {"ARES_TENANTS": "a,b", "ARES_ARCHIVE_DIR": ""},
    {"ARES_TENANTS": " a , b "},
]
FLAGS = [{}, {"archive.dir": "/flag"}, {"tenants": ("t",)}, {"archive.dir": None}]


@pytest.mark.parametrize("flags", FLAGS)
@pytest.mark.parametrize("environ", ENVIRONS)
@pytest.mark.parametrize("text", FILES)
def test_both_loaders_agree(tmp_path, text, environ, flags):
    path = tmp_path / "worker.toml"
    path.write_text(text)

    light = load_light_settings(path, flags, environ)
    full = load_settings(path, flags, environ)

    assert (light.archive_dir, light.tenants) == (full.archive.dir, full.tenants)


@pytest.mark.parametrize(
    ("text", "environ", "key"),
    [
        ("tenants = ['Bad One']", {}, "tenants"),
        ("tenants = 3", {}, "tenants"),
        ("tenants = []", {}, "tenants"),
        ("[archive]\ndir = 3", {}, "archive.dir"),
        ("[archive]\ndir = ''", {}, "archive.dir"),
        ("", {"ARES_TENANTS": "A"}, "tenants"),
        ("[archive", {}, "settings file"),
    ],
)
def test_both_loaders_refuse_the_same(tmp_path, text, environ, key):
    path = tmp_path / "worker.toml"
    path.write_text(text)

    for load in (load_light_settings, load_settings):
        with pytest.raises(SettingsError) as caught:
            load(path, {}, environ)
        assert caught.value.problems[0].key == key


def test_the_light_loader_imports_no_checking_library():
    code = (
        "import sys, worker.settings.light as light; light.load_light_settings(None, {}, {});"
        "print([m for m in ('pydantic', 'redis', 'asyncio', 'prometheus_client') "
        "if m in sys.modules])"
    )

    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)

    assert said.stdout == "[]\n"
