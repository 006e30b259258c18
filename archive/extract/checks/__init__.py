"""Pure. The table of verification tools."""

from __future__ import annotations

from typing import Final

from .go_rust import GO_RUST
from .jvm_dotnet import JVM_DOTNET
from .other import OTHER
from .python import PYTHON
from .ruby_php_elixir import RUBY_PHP_ELIXIR
from .tool import CheckTool, judge, without_failures
from .web import WEB

TOOLS: Final[tuple[CheckTool, ...]] = (
    *PYTHON, *GO_RUST, *WEB, *JVM_DOTNET, *RUBY_PHP_ELIXIR, *OTHER,
)  # fmt: skip

__all__ = ["TOOLS", "CheckTool", "judge", "without_failures"]
