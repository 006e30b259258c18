"""The page on all settings: `python -m worker.settings.docs > docs/settings.md` writes it."""

from __future__ import annotations

import sys
from datetime import timedelta
from typing import Any, Literal, get_args, get_origin

from pydantic.fields import FieldInfo

from .model import Settings, setting_fields, variable
from .rules import BLOCK_MARGIN_MS
from .shown import show_value, written_as
from .types import Section, format_duration

_HEAD = f"""\
# Settings

Written by `python -m worker.settings.docs` from the settings themselves; don't edit it by hand.

Later wins: defaults, the TOML file (`--config FILE` or `ARES_CONFIG`), `ARES_*` variables, flags.
Every setting has a variable: `archive.max_rounds` is `ARES_ARCHIVE_MAX_ROUNDS`. An empty variable
counts as absent. Unknown keys and unknown `ARES_*` variables are errors.
`ares-worker config show` prints the value and the origin of each, secrets masked;
`ares-worker config check` tells what is wrong.

```toml
tenants = ["default"]

[redis]
url_file = "/run/secrets/redis-url"

[archive]
dir = "/data/rounds"
max_rounds = 0

[retention]
stream_ttl = "14d"
```

- Durations: `500ms`, `30s`, `5m`, `12h`, `7d`, or a number of seconds.
- Sizes: a number of bytes, or `512KiB`, `8MiB`, `1GiB`.
- File modes: quoted octal digits, `"0640"`.
- Secrets: a value, or a file named by the setting that ends in `_file`. A later layer's choice
  replaces an earlier one's; one layer may set one of the two. Files are read when a command or
  worker opens Redis.
- The Redis URL: in a user or password `/ ? # @ %` are written as `%2F %3F %23 %40 %25`. A query may
  hold `db`, `client_name`, `username`, `password`; with `rediss://` also `ssl_cert_reqs`,
  `ssl_check_hostname`, `ssl_ca_certs`, `ssl_ca_path`, `ssl_certfile`, `ssl_keyfile`,
  `ssl_password`; with sentinels only `sentinel_username` and `sentinel_password`. Anything else
  is refused: timeouts and retries are settings.
- Together: `redis.block_ms` stays {BLOCK_MARGIN_MS:,} below `redis.socket_timeout_ms`;
  `sequencer.lease_ttl_ms` is at least twice `redis.block_ms`; `worker.drain_timeout` is not
  below `redis.block_ms`; `archive.claim_idle_ms` is above `redis.socket_timeout_ms`;
  `compaction.keep_recent` is below `compaction.threshold`; `retention.forget_after`, unless 0,
  is not below `retention.stream_ttl`; `retention.feed_keep` is not above `retention.feed_max`.
"""


def settings_page() -> str:
    """The whole page, Markdown."""
    lines = [_HEAD]
    section = None
    for key, info in setting_fields().items():
        name = key.rpartition(".")[0]
        if name != section:
            section = name
            lines.append(_heading(section))
        lines.append(_row(key, info))
    return "\n".join(lines) + "\n"


def _heading(section: str) -> str:
    model = Settings.model_fields[section].default if section else None
    about = (
        (type(model).__doc__ or "").strip() if isinstance(model, Section) else "Top of the file."
    )
    title = f"`[{section}]`" if section else "Top level"
    return (
        f"\n## {title}\n\n{about}\n\n"
        "| setting | default | meaning | range | variable |\n|---|---|---|---|---|"
    )


def _row(key: str, info: FieldInfo) -> str:
    default = "" if info.default is None else f"`{show_value(info.default, info)}`"
    cells = (f"`{key}`", default, info.description or "", _range(info), f"`{variable(key)}`")
    return f"| {' | '.join(cell.replace('|', chr(92) + '|') for cell in cells)} |"


def _range(info: FieldInfo) -> str:
    if get_origin(info.annotation) is Literal:
        return ", ".join(f"`{choice}`" for choice in get_args(info.annotation))
    bounds = {name: _bound(info, name) for name in ("ge", "gt", "le")}
    low = bounds["ge"] or (bounds["gt"] and f"over {bounds['gt']}")
    if low and bounds["le"]:
        return f"{low} to {bounds['le']}"
    return (low if not low or low.startswith("over") else f"from {low}") or ""


def _bound(info: FieldInfo, name: str) -> str:
    found: Any = next((getattr(m, name) for m in info.metadata if hasattr(m, name)), None)
    if found is None:
        return ""
    if isinstance(found, timedelta):
        return format_duration(found)
    written = written_as(info)
    return written.show(found) if written else str(found)


if __name__ == "__main__":
    sys.stdout.write(settings_page())
