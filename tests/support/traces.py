"""Where some text is found: in every key of a tenant, and in every file below some folders."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from streams.keys import Keys
from streams.wire import Client


async def traces(client: Client, tenant: str, *needles: str, folders: tuple[Path, ...]) -> set[str]:
    """Keys and files, hidden ones too, that hold one of `needles`."""
    wanted = [needle.encode() for needle in needles]
    found = set()
    pattern = Keys(tenant).inbox.decode().removesuffix("inbox") + "*"
    async for key in client.scan_iter(pattern, count=1_000):
        content = repr(await _content(client, key)).encode()
        if any(needle in content for needle in wanted):
            found.add(key.decode())
    for path in (path for folder in folders for path in folder.rglob("*")):
        if path.is_file() and any(needle in path.read_bytes() for needle in wanted):
            found.add(str(path))
    return found


async def _content(client: Client, key: bytes) -> Any:
    kind = await client.type(key)
    if kind == b"stream":
        return await client.xrange(key)
    if kind == b"list":
        return await client.lrange(key, 0, -1)
    if kind == b"hash":
        return await client.hgetall(key)
    if kind == b"zset":
        return await client.zrange(key, 0, -1)
    return await client.get(key)
