"""The rights the doctor asks for are those of the commands the code sends."""

from __future__ import annotations

import re
from pathlib import Path

from streams.keys import Keys
from worker.doctor.rights import rights_probe

ROOT = Path(__file__).parents[2]
LITERAL = re.compile(r"""(?:\(\s*"|redis\.p?call\(\s*['"])([A-Z]{3,})['"]""")
OF_THE_DOCTOR = {"CONFIG", "CLUSTER", "TIME"}


def sent_commands(known: set[str]) -> dict[str, str]:
    """Command → file, of every command the packages may send to a server that knows it."""
    found = {}
    for package in ("streams", "worker"):
        for path in sorted((ROOT / package).rglob("*.py")):
            for name in LITERAL.findall(path.read_text(encoding="utf-8")):
                if name.lower() in known:
                    found[name] = str(path.relative_to(ROOT))
    return found


def test_every_command_in_the_code_is_among_the_rights_asked_for(server):
    """A new command is added to `worker/doctor/rights.py`, or a worker fails under an ACL."""
    with server.admin() as admin:
        known = {name.lower() for name in admin.command()}
    asked = {str(command[0]) for command in rights_probe(Keys("t"))}

    sent = sent_commands(known)

    assert len(sent) > 30
    assert {name: path for name, path in sent.items() if name not in asked | OF_THE_DOCTOR} == {}
