"""Credentials put together from parts, so that no scanner takes these files for a leak."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

LETTERS = "a1B2c3D4e5F6g7H8i9J0"
HEX = "0a1b2c3d4e5f60718293a4b5c6d7e8f9"


def _made() -> dict[str, str]:
    long = LETTERS * 12
    return {
        "aws-access-key": "AKIA" + "Q3EGRIZ7" * 2,
        "google-api-key": "AIza" + long[:35],
        "google-oauth-secret": "GOCSPX-" + long[:28],
        "azure-storage-key": "AccountKey=" + long[:86] + "==",
        "digitalocean-token": "dop_v1_" + HEX * 2,
        "databricks-token": "dapi" + HEX,
        "vault-token": "hvs." + long[:90],
        "github-token": "ghp_" + long[:36],
        "gitlab-token": "glpat-" + long[:20],
        "npm-token": "npm_" + long[:36],
        "pypi-token": "pypi-AgE" + long[:80],
        "docker-token": "dckr_pat_" + long[:27],
        "anthropic-key": "sk-ant-api03-" + long[:90],
        "openai-key": "sk-proj-" + long[:60],
        "huggingface-token": "hf_" + long[:34],
        "groq-key": "gsk_" + long[:52],
        "slack-token": "xoxb-" + "123456789012-" + long[:24],
        "discord-token": "MTE" + long[:21] + "." + long[:6] + "." + long[:27],
        "telegram-token": "123456789:AA" + long[:33],
        "sendgrid-key": "SG." + long[:22] + "." + long[:43],
        "stripe-key": "sk_live_" + long[:24],
        "shopify-token": "shpat_" + HEX,
        "linear-key": "lin_api_" + long[:40],
        "sentry-token": "sntryu_" + HEX * 2,
        "jwt": "eyJ" + long[:30] + ".eyJ" + long[:60] + "." + long[:43],
    }


@pytest.fixture(params=sorted(_made()), ids=sorted(_made()))
def credential(request: pytest.FixtureRequest) -> tuple[str, str]:
    """(kind, text) of one credential of an issuer's own form."""
    return request.param, _made()[request.param]


@pytest.fixture
def credentials() -> Mapping[str, str]:
    """All of them, by kind."""
    return _made()
