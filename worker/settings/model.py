"""Pure. The model of all settings; `load_settings` fills it."""

from __future__ import annotations

from collections.abc import Mapping
from functools import cache
from typing import Annotated, Any, Final

from pydantic import AfterValidator, BeforeValidator, Field, PrivateAttr
from pydantic.fields import FieldInfo
from pydantic_settings import BaseSettings, NoDecode, PydanticBaseSettingsSource, SettingsConfigDict

from streams.keys import check_tenant

from .files import DEFAULT_TENANTS, split_list
from .pipeline import (
    ArchiveSettings,
    CommitSettings,
    CompactionSettings,
    LimitSettings,
    RetentionSettings,
    SequencerSettings,
)
from .process import LogSettings, MetricsSettings, SegmentSettings, WorkerSettings
from .redis import RedisSettings
from .types import Section

PREFIX: Final = "ARES_"
DEFAULT_ORIGIN: Final = "default"


class Settings(BaseSettings):
    """Every setting of a worker. Building it reads nothing; `load_settings` does."""

    model_config = SettingsConfigDict(
        env_prefix=PREFIX,
        env_nested_delimiter="_",
        env_nested_max_split=1,
        extra="forbid",
        frozen=True,
        hide_input_in_errors=True,
    )

    tenants: Annotated[
        tuple[Annotated[str, AfterValidator(check_tenant)], ...],
        NoDecode,
        BeforeValidator(split_list),
    ] = Field(
        default=DEFAULT_TENANTS, min_length=1, description="Tenants worked on; `a,b` or a list."
    )
    redis: RedisSettings = RedisSettings()
    limits: LimitSettings = LimitSettings()
    sequencer: SequencerSettings = SequencerSettings()
    commit: CommitSettings = CommitSettings()
    archive: ArchiveSettings = ArchiveSettings()
    compaction: CompactionSettings = CompactionSettings()
    retention: RetentionSettings = RetentionSettings()
    worker: WorkerSettings = WorkerSettings()
    metrics: MetricsSettings = MetricsSettings()
    log: LogSettings = LogSettings()
    segments: SegmentSettings = SegmentSettings()

    _origins: dict[str, str] = PrivateAttr(default_factory=dict)

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments alone: `load_settings` has layered the sources and knows each origin."""
        return (init_settings,)

    def origin(self, key: str) -> str:
        """Where the value of the dotted `key` came from."""
        return self._origins.get(key, DEFAULT_ORIGIN)

    def value(self, key: str) -> Any:
        """The value of the dotted `key`."""
        value: Any = self
        for part in key.split("."):
            value = getattr(value, part)
        return value


@cache
def setting_fields() -> Mapping[str, FieldInfo]:
    """Dotted key → declaration of every setting, in the order of the settings file."""
    fields: dict[str, FieldInfo] = {}
    for name, field in Settings.model_fields.items():
        if isinstance(field.default, Section):
            section = type(field.default).model_fields
            fields.update({f"{name}.{inner}": info for inner, info in section.items()})
        else:
            fields[name] = field
    return fields


def variable(key: str) -> str:
    """Name of the environment variable of the dotted `key`."""
    return PREFIX + key.replace(".", "_").upper()


@cache
def is_secret(key: str) -> bool:
    """Whether the value of the dotted `key` is never shown."""
    return "SecretStr" in str(setting_fields()[key].annotation)
