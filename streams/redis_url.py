"""Pure. What a Redis URL must be like, in words that never repeat it: it may hold secrets.

redis-py leaves out what it can't read (a database that is no number, any query of a cluster's URL)
and takes every query option for one of its own, timeouts and retries among them.
"""

from __future__ import annotations

from typing import Final
from urllib.parse import SplitResult, parse_qs, unquote, urlsplit

from .errors import UsageError

PLAIN_SCHEMES: Final = ("redis", "rediss", "unix")
CLUSTER_SCHEMES: Final = ("redis+cluster", "rediss+cluster")
SENTINEL_SCHEMES: Final = ("redis+sentinel", "rediss+sentinel")

_PLAIN_OPTIONS: Final = frozenset({"db", "username", "password", "client_name"})
_TLS_OPTIONS: Final = frozenset(
    {
        *("ssl_cert_reqs", "ssl_check_hostname", "ssl_ca_certs", "ssl_ca_path"),
        *("ssl_certfile", "ssl_keyfile", "ssl_password"),
    }
)
_SENTINEL_OPTIONS: Final = frozenset({"sentinel_username", "sentinel_password"})
_ENCODE: Final = "in a user or password write / as %2F, ? as %3F, # as %23, @ as %40, % as %25"


def check_url(url: str) -> None:
    """Raise `UsageError` for a URL that would fail, or do something else than it says."""
    scheme, separator, _ = url.partition("://")
    if not separator:
        raise UsageError("the Redis URL has no scheme, such as redis://")
    if scheme not in (*PLAIN_SCHEMES, *CLUSTER_SCHEMES, *SENTINEL_SCHEMES):
        raise UsageError("Redis URLs don't begin with that scheme; redis:// is the usual one")
    try:
        split = urlsplit(url)
    except ValueError:
        raise UsageError(f"the host of the {scheme}:// URL can't be read; {_ENCODE}") from None
    if split.fragment or "#" in url:
        raise UsageError(f"a # ends the {scheme}:// URL; {_ENCODE}")
    if scheme == "unix":
        _check_socket(split)
    else:
        _check_hosts(scheme, split)
        _check_path(scheme, unquote(split.path).strip("/"))
    _check_options(scheme, split)


def _check_socket(split: SplitResult) -> None:
    if not split.path.strip("/"):
        raise UsageError("a unix:// URL names a socket: unix:///run/redis.sock")
    host = split.netloc.rpartition("@")[2]
    if host:
        raise UsageError("a unix:// URL has three slashes: unix:///run/redis.sock")


def _check_hosts(scheme: str, split: SplitResult) -> None:
    hosts = split.netloc.rpartition("@")[2]
    several = scheme not in PLAIN_SCHEMES
    for host in hosts.split(",") if several else [hosts]:
        try:
            parsed = urlsplit(f"//{host}")
            port = parsed.port
        except ValueError:
            problem = f"the port of the {scheme}:// URL is no number from 1 to 65535"
            raise UsageError(f"{problem}; {_ENCODE}") from None
        if parsed.hostname is None and (several or host):
            raise UsageError(f"the {scheme}:// URL names no host")
        if port == 0:
            raise UsageError(f"the port of the {scheme}:// URL is no number from 1 to 65535")


def _check_path(scheme: str, path: str) -> None:
    if scheme in CLUSTER_SCHEMES:
        if path not in ("", "0"):
            raise UsageError(f"a {scheme}:// URL has no path: a cluster has database 0 alone")
        return
    database = path
    if scheme in SENTINEL_SCHEMES:
        master, _, database = path.partition("/")
        if not master:
            raise UsageError(f"a {scheme}:// URL ends with /<name of the master>")
    if database and not _is_number(database):
        raise UsageError(f"the {scheme}:// URL ends with no number of a database, such as /0")


def _check_options(scheme: str, split: SplitResult) -> None:
    known = _known_options(scheme)
    for name, values in parse_qs(split.query, keep_blank_values=True).items():
        if name not in known:
            # A name is no secret, unless it is the end of a password that holds a question mark.
            shown = f" {name}" if name.isidentifier() and "@" not in split.query else " in it"
            allowed = f"; known are {', '.join(sorted(known))}" if known else ""
            raise UsageError(f"a {scheme}:// URL has no option{shown}{allowed}")
        if name == "db" and not _is_number(values[0]):
            raise UsageError("db in the query of the Redis URL is no number")
        if name == "ssl_cert_reqs" and values[0] not in ("none", "optional", "required"):
            raise UsageError("ssl_cert_reqs in the Redis URL is none, optional or required")


def _known_options(scheme: str) -> frozenset[str]:
    if scheme in PLAIN_SCHEMES:
        return _PLAIN_OPTIONS | _TLS_OPTIONS if scheme == "rediss" else _PLAIN_OPTIONS
    return _SENTINEL_OPTIONS if scheme in SENTINEL_SCHEMES else frozenset()


def _is_number(text: str) -> bool:
    return text.isascii() and text.isdigit()
