"""Opens redis-py clients by URL, with every policy stated: no hidden retries, no decoding.

`redis://`, `rediss://` and `unix://` as redis-py reads them; `redis+cluster://host:port,…`;
`redis+sentinel://host:port,…/master[/db]`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final
from urllib.parse import parse_qs, unquote, urlsplit

from redis.asyncio import Redis, RedisCluster
from redis.asyncio.cluster import ClusterNode
from redis.asyncio.retry import Retry
from redis.asyncio.sentinel import Sentinel
from redis.backoff import NoBackoff
from redis.credentials import CredentialProvider
from redis.maint_notifications import MaintNotificationsConfig

from .errors import UsageError
from .redis_url import CLUSTER_SCHEMES, PLAIN_SCHEMES, check_url
from .wire import Client

_SENTINEL_PORT: Final = 26379
_REDIS_PORT: Final = 6379


@dataclass(frozen=True, slots=True)
class ConnectionOptions:
    """What a URL doesn't say. Credentials given here win over those of the URL.

    `credentials` is asked for user and password whenever a connection is made, so that a rotated
    secret is picked up; it wins over both.
    """

    username: str | None = None
    password: str | None = None
    credentials: Callable[[], tuple[str | None, str | None]] | None = None
    sentinel_username: str | None = None
    sentinel_password: str | None = None
    tls_ca_file: str | None = None
    tls_cert_file: str | None = None
    tls_key_file: str | None = None
    timeout_s: float = 5.0
    connect_timeout_s: float = 5.0
    max_connections: int = 64

    def __repr__(self) -> str:
        return f"ConnectionOptions(timeout_s={self.timeout_s})"


def open_client(url: str, options: ConnectionOptions | None = None) -> Client:
    """A client for `url`, not yet connected; raises `UsageError` for a URL it can't read.

    Errors never show the URL: it may hold a password.
    """
    options = options or ConnectionOptions()
    check_url(url)
    scheme = url.partition("://")[0]
    try:
        if scheme in PLAIN_SCHEMES:
            return _plain_client(url, options)
        if scheme in CLUSTER_SCHEMES:
            return _cluster_client(url, options)
        return _sentinel_client(url, options)
    except UsageError:
        raise
    except ValueError as exc:
        raise UsageError(f"the {scheme}:// URL of Redis can't be read") from exc


def _plain_client(url: str, options: ConnectionOptions) -> Redis:
    tls = _tls(options) if url.startswith("rediss://") else {}
    client: Redis = Redis.from_url(url, **(_common(options) | tls))
    # redis-py lets the URL win; what is given apart, from a file say, is newer.
    kwargs = client.connection_pool.connection_kwargs
    if options.credentials is not None:
        kwargs.pop("username", None)
        kwargs.pop("password", None)
    kwargs.update(_credentials(options))
    if url.startswith("unix://"):
        kwargs.pop("socket_keepalive")  # a socket of this machine has none, nor redis-py a default
    return client


def _cluster_client(url: str, options: ConnectionOptions) -> RedisCluster:
    parts = _parts(url, _REDIS_PORT)
    tls = {"ssl": True, **_tls(options)} if parts.tls else {}
    kwargs = _common(options) | _chosen(parts, options) | tls
    kwargs.pop("retry")
    return RedisCluster(
        startup_nodes=[ClusterNode(host, port) for host, port in parts.hosts],
        retry=Retry(NoBackoff(), 0),
        **kwargs,
    )


def _sentinel_client(url: str, options: ConnectionOptions) -> Redis:
    parts = _parts(url, _SENTINEL_PORT)
    master, _, db = parts.path.partition("/")
    common = _common(options)
    tls = {"ssl": True, **_tls(options)} if parts.tls else {}
    sentinel_user = options.sentinel_username or parts.query.get("sentinel_username")
    sentinel_password = options.sentinel_password or parts.query.get("sentinel_password")
    apart = {"username": sentinel_user, "password": sentinel_password}
    sentinel = Sentinel(  # type: ignore[no-untyped-call]
        parts.hosts,
        sentinel_kwargs=common | tls | {key: value for key, value in apart.items() if value},
        **(common | _chosen(parts, options) | tls),
    )
    client: Redis = sentinel.master_for(master, db=int(db or 0))
    return client


@dataclass(frozen=True, slots=True)
class _Parts:
    """A URL with several hosts, taken apart."""

    hosts: list[tuple[str, int]]
    path: str
    query: dict[str, str]
    credentials: dict[str, str]
    tls: bool


def _parts(url: str, default_port: int) -> _Parts:
    split = urlsplit(url)
    userinfo, _, hosts = split.netloc.rpartition("@")
    user, _, password = userinfo.partition(":")
    named = {"username": unquote(user), "password": unquote(password)}
    return _Parts(
        hosts=[_host(host, default_port) for host in hosts.split(",") if host],
        path=split.path.strip("/"),
        query={key: values[-1] for key, values in parse_qs(split.query).items()},
        credentials={key: value for key, value in named.items() if value},
        tls=split.scheme.startswith("rediss"),
    )


def _host(text: str, default_port: int) -> tuple[str, int]:
    parsed = urlsplit(f"//{text}")
    if parsed.hostname is None:
        raise ValueError("empty host")
    return parsed.hostname, parsed.port or default_port


def _common(options: ConnectionOptions) -> dict[str, Any]:
    """Policies of every connection. A write is never sent twice by the client itself."""
    return {
        "protocol": 2,
        "decode_responses": False,
        "retry": Retry(NoBackoff(), 0),
        "socket_timeout": options.timeout_s,
        "socket_connect_timeout": options.connect_timeout_s,
        "socket_keepalive": True,
        "max_connections": options.max_connections,
        "maint_notifications_config": MaintNotificationsConfig(enabled=False),
    }


class _Asked(CredentialProvider):
    """Asks for user and password at every connection; never holds them."""

    def __init__(self, ask: Callable[[], tuple[str | None, str | None]]) -> None:
        self._ask = ask

    def get_credentials(self) -> tuple[str] | tuple[str, str]:
        username, password = self._ask()
        return (username, password or "") if username else (password or "",)

    async def get_credentials_async(self) -> tuple[str] | tuple[str, str]:
        return self.get_credentials()


def _credentials(options: ConnectionOptions) -> dict[str, Any]:
    if options.credentials is not None:
        return {"credential_provider": _Asked(options.credentials)}
    given = {"username": options.username, "password": options.password}
    return {key: value for key, value in given.items() if value is not None}


def _chosen(parts: _Parts, options: ConnectionOptions) -> dict[str, Any]:
    """Credentials of the options where there are any, else the URL's."""
    given = _credentials(options)
    return given if "credential_provider" in given else parts.credentials | given


def _tls(options: ConnectionOptions) -> dict[str, str]:
    given = {
        "ssl_ca_certs": options.tls_ca_file,
        "ssl_certfile": options.tls_cert_file,
        "ssl_keyfile": options.tls_key_file,
    }
    files = {key: value for key, value in given.items() if value is not None}
    for path in files.values():
        try:
            Path(path).open("rb").close()
        except OSError as exc:
            raise UsageError(f"can't read {path}, named for TLS: {exc.strerror}") from None
    return files
