"""Pure. What a round was for: plan, implement, fix or review."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Final

from archive.prefilter import Hinted
from archive.record import Action, FileChange

from .injected import strip_injected
from .prose import Speech
from .view import RoundView

_HEAD: Final = 4000

# Words of a request in lower case, by what they ask for: the group of more weight wins.
_FIX: Final = re.compile(
    r"\b(?:fix(?:es|ed|ing)?|bugs?|broken?|breaks|crash(?:es|ing)?|regression|\w*errors?"
    r"|fail(?:s|ed"
    r"|ing|ure)?s?|wrong|incorrect(?:ly)?|doesn[’']?t work|not work(?:ing)?|issue text|traceback"
    r"|\w*exceptions?|resolve|repair|debug|hotfix|conflicts?|address (?:the|this|these|all)?"
    r"|feedback"
    r"|comments? on|typo|solv(?:e|ing)|missing|shouldn[’']?t|instead of \w+ing|the issue was"
    r"|corrupt(?:ed)?|stale|leak|panic|hangs?|flaky|timeouts?|but (?:the|it|this|now|when|i)"
    r"|isn[’']?t|aren[’']?t|won[’']?t|can[’']?t|still (?:not|says|shows|get|see|fails?)"
    r"|does nothing"
    r"|nothing happens|(?:is|are) red|(?:is|are|was|shows?|displays?|returns?"
    r"|gets?) .{1,60} instead"
    r" of)\b|修复"
    r"|修復|修正|错误|錯誤|报错|報錯|失败|失敗|崩溃|崩潰|问题|問題|故障"
)
_IMPLEMENT: Final = re.compile(
    r"\b(?:add(?:s|ed|ing)?|implement(?:s|ed|ing)?|creat(?:e|es|ing)|build|mak(?:e|ing)|writ(?:e"
    r"|ing)|introduce|support|extend|refactor(?:ing)?|rename|remov(?:e|ing)|delet(?:e|ing)"
    r"|updat(?:e|ing)|chang(?:e|ing)|replac(?:e|ing)|convert|migrat(?:e|ing)|upgrade|bump|install"
    r"|set ?up|configure|generate|port|move|integrat(?:e|ing)|enable|disable|hide|push|commit"
    r"|merge|release|deploy|run|publish|rebase|use|let[’']?s|document|optimi[sz]e|improve"
    r"|simplify|extract|license)\b|实现|實現|添加|新增|增加|创建|創建|编写|編寫|重构|重構|删除"
    r"|刪除|修改|更新|升级|升級|支持|提交|部署|优化|優化"
)
_PLAN: Final = Hinted(
    "plan|propos|design|architect|roadmap|rfc|brainstorm|break |estimate|outline|spec|create |log a"
    "|think through|how |计划|計劃|规划|規劃|方案|设计|設計|拆分",
    r"\b(?:plan(?:s|ning)?|propos(?:e|al|als)|design(?:s|ing)?|architect(?:ure)?|roadmap|rfc"
    r"|brainstorm|break (?:it |this )?down|estimate|outline|spec(?:ification)?"
    r"|create (?:the )?(?:beads?|tickets?|issues?|tasks?|epics?|stories)|log an? .{0,40}(?:issue"
    r"|ticket|improvement|task)|think through|how (?:would|should) (?:we|you|i))\b|计划|計劃|规划"
    r"|規劃|方案|设计|設計|拆分",
)
_REVIEW: Final = re.compile(
    r"\b(?:review|audit|analy[sz]e|analysis|investigat(?:e|ing)|explain|explore|understand"
    r"|compare|check|look (?:at|into|over|through)|take a look|inspect|summari[sz]e|evaluate"
    r"|assess|verify|validate|what|why|when|where|which|how|is|are|does|do|did|can you (?:tell"
    r"|show|check|look|explain)|should(?:n[’']?t)? (?:we|it|the|i)|tell me|show me|list|find out"
    r"|question)\b|评审|評審|审查|審查|检查|檢查|分析|解释|解釋|为什么|為什麼|怎么|怎麼|如何|是否"
    r"|什么|什麼|看看|看一下",
    re.IGNORECASE,
)
_EXPLICIT_FIX: Final = Hinted(
    "fix|debug|repair|solve|happy|green|get rid|修复|修復|修一下",
    r"\b(?:fix|debug|repair|resolve|solve)\b|\bmake (?:the )?(?:\w+ ){1,3}(?:happy|green)\b"
    r"|\bget rid of (?:\w+ ){0,3}(?:warnings?|errors?)\b|修复|修復|修一下",
)
_MAKE_GREEN: Final = re.compile(
    r"\b(?:run|check|ensure|verify|make sure|get)\b[^.\n]{0,80}\b(?:tests?|lint(?:er|ing)?|types?"
    r"|green|pass(?:es|ing)?|builds?|ci|suite)\b",
    re.IGNORECASE,
)
_IMPERATIVE: Final = re.compile(
    r"^\W*(?:(?:ok(?:ay)?|yes|yeah|now|then|please|can you|could you|sure|great|and|also|so|next"
    r"|thanks|thinking again|great)\b[,:;.! ]*)*(?:let[’']?s )?(?:completely |only |just "
    r"|also )?(add|implement|create|build|make|write|introduce|support|extend|refactor|rename"
    r"|remove|delete|update|change|replace|convert|migrate|upgrade|bump|install|set ?up|configure"
    r"|generate|port|move|integrate|enable|disable|hide|push|commit|merge|release|deploy|run"
    r"|publish|rebase|document|optimi[sz]e|improve|simplify|extract|use|switch|append|put|log"
    r"|format|translate|rewrite|restructure|reformat|clean ?up|allow|expose|split)\b",
    re.IGNORECASE,
)
_ISSUE_FRAMES: Final = (
    ("<issue_description>", "</issue_description>"), ("<pr_description>", "</pr_description>"),
    ("\nISSUE:\n", "\nINSTRUCTIONS:"), ("# Problem Statement\n", "\nIMPORTANT"),
    ("GitHub Issue:", "\n## "), ("<issue>", "</issue>"),
)  # fmt: skip
_BUG_BODY: Final = re.compile(
    r"\b(?:bug|\w*error|\w*exception|traceback|incorrect|wrong|fail(?:s|ed|ure)?|crash|broken"
    r"|unexpected|ignores?|regression|strange|problematic|not work|doesn[’']?t|does not|can[’']?t"
    r"|cannot|raises?|precision|invalid|missing|should (?:be|return|not)|expected)\b",
    re.IGNORECASE,
)
_PLAN_FILE: Final = re.compile(
    r"(?:^|/)(?:plans?|rfcs?|specs?|designs?|proposals?|adrs?|roadmaps?)/(?:.*/)?[^/]+"
    r"\.(?:md|mdx|txt|rst|adoc|org|html)$|(?:^|/)\.?beads/|(?:^|/)(?:plan|design|proposal"
    r"|roadmap|spec|todo)[\w.-]*\.(?:md|txt|mdx|rst|adoc)$"
    r"|[-_.]plan\.(?:md|txt|mdx)$",
    re.IGNORECASE,
)
_ASKED: Final = re.compile(
    r"^\W*(?:(?:please|can you|could you|also|and|ok|so)\b[, ]*)*(?:explain|describe|summari[sz]e"
    r"|review|audit|what|where|which|why|show|list|find|tell|compare)\b",
    re.IGNORECASE,
)
_TO_PLAN: Final = re.compile(
    r"\b(?:plans?|planning|propose|proposal|brainstorm|break .{0,10}down|estimate|how (?:would"
    r"|should))\b",
    re.IGNORECASE,
)
_RUN_CHECKS: Final = re.compile(
    r"^\W*(?:(?:please|can you|now|ok|then|and)\b[, ]*)*(?:re-?)?run\b.{0,40}\b(?:tests?"
    r"|lint\w*|suite"
    r"|checks?|build|type ?checks?|ci)\b[^.\n]{0,40}$",
    re.IGNORECASE,
)
_PLAN_TOOLS: Final = frozenset({"exitplanmode", "exit_plan_mode", "enterplanmode"})
_TRACKER: Final = re.compile(r"create_issue|create_ticket|createissue|create_task|add_issue")
_TRACKER_SCRIPT: Final = re.compile(
    r"\b(?:bd create|gh issue create|glab issue create|jira issue create)\b"
)
_ACTS: Final = Hinted(
    "git |gh |publish|apply|docker push",
    r"\bgit (?:-C \S+ )?(?:commit|push|merge|rebase|cherry-pick|tag|revert|worktree add"
    r"|checkout -b|switch -c|stash|reset)\b|\bgh (?:pr|release|workflow|repo) (?:create|merge|run"
    r"|edit|comment)\b|\b(?:npm|yarn|pnpm) publish\b|\bkubectl apply\b|\bterraform apply\b"
    r"|\bdocker push\b",
    re.NOFLAG,
)


def find_action(view: RoundView, speech: Sequence[Speech], files: Sequence[FileChange]) -> Action:
    """The action from what was asked and from what was done; a change outweighs a question."""
    request = _request(view, speech)
    if files:
        if all(_PLAN_FILE.search(f.path) for f in files):
            return "plan"
        return _of_change(request, speech)
    if _planned(view) or (_wants_a_plan(request[:_HEAD]) and not _acted(view)):
        return "plan"
    if _acted(view):
        return "fix" if _EXPLICIT_FIX.search(request[:_HEAD]) else "implement"
    if _asks(request):
        return "review"
    if _EXPLICIT_FIX.search(request[:_HEAD]):
        return "fix"
    return "implement" if _IMPERATIVE.search(request[:_HEAD]) else "review"


def _wants_a_plan(head: str) -> bool:
    """Whether a request is for a plan; who asks what a design is wants none."""
    if not _PLAN.search(head):
        return False
    return _ASKED.match(head) is None or _TO_PLAN.search(head) is not None


def _request(view: RoundView, speech: Sequence[Speech]) -> str:
    """What the user asked for: all of the user's messages, or the bare task."""
    said = [s.text for s in speech if s.role == "user" and not s.answer]
    text = "\n".join(said) if said else strip_injected(view.task)
    if body := issue_body(text):
        return ("fix the bug: " if _BUG_BODY.search(body[:_HEAD]) else "implement: ") + body[:200]
    return text


