"""Pure. Names that say secret, how a value is given to one, and values that only stand for one.

Patterns are linear: bounded, no nested quantifiers.
"""

from __future__ import annotations

import re
from typing import Final

_VALUE: Final = (
    r"(?:(?P<quote>[\"'`\\]{1,8})(?P<quoted>[^\"'`\\\n]{4,400})"
    r"|(?P<bare>(?:[^\s\"'\\`,;&<>(){}\[\]|]|&(?!&|[\w-]{1,40}=)){4,400}))(?P<end>[(\[]?)"
)

ASSIGNMENT: Final = re.compile(
    r"(?P<name>passw(?:or)?d|passphrase|\bpwd|_pwd|(?<=_)pass\b|secret|token|api[_-]?key|apikey"
    r"|access[_-]?key(?:[_-]?id)?|secret[_-]?key|private[_-]?key|client[_-]?secret|auth[_-]?key"
    r"|encryption[_-]?key|signing[_-]?key|account[_-]?key|credentials?|密码|密碼|口令"
    r"|令牌)(?P<mark>[\"'\\]{0,8}\s{0,3}(?::=|=>|[:=：]|\bis\b|是|为|為)\s{0,3})" + _VALUE,
    re.IGNORECASE,
)
"""A value given to a name that says secret; `screen` judges whether the value is one."""

FLAG: Final = re.compile(
    r"(?<![\w-])--?(?P<name>(?:[a-z]{1,20}-)?(?:password|passwd|passphrase|secret|token|api-?key"
    r"|access-key))(?P<mark>\s{1,2})(?!-)" + _VALUE,
    re.IGNORECASE,
)
"""The same as a command-line option: `--token VALUE`."""

ASSIGNMENT_HINTS: Final = (
    "passw", "passphrase", "pwd", "_pass", "secret", "token", "key", "credential",
    "密码", "密碼", "口令", "令牌",
)  # fmt: skip

PLACEHOLDER: Final = re.compile(
    r"^(?:x{3,}|\*{2,}|\.{2,}|-{2,}|_{2,}|your|my|the|some|any|this|that|example|sample|dummy"
    r"|fake|test|todo|change(?:me|it)?|replace|insert|redacted|withheld|hidden|none|null|nil|undefined|true"
    r"|false|yes|no|string|str|int|bool|number|optional|required|bytes|text|value|field|type"
    r"|object|var|const|let|new|await|return|process|os|env|config|settings|self|this|args|opts"
    r"|options|ctx|context|req|request|res|params|props|state|user|data|input|secrets?|vault|ref"
    r"|file|path|here|password|passwd|token|key|not|for|and|or|is|was|will|with|from|of|to|in|on"
    r"|at|by|as|it|if|when)(?:[_.:/\[-]|\b|$)|^[$%#@{<&]|\$\{|\{\{|%\(|<[a-z]",
    re.IGNORECASE,
)
