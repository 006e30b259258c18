"""Pure. The words by which decisions and open ends are recognised: one table a language.

A cue is a pattern that a sentence must match. `speaker` is who must say it, `scope` where:
`any`, or `final` for the assistant's last words, where a plan of the next step is no open end.
To add a language, add entries; patterns are case-insensitive and linear.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Final, Literal

Note = Literal["decision", "todo"]


HEADINGS: Final[tuple[tuple[Note, re.Pattern[str]], ...]] = (
    # What stands in a list under such a heading needs no cue of its own.
    ("todo", re.compile(
        r"^\W*(?:\w+ ){0,2}(?:next steps?|remaining (?:work|items|issues|tasks)|to-?dos?"
        r"|follow[- ]?ups?|known limitations?|limitations|open (?:questions?|items|issues|points)"
        r"|not (?:yet )?(?:done|covered|implemented)|outstanding|future work|caveats|left to do"
        r"|rollback(?: notes| plan)?)\W*$|(?:待办|待辦|下一步|后续|後續|遗留|遺留|已知限制"
        r"|已知问题|未完成|回滚|回滾)", re.IGNORECASE)),
    ("decision", re.compile(
        r"^\W*(?:\w+ ){0,2}(?:decisions|constraints|non-goals|invariants"
        r"|out of scope|data model)\W*$|(?:决策|決策|决定|決定|约束|約束|非目标|非目標)",
        re.IGNORECASE)),
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class Cue:
    """`hints` are lower-case strings one of which is in every match: without one the pattern is
    not tried. `but_not` is a pattern that spoils the match."""

    note: Note
    language: str
    speaker: Literal["user", "assistant", "any"]
    scope: Literal["any", "final"]
    hints: tuple[str, ...]
    pattern: re.Pattern[str]
    but_not: re.Pattern[str] | None = None


def _cue(
    note: Note,
    language: str,
    speaker: Literal["user", "assistant", "any"],
    scope: Literal["any", "final"],
    hints: str,
    pattern: str,
    but_not: str = "",
) -> Cue:
    return Cue(
        note, language, speaker, scope, tuple(hints.split("|")), re.compile(pattern, re.IGNORECASE),
        re.compile(but_not, re.IGNORECASE) if but_not else None,
    )  # fmt: skip


_CHAT: Final = (
    r"let'?s (?:see|check|look|start|begin|run|try|test|debug|continue|go|talk|wait|verify|first"
    r"|find|examine|explore|review|commit|push|doe? (?:it|that|this)|say|chat|discuss|think)\b"
)

_NARRATED: Final = (
    r"(?:check|validat|verify|inspect|look|read|run|test|review|confirm|commit|push|stage|watch"
    r"|wait|search|try|see|start|continue|explore|examine|first)"
)

CUES: Final[tuple[Cue, ...]] = (
    # Decisions of the user: a directive with a limit, a choice or a rule in it.
    _cue("decision", "en", "user", "any", "let's|let’s|lets",
         r"\blet[’']?s (?!not\b)\w+", _CHAT),
    _cue("decision", "en", "user", "any", "let's not|let’s not|lets not|instead|rather than",
         r"\blet[’']?s not\b|\binstead\b|\brather than\b"),
    _cue("decision", "en", "user", "any",
         "should|must|shall|need|has to|have to",
         r"\b(?:should|must|shall|needs? to|has to|have to)\b.{0,200}\b(?:not|never|only|always"
         r"|automatically|instead|without|no longer|at least|at most)\b"
         r"|\bshould (?:not|never|always|only|be handled|stay|remain|live|go|use)\b"
         r"|\bshouldn[’']?t\b|\bmust(?: not|n[’']?t)?\b|\bwe should\b"),
    _cue("decision", "en", "user", "any",
         "don't|don’t|dont|do not|never|always",
         r"(?:^|[,;:.!—–-] ?|\b(?:please|and|but|so|just) )(?:don[’']?t|do not|never"
         r"|always) (?!know|think|recall|remember|see|understand|worry|mind|have|get|believe|want"
         r"|like|care)\w+"),
    _cue("decision", "en", "user", "any",
         "no longer|from now on|going forward|out of scope|non-goal|source of truth|by design"
         "|for now|as a rule|under no|decision:|final answer",
         r"\b(?:no longer|from now on|going forward|out of scope|non-goal|source of truth|by design"
         r"|for now|as a rule|under no circumstances|decision:|final answer:)\b"),
    _cue("decision", "en", "user", "any",
         "decided|chose|agreed|settled|opted|prefer|want|keep|will use|will go|with|leave"
         "|use |we'll use|we’ll use|only|option",
         r"\b(?:we|i)(?:[’']ve| have)? (?:decided|chose|chosen|agreed|settled|opted|prefer"
         r"|want to keep|will keep|[’']ll keep|want (?:full|only|no)|will (?:use|go))\b|\b(?:go"
         r"|going|stick|stay) with\b|\bkeep (?:it|the|using|only|both|all)\b"
         r"|\bleave (?:the others|it|them|that|the rest)\b|\b(?:use|prefer) .{1,80}(?: over "
         r"|, not )|\bwe[’']ll use\b|\bonly (?:change|touch|edit|modify|add|update|use|fix|do"
         r"|keep|support)\b|^(?:ok(?:ay)?,? |yes,? |let[’']?s (?:do"
         r"|go with) )?option [A-Da-d\d]\b"),
    # Decisions of the assistant: a limit it sets itself, a choice, a constraint found.
    _cue("decision", "en", "assistant", "any",
         "only|instead|rather than|leav|keep|without|dedicated|fail closed|revert",
         r"\bI(?:[’']ll| will|[’']m going to| am going to) (?!" + _NARRATED + r")\w+.{0,200}"
         r"\b(?:only|instead|rather than|leaving|leave (?:the|that|it|them|your)"
         r"|keep(?:ing)? (?:the|it|both)|without (?:touching|changing|any)|dedicated|fail closed)\b"
         r"|\bI(?:[’']ll| will) (?:leave|only (?!" + _NARRATED + r")|keep|revert)\b"
         r"|\bI(?:[’']m| am) \w+ing only\b",
         r"\bonly (?:then|if|after|when)\b|\binstead of (?:guessing|assuming)\b"
         r"|\bkeep (?:you|watching|going|looking|monitoring)\b"),
    _cue("decision", "en", "assistant", "any",
         "decided|chose|opted|kept|settled|went with|put |agreed|going with|keeping",
         r"\bI(?:[’']ve| have)? (?:decided|chose|chosen|opted|kept|settled on|went with"
         r"|put .{1,120} rather than)\b|\b(?:decided|opted) (?:to|for|against|not)\b"
         r"|\bwe(?:[’']ve| have)? (?:decided|chose|agreed|settled)\b|\bgoing with\b"
         r"|\bkeeping (?:the )?\S+ (?:merge|as|because|since)\b"),
    _cue("decision", "en", "assistant", "any",
         "non-goal|scope|source of truth|by design|design decision|decision:|constraint:|invariant",
         r"\b(?:is|are) (?:now )?(?:a |an explicit |explicitly )?(?:non-goals?"
         r"|out of (?:\w+ )?scope)\b"
         r"|\bout of scope\b|\bis the (?:single |only )?source of truth\b|\bby design\b"
         r"|\bdesign decision\b|\bdecision:|\bconstraint:|\binvariant\b"),
    # Open ends.
    _cue("todo", "en", "any", "any",
         "todo|fixme|xxx|hack",
         r"(?<![\w.`\"'(/-])(?:TODO|FIXME|XXX|HACK)\b(?![`\"'])[:( ]",
         r"\bTODO list\b|\bno TODOs?\b|\bTODOs? (?:and|or|comments?|items?)\b"
         r"|\bupdate .{0,20}TODO"),
    _cue("todo", "en", "assistant", "final",
         "still|need|should",
         r"\b(?:still (?:needs?|has|have|to|requires?|missing|open|fails?|pending)|needs? to be"
         r"|will need to|you(?:[’']ll| will| may| might)? (?:also )?need to|(?:we|you"
         r"|I) should (?:also |still )?(?:update|add|remove|replace|write|fix|test|check|consider"
         r"|run|document|handle))\b",
         r"\bno longer needs?\b|\bdo(?:es)?n[’']?t need\b|\bneeded to be\b|\bif you (?:want"
         r"|would)\b|\bjust needs? to be\b"),
    _cue("todo", "en", "assistant", "final",
         "open |follow|not yet|remain|left|limitation|known|next step|future|to be ",
         r"\bopen (?:question|point|issue|item)s?\b|\bfollow[- ]?ups?\b(?! (?:adjustment|change"
         r"|edit))|\bnot yet (?:\w+ )?(?:implemented|done|supported|covered|tested|handled|wired"
         r"|merged|available|complete)\b|\bremains? (?:to be|open|unresolved|untested)\b"
         r"|\bleft (?:to do|undone|as (?:a )?(?:future|follow))\b|\b(?:known )?limitations?:"
         r"|\bknown (?:limitation|issue)|\bnext steps?:|\bfuture (?:work|improvement"
         r"|enhancement)s?\b|\bto be (?:done|decided|implemented)\b",
         r"\bresolved the (?:dangling )?open question\b|\bno (?:open|known|remaining)\b"),
    _cue("todo", "en", "assistant", "final",
         "unable|not able|could|did not|didn|caveat|limitation|roll|revert|would require"
         "|not |pre-existing|manually",
         r"\b(?:I|we) (?:was|were|am|are) (?:unable|not able) to\b|\bI (?:could not|couldn[’']?t"
         r"|did not|didn[’']?t) (?:run|test|verify|find|implement|complete|fix|reproduce|finish"
         r"|update)\b|\b(?:caveats?|limitation|rollback|roll back|to revert)\b.{0,8}:"
         r"|\bone caveat\b|\bwould require a\b|\bnot (?:been )?(?:tested|verified|run)\b|\b(?:is"
         r"|are|was|were) pre-existing\b|\bpre-existing (?:issue|failure|problem|bug|error)"
         r"|\bnot covered by\b|\bmanually (?:verify|test|check|run|update)\b"),
    _cue("todo", "en", "user", "any",
         "ll |later|next time|follow|another pr|separate pr",
         r"\bI[’']?ll (?:follow up|do (?:it|that|this) later|handle|take care)\b|\b(?:later"
         r"|next time|in a follow[- ]?up|another PR|separate PR)\b.{0,60}\b(?:we|I|let[’']?s)\b"
         r"|\b(?:we|I|let[’']?s)\b.{0,60}\b(?:later|in a follow[- ]?up|another PR|separate PR)\b"),
    # Chinese
    _cue("decision", "zh", "any", "any",
         "决|決|采用|採用|改用|选择|選擇|不再|不要|统一|統一|约|約|必|禁止|不允|务必|務必|一律|而不是|只保留|保持|不|架构|架構|设计|設計",
         r"(?:决定|決定|确定采用|採用|采用|改用|选择了|選擇了|不再使用|不要用|统一使用|統一使用"
         r"|约定|約定|必须|必須|禁止|不允许|不允許|务必|務必|一律|而不是|只保留|保持不变|保持不變"
         r"|先不|暂不|暫不|架构决策|架構決策|设计决策|設計決策|约束[:：]|約束[:：])"),
    _cue("todo", "zh", "any", "any",
         "待|尚未|还|還|后续|後續|下一步|遗留|遺留|未|已知|仍|以后|以後|回滚|回滾|暂|暫",
         r"(?:待办|待辦|待完成|待处理|待處理|待修复|待修復|待确认|待確認|尚未|还没有|還沒有"
         r"|后续(?:需要|再|要|工作)|後續(?:需要|再|要|工作)|下一步|遗留|遺留|未完成|未解决|未解決"
         r"|已知(?:问题|問題|限制)|仍需|还需要|還需要|以后再|以後再|回滚|回滾|暂时无法|暫時無法)"),
)  # fmt: skip
