"""Pure. Why a connection could not be made, in words for a person: to what, and what stood there.

redis-py's own words hold numbers of errors, tuples, and objects with all their settings.
"""

from __future__ import annotations

import os
import socket
import ssl
from typing import Any, Final

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.sentinel import MasterNotFoundError, SentinelConnectionPool
from redis.exceptions import RedisClusterException
from redis.exceptions import TimeoutError as RedisTimeoutError

from .errors import AresError, StoreUnavailable
from .failures import translate


class TlsFailed(StoreUnavailable):
    """The server and this process can't agree on TLS."""

    hint: Final = (
        "redis.tls_ca names the CA that signed the server's certificate, "
        "redis.tls_cert and redis.tls_key are the client's."
    )


def unreachable(exc: Exception, client: Redis | RedisCluster) -> AresError:
    """The project's error for a connection of `client` that could not be made."""
    if isinstance(exc, RedisClusterException) and isinstance(exc.__cause__, Exception):
        exc = exc.__cause__  # what kept the last node from telling its slots
    failure = translate(exc)
    if type(failure) is not StoreUnavailable or failure.kind in ("loading", "read_only"):
        return failure
    family = TlsFailed if isinstance(_system_error(exc), ssl.SSLError) else StoreUnavailable
    return family(f"can't connect to {server_of(client)}: {_why(exc)}", kind=failure.kind)


def server_of(client: Redis | RedisCluster) -> str:
    """The server behind `client`, without user and password."""
    if isinstance(client, RedisCluster):
        nodes = sorted(client.nodes_manager.startup_nodes)
        return f"the cluster at {', '.join(nodes[:3])}{' and others' * (len(nodes) > 3)}"
    pool = client.connection_pool
    if isinstance(pool, SentinelConnectionPool):
        sentinels = ", ".join(server_of(each) for each in pool.sentinel_manager.sentinels)
        return f"master {pool.service_name!r} of the sentinels {sentinels}"
    given: dict[str, Any] = pool.connection_kwargs
    if path := given.get("path"):
        return f"socket {path}"
    host, port = given.get("host", "localhost"), given.get("port", 6379)
    return f"[{host}]:{port}" if ":" in host else f"{host}:{port}"


def _why(exc: BaseException) -> str:
    if isinstance(exc, MasterNotFoundError):
        return "no sentinel answers that knows it"
    if isinstance(exc, RedisTimeoutError | TimeoutError):
        return "no answer in time"
    system = _system_error(exc)
    if isinstance(system, ssl.SSLCertVerificationError):
        return f"its certificate is refused: {system.verify_message.rstrip('.')}"
    if isinstance(system, ssl.SSLError):
        return f"TLS fails: {(system.reason or str(system)).replace('_', ' ').lower()}"
    if isinstance(system, socket.gaierror):
        return str(system.strerror).lower()
    if isinstance(system, ConnectionResetError):
        return "it hung up: it may want TLS (rediss://), or a client certificate (redis.tls_cert)"
    if system is not None and system.errno:
        return os.strerror(system.errno).lower()
    return str(system or exc).rstrip(". ") or type(exc).__name__


def _system_error(exc: BaseException | None) -> OSError | None:
    """What the operating system or TLS said, below what redis-py made of it."""
    while exc is not None:
        if isinstance(exc, OSError):
            return exc
        exc = exc.__cause__ or exc.__context__
    return None
