"""Where files are, what does not count, and what programs around an agent say of them."""

from __future__ import annotations

import pytest

EDITED = "The file src/shape.py has been updated. Here's the result of running `cat -n`"


def test_deleted_and_moved_files_count(script) -> None:
    script.call(
        "apply_patch",
        "*** Begin Patch\n*** Delete File: old.py\n*** Update File: a.py\n*** Move to: b.py\n@@\n"
        "-x\n+y\n"
        "*** End Patch",
        "Success.",
    )

    assert script.done().files() == {"old.py": (0, 0), "a.py": (0, 0), "b.py": (1, 1)}


def test_a_refused_patch_changes_nothing(script) -> None:
    patch = "*** Begin Patch\n*** Update File: a.py\n@@\n-x\n+y\n*** End Patch"

    script.call("apply_patch", patch, "apply_patch verification failed: Failed to find context")

    assert script.done().files() == {}


def test_paths_are_those_of_the_repository(script) -> None:
    script.session("/home/ann/shop")
    edit = {
        "file_path": "/home/ann/shop/app/(auth)/[id]/page.tsx",
        "old_string": "x",
        "new_string": "y",
    }
    script.call("Edit", edit, EDITED)
    script.call("create", {"path": "./notes with space.md", "content": "x"}, "Created file")

    assert script.done().files() == {
        "app/(auth)/[id]/page.tsx": (1, 1),
        "notes with space.md": (1, 0),
    }


def test_the_root_shows_in_what_else_the_round_says(script) -> None:
    edit = {"file_path": "/home/ann/shop/lib/a.py", "old_string": "x", "new_string": "y"}
    script.call("Edit", edit, EDITED).shell("pytest lib/a.py", "1 passed in 0.1s")

    assert script.done().files() == {"lib/a.py": (1, 1)}


@pytest.mark.parametrize(
    "path", ["/tmp/x.py", "/private/tmp/y", "/var/folders/z/t.txt", "/dev/null"]
)
def test_scratch_space_does_not_count(script, path) -> None:
    script.call("Write", {"file_path": path, "content": "x"}, "File created successfully")

    assert script.done().files() == {}


def test_an_editor_with_a_current_file_edits_that_one(script) -> None:
    window = "[File: /repo/lib/a.py (3 lines total)]\n1:import os\n2:x = 1\n3:y = 2\n"
    script.call("bash", {"command": "open lib/a.py"}, window)
    script.call("bash", {"command": "edit 2:3\nx = 10\ny = 2\nz = 3\nend_of_edit"}, window)

    assert script.done().files() == {"lib/a.py": (2, 1)}


def test_the_submitted_diff_knows_best(script) -> None:
    window = "[File: /repo/lib/a.py (3 lines total)]\n1:import os\n"
    script.call(
        "bash", {"command": "create repro.py"}, "[File: /repo/repro.py (1 lines total)]\n1:"
    )
    script.call("bash", {"command": "open lib/a.py"}, window)
    script.call("bash", {"command": "edit 1:1\nimport os, sys\nend_of_edit"}, window)
    diff = (
        "diff --git a/lib/a.py b/lib/a.py\n--- a/lib/a.py\n+++ b/lib/a.py\n@@ -1,1 +1,2 @@\n"
        "-import os\n+import os\n+import sys\n"
    )
    script.call("bash", {"command": "submit"}, diff)

    assert script.done().files() == {"lib/a.py": (2, 1)}


def test_edit_blocks_count_once_they_were_applied(script) -> None:
    block = (
        "lib/a.py\n```python\n<<<<<<< SEARCH\nx = 1\n=======\nx = 2\ny = 3\n>>>>>>> REPLACE\n```\n"
    )
    other = "lib/b.py\n```python\n<<<<<<< SEARCH\nx\n=======\ny\n>>>>>>> REPLACE\n```\n"
    script.user("set x").assistant(f"Sure:\n\n{block}\n{other}").assistant(
        "Applied edit to lib/a.py"
    )

    assert script.done().files() == {"lib/a.py": (2, 1)}


def test_the_summary_says_what_and_why(script) -> None:
    script.call("Edit", {"file_path": "a.py", "old_string": "x", "new_string": "y"}, EDITED)
    script.assistant("Done.\n\n- `a.py`: the limit is inclusive now, as the docs say.")

    (change,) = script.done("ok").extract().files

    assert change.summary == "Edited: a.py: the limit is inclusive now, as the docs say."


def test_a_program_applies_each_proposed_block_once(script) -> None:
    block = "a.py\n<<<<<<< SEARCH\nold {n}\n=======\nnew {n}\nmore\n>>>>>>> REPLACE\n"
    for number in (1, 2):
        script.assistant(f"Like so:\n\n{block.format(n=number)}")
        script.assistant("Applied edit to a.py")
    assert script.done().files() == {"a.py": (4, 2)}
