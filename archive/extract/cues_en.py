"""Pure. The cues of English."""

from __future__ import annotations

from typing import Final

from .cue import Cue, cue

_CHAT: Final = (
    r"let'?s (?:see|check|look|start|begin|run|try|test|debug|continue|go|talk|wait|verify|first"
    r"|find|examine|explore|review|commit|push|doe? (?:it|that|this)|say|chat|discuss|think)\b"
)

_NARRATED: Final = (
    r"(?:check|validat|verify|inspect|look|read|run|test|review|confirm|commit|push|stage|watch"
    r"|wait|search|try|see|start|continue|explore|examine|first)"
)

ENGLISH: Final[tuple[Cue, ...]] = (
    # Decisions of the user: a directive with a limit, a choice or a rule in it.
    cue("decision", "en", "user", "any", "let's|let’s|lets",
         r"\blet[’']?s (?!not\b)\w+", _CHAT),
    cue("decision", "en", "user", "any", "let's not|let’s not|lets not|instead|rather than",
         r"\blet[’']?s not\b|\binstead\b|\brather than\b"),
    cue("decision", "en", "user", "any",
         "should|must|shall|need|has to|have to",
         r"\b(?:should|must|shall|(?<!\bI )needs? to|has to|have to)\b.{0,200}\b(?:not|never|only"
         r"|always|automatically|instead|without|no longer|at least|at most)\b"
         r"|\bshould (?:not|never|always|only|be handled|stay|remain|live|go|use)\b"
         r"|\bshouldn[’']?t\b|\bmust(?: not|n[’']?t)?\b|\bwe should\b",
         r"\bmust (?:have been|be (?:(?:a|an|some|the) )?(?:bug|problem|issue|mistake|error|typo"
         r"|regression|something|because|due|wrong|broken|missing))\b|\w(?:Error|Exception):"),
    cue("decision", "en", "user", "any",
         "don't|don’t|dont|do not|never|always",
         r"(?:^|[,;:.!—–-] ?|\b(?:please|and|but|so|just) )(?:don[’']?t|do not|never"
         r"|always) (?!know|think|recall|remember|see|understand|worry|mind|have|get|believe|want"
         r"|like|care)\w+"),
    cue("decision", "en", "user", "any",
         "no longer|from now on|going forward|out of scope|non-goal|source of truth|by design"
         "|for now|as a rule|under no|decision:|final answer",
         r"\b(?:no longer|from now on|going forward|out of scope|non-goals?|source of truth"
         r"|by design"
         r"|for now|as a rule|under no circumstances|decision:|final answer:)\b"),
    cue("decision", "en", "user", "any",
         "decided|chose|agreed|settled|opted|prefer|want|keep|will use|will go|go with|going with"
         "|stick with|stay with|leave| over |, not |we'll use|we’ll use|only|option",
         r"\b(?:we|i)(?:[’']ve| have)? (?:decided|chose|chosen|agreed|settled|opted|prefer"
         r"|want to keep|will keep|[’']ll keep|want (?:full|only|no)|will (?:use|go))\b|\b(?:go"
         r"|going|stick|stay) with\b|\bkeep (?:it|the|using|only|both|all)\b"
         r"|\bleave (?:the others|it|them|that|the rest)\b|\b(?:use|prefer) .{1,80}(?: over "
         r"|, not )|\bwe[’']ll use\b|\bonly (?:change|touch|edit|modify|add|update|use|fix|do"
         r"|keep|support)\b|^(?:ok(?:ay)?,? |yes,? |let[’']?s (?:do"
         r"|go with) )?option [A-Da-d\d]\b"),
    cue("decision", "en", "user", "any",
         "default|limit|max|min|timeout|ttl|opt-|opt |flag",
         r"\b(?:default|limit|max(?:imum)?|min(?:imum)?|timeout|ttl)\b[^.?!\n]{0,60}"
         r"\b(?:should be|must be|is|are) [^\s.?!]{0,20}\d|\bopt[- ](?:in|out)\b"
         r"|\b(?:on|off|enabled|disabled) by default\b|\bdefault(?:s|ing)? (?:to )?(?:on|off"
         r"|false|true)\b|\bbehind (?:a|the) (?:\w+ )?flag\b",
         r"\b(?:but|why|bug|error|wrong|instead of)\b"),
    cue("decision", "en", "user", "any",
         "compat|no need|need|drop|remove support|it's |it’s |its |please",
         r"\b(?:keep|maintain|preserve|break(?:ing)?|retain)\b.{0,30}\bcompat"
         r"|\bno need (?:to|for)\b|\bwe (?:don[’']?t|do not) need\b(?! to (?:know|see|worry))"
         r"|\b(?:drop|remove) support for\b|\bit[’']?s (?:fine|ok(?:ay)?) to (?:break|drop|ignore"
         r"|skip|remove|change|rename)\b|^no (?!worries|problem)\w+\b.{0,60}\bplease\b"),
    cue("decision", "en", "user", "any",
         "make sure|ensure|do |take |pick |choose |alone|untouched|unchanged|as is|as they are"
         "|we use |we always|we only|we never",
         r"\b(?:make sure|ensure)\b(?!.{0,120}\b(?:errors?|fail\w*|warnings?|lint|pass\w*)\b)"
         r".{0,120}\b(?:no|not|never|only|without|always|doesn[’']?t|don[’']?t|stays?|remains?)\b"
         r"|^(?:ok(?:ay)?[,.]? |yes[,.]? |let[’']?s )?(?:do|take|pick|choose) (?:option "
         r"|number |#)?"
         r"(?:[A-D]|\d)\b(?! (?:more|other|minute|time|thing|test|file|item)s?)"
         r"|\bleave (?:the|that|this|those|these|it|them|my|all)\b.{0,40}\b(?:alone|as is"
         r"|as they are|untouched|unchanged)\b|\bwe use \w+ (?:everywhere|for (?:all|every))\b"
         r"|\bwe (?:always|only|never) \w+"),
    # What is so by construction: whoever says it.
    cue("decision", "en", "any", "any",
         "has one|has many|has more|has exactly|has at most|has zero|belongs to|owns |contains one"
         "|contains many|contains more|contains exactly|contains at most|contains zero|maps to"
         "|constraint|foreign key|primary key|data model:|per ",
         r"\b(?:each|every|an?|one) \w+ (?:has|belongs to|owns|contains|maps to) (?:exactly "
         r"|at most "
         r"|zero or |one or )?(?:one|many|more)\b|^(?:exactly |only )?one \w+(?: \w+)? per \w+"
         r"|\b(?:unique|foreign[- ]key|not[- ]null) constraint (?:on|between)\b"
         r"|\bis (?:the|a) (?:primary|foreign) key\b|^\W*data model:",
         r"\b(?:bug|error|fails?|failed|wrong|currently|already|violat\w+)\b"),
    cue("decision", "en", "any", "any",
         "stateless|append-only|read-only|immutable|idempotent|compatible",
         r"\b(?:stays?|remains?|must be|should be|is|are) (?:stateless|append-only|read-only"
         r"|immutable|idempotent|backwards?[- ]compatible)\b",
         r"\b(?:not|bug|error|fails?|because|file system|filesystem)\b"),
    # Decisions of the assistant: a limit it sets itself, a choice, a constraint found.
    cue("decision", "en", "assistant", "any",
         "only|instead|rather than|leav|keep|without|dedicated|fail closed|revert",
         r"\b(?:I|we)(?:[’']ll| will|[’']m going to| am going to) (?!" + _NARRATED + r")\w+.{0,200}"
         r"\b(?:only|instead|rather than|leaving|leave (?:the|that|it|them|your)"
         r"|keep(?:ing)? (?:the|it|both)|without (?:touching|changing|any)|dedicated|fail closed)\b"
         r"|\bI(?:[’']ll| will) (?:leave|only (?!" + _NARRATED + r")|keep|revert)\b"
         r"|\bI(?:[’']m| am) \w+ing only\b",
         r"^Now\b|\bonly (?:then|if|after|when)\b|\binstead of (?:guessing|assuming)\b"
         r"|\bkeep (?:you|watching|going|looking|monitoring)\b"),
    cue("decision", "en", "assistant", "any",
         "decided|chose|opted|kept|settled|went with|rather than|instead of|agreed|going with"
         "|keeping|intentional|deliberate|avoid",
         r"\bI(?:[’']ve| have)? (?:decided|chose|chosen|opted|kept|settled on|went with)\b"
         r"|\bI(?:[’']ve| have)? (?:put|used|stored|placed|modell?ed|wrapped|implemented|made)\b"
         r".{1,120} (?:rather than|instead of)\b"
         r"|\bto avoid\b[^.]{1,80}, I(?:[’']ve)? (?:put|used|made|moved|kept|added|placed|split"
         r"|left)\b|\bI(?:[’']ve| have)? (?:intentionally|deliberately) \w+|\b(?:decided"
         r"|opted) (?:to|for|against|not)\b"
         r"|\bwe(?:[’']ve| have)? (?:decided|chose|agreed|settled)\b|\bgoing with\b"
         r"|\bkeeping (?:the )?\S+ (?:merge|as|because|since)\b"),
    cue("decision", "en", "assistant", "any",
         "non-goal|scope|source of truth|by design|design decision|decision:|constraint:|invariant",
         r"\b(?:is|are) (?:now )?(?:a |an explicit |explicitly )?(?:non-goals?"
         r"|out of (?:\w+ )?scope)\b"
         r"|\bout of scope\b|\bis (?:now )?the (?:single |only )?source of truth\b|\bby design\b"
         r"|\bdesign decision\b|\bdecision:|\bconstraint:|\binvariant\b"),
    # Open ends.
    cue("todo", "en", "any", "any",
         "todo|fixme|xxx|hack",
         r"(?<![\w.`\"'(/-])(?:TODO|FIXME|XXX|HACK)\b(?![`\"'])[:( ]",
         r"\bTODO list\b|\bno TODOs?\b|\bTODOs? (?:and|or|comments?|items?)\b"
         r"|\bupdate .{0,20}TODO"),
    cue("todo", "en", "assistant", "final",
         "still|need|should|have to|make sure|be sure|remember|forget|please",
         r"\bstill (?:needs?|has|have|to|requires?|missing|open|fail(?:s|ing)?|pending|broken"
         r"|flaky|unresolved)\b|\bneeds? to be (?:\w+ly |also )?(?:updated|removed|added|merged|run"
         r"|fixed|replaced|tested|implemented|migrated|deployed|rotated|reviewed|set|configured"
         r"|rebuilt|restarted|changed|created|handled|done|addressed|moved|renamed|installed"
         r"|published|released|documented|cleaned|regenerated|resolved|verified|checked|enabled)\b"
         r"|^(?:please|(?:please )?(?:make sure (?:to|you)|remember to|don[’']t forget to"
         r"|be sure to)) (?:rotate|run|set|update|install|restart|merge|deploy|rebuild|revoke"
         r"|enable|add|migrate"
         r"|configure|regenerate)\b"
         r"|\b(?:will need to|you(?:[’']ll| will| may| might)? (?:also )?(?:need|have) to|(?:we|you"
         r"|I) should (?:also |still )?(?:update|add|remove|replace|write|fix|test|check|consider"
         r"|run|document|handle))\b",
         r"\bno longer needs?\b|\bdo(?:es)?n[’']?t need\b|\bneeded to be\b|\bif you (?:want"
         r"|would)\b|\bjust needs? to be\b"),
    cue("todo", "en", "assistant", "final",
         "open question|open point|open issue|open item|follow|not implemented|not supported"
         "|not covered|not handled|not wired|yet|currently|for now|remain|left to do|left undone"
         "|limitation|known issue|next step|future|later|separate|workaround|stopgap"
         "|temporary fix|short-term fix|to be done|to be decided|to be implemented",
         r"\bopen (?:question|point|issue|item)s?\b|\bfollow[- ]?ups?\b(?! (?:adjustment|change"
         r"|edit))|\bnot yet (?:\w+ )?(?:implemented|done|supported|covered|tested|handled|wired"
         r"|merged|available|complete)\b|\bremains? (?:to be|open|unresolved|untested|flaky"
         r"|broken|until)\b"
         r"|\bleft (?:to do|undone|as (?:a )?(?:future|follow))\b"
         r"|\b(?:left|leave|leaving)\b.{1,60}\b(?:for|to) (?:a |an |another )?(?:later|separate"
         r"|future"
         r"|follow)|\bcan be (?:\w+ed|done) (?:later|separately)\b"
         r"|\b(?:the )?remaining (?:work|issue|step|task|problem|failure)s? (?:is|are)\b"
         r"|^remaining:"
         r"|\b(?:temporary|short-term) (?:workaround|fix|stopgap)\b|\bworkaround (?:until"
         r"|for now)\b"
         r"|\b(?:is|are) not (?:yet )?(?:implemented|supported|covered|handled|wired)\b"
         r"|\b(?:does|do)(?: not|n[’']t) (?:\w+ ){1,6}(?:yet|currently|for now)\b"
         r"|\b(?:known )?limitations?:"
         r"|\bknown (?:limitation|issue)|\bnext steps?:|\bfuture (?:work|improvement"
         r"|enhancement)s?\b|\bto be (?:done|decided|implemented)\b",
         r"\b(?:resolved|fixed|answered|closed|settled) (?:the|an|that|this)\b"
         r"|\bno (?:open|known|remaining)\b"),
    cue("todo", "en", "assistant", "final",
         "unable|not able|could not|couldn|did not|didn|have not|haven|caveat|limitation|rollback"
         "|roll back|to revert|would require|not tested|not verified|not run|not been|not covered"
         "|pre-existing|manually",
         r"\b(?:I|we) (?:was|were|am|are) (?:unable|not able) to\b|\bI (?:could not|couldn[’']?t"
         r"|did not|didn[’']?t) (?:run|test|verify|find(?! any)|implement|complete|fix|reproduce"
         r"|finish|update)\b|\bI (?:have not|haven[’']?t) (?:yet )?(?:run|tested|verified|updated"
         r"|added|implemented|touched|checked)\b|\b(?:caveats?|limitation|rollback|roll back"
         r"|to revert)\b.{0,8}:"
         r"|^to (?:roll back|revert)\b"
         r"|\bone caveat\b|\bwould require a\b|\bnot (?:been )?(?:tested|verified|run)\b|\b(?:is"
         r"|are|was|were|and) pre-existing\b|\bpre-existing (?:issue|failure|problem|bug|error)"
         r"|\bnot covered by\b|\bmanually (?:verify|test|check|run|update)\b"),
    cue("todo", "en", "user", "any",
         "ll handle|ll take|later|next time|follow|another pr|separate pr",
         r"\bI[’']?ll (?:follow up|do (?:it|that|this) later|handle|take care)\b|\b(?:later"
         r"|next time|in a follow[- ]?up|another PR|separate PR)\b.{0,60}\b(?:we|I|let[’']?s)\b"
         r"|\b(?:we|I|let[’']?s)\b.{0,60}\b(?:later|in a follow[- ]?up|another PR|separate PR)\b"),
)  # fmt: skip
