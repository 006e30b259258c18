"""Events of a round in, what happened in it out."""

from .extraction import Extraction, extract

__all__ = ["Extraction", "extract"]
