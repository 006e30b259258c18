"""Pure. Admits a tool's arguments whole, or not at all.

Arguments are any JSON. One ineligible value anywhere in them withholds the whole: then their
bytes cost nothing, but every visit made does. Objects are visited in key order, as stored.
"""

from __future__ import annotations

import math
from typing import Any

from .budget import Budget
from .canonical import INT_MAX, INT_MIN, encode
from .disclosure import disclosure_of
from .errors import SegmentInvalid

_DEPTH = 3


def read_arguments(value: Any, budget: Budget) -> str | None:
    """The canonical JSON of `value`, paid from `budget`; None where it is withheld whole.

    Raises `SegmentInvalid` where the budget ends, or eligible arguments are no JSON.
    """
    visit = _Visit(budget)
    size = visit.cost(value, _DEPTH)
    if size is None:
        return None
    if visit.fault:
        raise SegmentInvalid(f"tool arguments: {visit.fault}")
    budget.charge(len("input") + size)
    return encode(value, floats=visit.odd).decode()


class _Visit:
    """A fault is only kept in mind: a later ineligible value makes it nobody's business.

    `odd` values are what the fast encoder doesn't write: floats, and subclasses of str and int.
    """

    def __init__(self, budget: Budget) -> None:
        self._budget = budget
        self.fault = ""
        self.odd = False

    def cost(self, value: Any, depth: int) -> int | None:
        self._budget.node(depth)
        if isinstance(value, str):
            self.odd = self.odd or type(value) is not str
            return 8 + self._size(value)
        if isinstance(value, dict):
            return self._cost_of_object(value, depth)
        if isinstance(value, list | tuple):
            size = 8
            for item in value:
                cost = self.cost(item, depth + 1)
                if cost is None:
                    return None
                size += cost
            return size
        self._check_scalar(value)
        return 8

    def _cost_of_object(self, value: dict[Any, Any], depth: int) -> int | None:
        if disclosure_of(value) is None:
            return None
        if not all(isinstance(key, str) for key in value):
            self.fault = "an object has a key that is no text"
        size = 8
        for key in sorted(value, key=str):
            cost = self.cost(value[key], depth + 1)
            if cost is None:
                return None
            size += self._size(str(key)) + cost
        return size

    def _size(self, text: str) -> int:
        if text.isascii():
            return len(text)
        try:
            return len(text.encode())
        except UnicodeEncodeError:
            self.fault = "text holds half a surrogate pair"
            return 3 * len(text)

    def _check_scalar(self, value: Any) -> None:
        if value is None or isinstance(value, bool):
            return
        if isinstance(value, int):
            self.odd = self.odd or type(value) is not int
            if not INT_MIN <= value <= INT_MAX:
                self.fault = "an integer doesn't fit 64 bits"
        elif isinstance(value, float):
            self.odd = True
            if not math.isfinite(value):
                self.fault = "a number is not finite"
        else:
            self.fault = f"{type(value).__name__} is no JSON"
