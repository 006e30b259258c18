"""Pure. The words by which decisions and open ends are recognised: one table a language.

To add a language, write its table and name it here.
"""

from __future__ import annotations

from typing import Final

from archive.prefilter import Hinted

from .cue import Cue, Note
from .cues_en import ENGLISH
from .cues_zh import CHINESE

HEADINGS: Final[tuple[tuple[Note, Hinted], ...]] = (
    # What stands in a list under such a heading needs no cue of its own.
    ("todo", Hinted(
        "next step|remaining|to-do|todo|follow|limitation|open |not |outstanding|future work|caveat"
        "|left to do|rollback|待办|待辦|下一步|后续|後續|遗留|遺留|已知|未完成|回滚|回滾",
        r"^\W*(?:\w+ ){0,2}(?:next steps?|remaining (?:work|items|issues|tasks)|to-?dos?"
        r"|follow[- ]?ups?|known limitations?|limitations|open (?:questions?|items|issues|points)"
        r"|not (?:yet )?(?:done|covered|implemented)|outstanding|future work|caveats|left to do"
        r"|rollback(?: notes| plan)?)\W*$|(?:待办|待辦|下一步|后续|後續|遗留|遺留|已知限制"
        r"|已知问题|未完成|回滚|回滾)")),
    ("decision", Hinted(
        "decisions|constraints|goals|gos|invariants|out of scope|data model"
        "|决策|決策|决定|決定|约束|約束|非目标|非目標",
        r"^\W*(?:\w+ ){0,2}(?:decisions|constraints|non-?goals|no-?gos|invariants"
        r"|out of scope|data model)\W*$|(?:决策|決策|决定|決定|约束|約束|非目标|非目標)")),
)  # fmt: skip

CUES: Final[tuple[Cue, ...]] = (*ENGLISH, *CHINESE)

__all__ = ["CUES", "HEADINGS", "Cue", "Note"]
