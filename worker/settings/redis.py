"""How Redis is reached. Secrets may be files; each `read_…` reads its file anew."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final
from urllib.parse import unquote, urlsplit

from pydantic import AfterValidator, Field, SecretStr

from ops.redact import secrets_in_url
from streams.redis_url import check_url

from .errors import SettingProblem, SettingsError
from .types import Count, Location, Section

if TYPE_CHECKING:
    from streams.connection import ConnectionOptions

DEFAULT_REDIS_URL: Final = "redis://127.0.0.1:6379/0"

URL_SCHEMES: Final = (
    "redis://",
    "rediss://",
    "unix://",
    "redis+cluster://",
    "rediss+cluster://",
    "redis+sentinel://",
    "rediss+sentinel://",
)


def _check_url(url: SecretStr) -> SecretStr:
    """What it holds is never repeated: there may be a password in it."""
    text = url.get_secret_value()
    if text != "embedded":
        if not text.startswith(URL_SCHEMES):
            raise ValueError(f"must be 'embedded' or start with one of {', '.join(URL_SCHEMES)}")
        check_url(text)
    return url


def _read_secret(key: str, path: Path) -> str:
    """First line of a mounted secret; what it holds never enters an error."""
    try:
        secret = path.read_text(encoding="utf-8").strip("\r\n")
    except (OSError, UnicodeError) as exc:
        reason = f"can't read {path}: {getattr(exc, 'strerror', None) or 'not UTF-8'}"
        raise SettingsError([SettingProblem(key, reason, f"file {path}")]) from None
    if not secret or "\n" in secret:
        reason = f"{path} must hold one line, the secret"
        raise SettingsError([SettingProblem(key, reason, f"file {path}")])
    return secret


class RedisSettings(Section):
    """Where Redis is and how it is spoken to."""

    url: Annotated[SecretStr, AfterValidator(_check_url)] = Field(
        default=SecretStr(DEFAULT_REDIS_URL),
        description="Redis by URL: `redis://`, `rediss://` (TLS), `unix://`, `redis+cluster://`, "
        "`redis+sentinel://host:port,host:port/master`, or `embedded`.",
    )
    url_file: Location | None = Field(
        default=None, description="File that holds the URL, a mounted secret."
    )
    username: str | None = Field(default=None, description="User; wins over one in the URL.")
    password: SecretStr | None = Field(
        default=None, description="Password; wins over one in the URL."
    )
    password_file: Location | None = Field(
        default=None, description="File that holds the password, a mounted secret."
    )
    sentinel_username: str | None = Field(default=None, description="User at the sentinels.")
    sentinel_password: SecretStr | None = Field(
        default=None, description="Password at the sentinels."
    )
    sentinel_password_file: Location | None = Field(
        default=None, description="File that holds the password at the sentinels."
    )
    tls_ca: Location | None = Field(default=None, description="CA bundle that signed the server.")
    tls_cert: Location | None = Field(default=None, description="Client certificate, PEM.")
    tls_key: Location | None = Field(default=None, description="Key of that certificate, PEM.")
    connect_timeout_ms: Count = Field(
        default=5_000, ge=100, le=600_000, description="Longest wait for a connection, ms."
    )
    socket_timeout_ms: Count = Field(
        default=10_000, ge=1_000, le=600_000, description="Longest wait for a reply, ms."
    )
    block_ms: Count = Field(
        default=2_000,
        ge=10,
        le=300_000,
        description="How long a blocking read waits, ms. At least 1,000 below the socket timeout.",
    )
    max_connections: Count = Field(
        default=64,
        ge=8,
        le=10_000,
        description="Most connections of one process; a worker may have 12 a tenant in any case.",
    )

    def connection_options(self) -> ConnectionOptions:
        """What opening a connection needs besides the URL; password files are read anew."""
        from streams.connection import ConnectionOptions

        return ConnectionOptions(
            username=self.username,
            password=self.read_password(),
            credentials=self._rotating(),
            sentinel_username=self.sentinel_username,
            sentinel_password=self.read_sentinel_password(),
            tls_ca_file=_text(self.tls_ca),
            tls_cert_file=_text(self.tls_cert),
            tls_key_file=_text(self.tls_key),
            timeout_s=self.socket_timeout_ms / 1000,
            connect_timeout_s=self.connect_timeout_ms / 1000,
            max_connections=self.max_connections,
        )

    def _rotating(self) -> Callable[[], tuple[str | None, str | None]] | None:
        """Reads the credentials anew from the files that hold them; None where no file does."""
        if self.password_file is not None:
            return lambda: (self.username, self.read_password())
        if self.url_file is not None and self.password is None and self._from_url()[1]:
            return self._from_url
        return None

    def _from_url(self) -> tuple[str | None, str | None]:
        split = urlsplit(self.read_url())
        username, password = split.username or self.username, split.password
        return unquote(username) if username else None, unquote(password) if password else None

    def secrets(self) -> list[str]:
        """Every password set, for a `Redactor`. Unreadable files are left to their readers."""
        secrets: list[str] = []
        with suppress(SettingsError):
            secrets += secrets_in_url(self.read_url())
        for read in (self.read_password, self.read_sentinel_password):
            with suppress(SettingsError):
                secrets += [secret for secret in [read()] if secret]
        return secrets

    def read_url(self) -> str:
        """The URL; a `url_file` is read anew. Raises `SettingsError` when it can't be."""
        if self.url_file is None:
            return self.url.get_secret_value()
        url = _read_secret("redis.url_file", self.url_file)
        try:
            _check_url(SecretStr(url))
        except ValueError as exc:
            where = f"file {self.url_file}"
            raise SettingsError([SettingProblem("redis.url_file", str(exc), where)]) from None
        return url

    def read_password(self) -> str | None:
        """The password set apart from the URL; a `password_file` is read anew."""
        if self.password_file is not None:
            return _read_secret("redis.password_file", self.password_file)
        return self.password.get_secret_value() if self.password else None

    def read_sentinel_password(self) -> str | None:
        """The password at the sentinels; its file is read anew."""
        if self.sentinel_password_file is not None:
            return _read_secret("redis.sentinel_password_file", self.sentinel_password_file)
        return self.sentinel_password.get_secret_value() if self.sentinel_password else None


def _text(path: Path | None) -> str | None:
    return None if path is None else str(path)
