"""Redis URLs: what would fail or be ignored is refused by name, and no word of them is repeated."""

from __future__ import annotations

import pytest

from streams.connection import ConnectionOptions, open_client
from streams.errors import UsageError
from streams.redis_url import check_url


@pytest.mark.parametrize(
    "url",
    [
        "redis://127.0.0.1:6379/0",
        "redis://localhost",
        "redis://",
        "redis://[::1]:6379/3",
        "redis://user:p%2Fw%40x@redis:6379/0?client_name=w",
        "rediss://redis:6380?ssl_cert_reqs=none",
        "unix:///run/redis.sock?db=2&password=x",
        "redis+cluster://a:7000,b:7001",
        "redis+cluster://a:7000/0",
        "rediss+sentinel://a,b:26380/main/4?sentinel_password=x",
    ],
)
async def test_every_kind_of_url_is_taken(url: str):
    check_url(url)

    await open_client(url).aclose()


@pytest.mark.parametrize(
    ("url", "why"),
    [
        ("127.0.0.1:6379", "has no scheme"),
        ("http://redis:6379", "don't begin with that scheme"),
        ("redis://redis:99999", "the port"),
        ("redis://redis:0", "the port"),
        ("redis://redis:abc", "the port"),
        ("redis://[::1", "the host"),
        ("redis://redis:6379/main", "number of a database"),
        ("redis://redis:6379?db=x", "db in the query"),
        ("redis://redis?retry_on_timeout=1", "no option retry_on_timeout"),
        ("redis://redis?ssl_cert_reqs=none", "no option ssl_cert_reqs"),
        ("rediss://redis?ssl_cert_reqs=no", "none, optional or required"),
        ("rediss://redis?ssl_nonsense=1", "no option ssl_nonsense"),
        ("redis://redis?canary=1@x", "no option in it"),
        ("unix://run/redis.sock", "three slashes"),
        ("unix://", "names a socket"),
        ("redis+cluster://", "names no host"),
        ("redis+cluster://a,,b", "names no host"),
        ("redis+cluster://a/1", "database 0 alone"),
        ("redis+cluster://a?protocol=3", "no option protocol"),
        ("redis+sentinel://a:26379", "/<name of the master>"),
        ("redis+sentinel://a/main/x", "number of a database"),
    ],
)
def test_a_url_that_cannot_mean_what_it_says_is_refused_with_the_reason(url: str, why: str):
    with pytest.raises(UsageError) as refused:
        open_client(url)

    assert why in str(refused.value)


@pytest.mark.parametrize("character", "/#?")
@pytest.mark.parametrize("scheme", ["redis", "rediss", "redis+cluster", "redis+sentinel"])
def test_an_unescaped_password_is_refused_and_never_repeated(scheme: str, character: str):
    with pytest.raises(UsageError) as refused:
        check_url(f"{scheme}://user:canary{character}yranac@redis:6379/0")

    assert "canary" not in str(refused.value)
    assert "yranac" not in str(refused.value)
    assert "write / as %2F" in str(refused.value)


def test_a_missing_file_of_tls_is_named_before_anything_is_connected():
    options = ConnectionOptions(tls_ca_file="/no/ca.crt")

    with pytest.raises(UsageError, match=r"can't read /no/ca\.crt, named for TLS: No such file"):
        open_client("rediss://redis:6380", options)