def issue_body(text: str) -> str:
    """The issue in a prompt that wraps one in instructions; nothing in any other text."""
    for opening, closing in _ISSUE_FRAMES:
        start = text.find(opening, 0, 20_000)
        if start >= 0:
            end = text.find(closing, start + len(opening))
            return text[start + len(opening) : end if end >= 0 else None].strip()
    return ""


def _of_change(request: str, speech: Sequence[Speech]) -> Action:
    head = request[:_HEAD]
    if _EXPLICIT_FIX.search(head):
        return "fix"
    verb = _IMPERATIVE.search(head)
    if verb is not None and verb[1].lower() != "run":
        return "implement"
    if _MAKE_GREEN.search(head[:400]):
        return "fix"
    fixes, builds = _weigh(head)
    if fixes == builds == 0:
        return _by_words_of_assistant(speech)
    return "fix" if fixes and fixes >= builds * 0.5 else "implement"


def _by_words_of_assistant(speech: Sequence[Speech]) -> Action:
    """A bare "yes": what the assistant says it did decides."""
    last = next((s.text for s in reversed(speech) if s.role == "assistant"), "")
    fixes, builds = _weigh(last[:_HEAD])
    return "fix" if fixes > builds else "implement"


def _weigh(text: str) -> tuple[int, int]:
    """How often a text speaks of faults, and how often of work."""
    lowered = text.lower()
    return len(_FIX.findall(lowered)), len(_IMPLEMENT.findall(lowered))


def _asks(request: str) -> bool:
    head = request.strip()[:_HEAD]
    if _RUN_CHECKS.match(head):
        return True
    if _IMPERATIVE.search(head) and not head.endswith("?"):
        return False
    return "?" in head or "？" in head or _REVIEW.search(head) is not None


def _planned(view: RoundView) -> bool:
    return any(
        run.tool in _PLAN_TOOLS
        or _TRACKER.search(run.tool)
        or (" create" in run.script[:400] and _TRACKER_SCRIPT.search(run.script[:400]))
        for run in view.runs
        if run.completed and not run.failed
    )


def _acted(view: RoundView) -> bool:
    """Whether the round did something lasting that is no file change: a commit, a release."""
    if not _ACTS.search("\n".join([run.script[:4000] for run in view.runs])):
        return False
    return any(
        run.script and not run.refused and run.completed and _ACTS.search(run.script[:4000])
        for run in view.runs
    )
