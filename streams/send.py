"""The producer's side of the inbox: XADD, many entries in one packet."""

from __future__ import annotations

from collections.abc import Sequence

from .keys import Keys
from .wire import Argument, Wires


async def send_to_inbox(
    wires: Wires, keys: Keys, entries: Sequence[Sequence[Argument]]
) -> list[str]:
    """XADD each entry, its field names and values in turn; return the inbox ids in order.

    The entries arrive in order, and not as one transaction: after an error some may be there.
    Those that carry an `id` may be sent again, they are recorded once. Raises the first error.
    """
    ids = await wires.exchange([("XADD", keys.inbox, "*", *fields) for fields in entries])
    return [entry_id.decode() for entry_id in ids]
