"""The fast encoder is used only where it writes what the canonical one writes."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from archive.digest import _canonical

plain = st.characters(exclude_categories=["Cs"])
texts = st.text(plain, max_size=20)
numbers = st.integers(-(2**63), 2**64 - 1) | st.floats()
near = st.sampled_from([1e-4, 1e16, 0.0]).flatmap(
    lambda edge: st.floats(edge * (1 - 1e-9) - 1e-320, edge * (1 + 1e-9) + 1e-320)
)
rounded = st.decimals(-1_000_000, 1_000_000, places=3).map(float)
values = st.recursive(
    texts | numbers | near | rounded | st.booleans() | st.none(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(texts, inner, max_size=4),
    max_leaves=12,
)


@given(st.dictionaries(texts, values, max_size=5))
def test_a_document_has_the_bytes_that_json_dumps_writes(document: dict[str, Any]):
    written = json.dumps(document, sort_keys=True, separators=(",", ":"), ensure_ascii=False)
    assert _canonical(document) == written.encode()
