"""Pure. PromQL for the panels.

Own series are filtered by pod and added up; shared ones are the same from every worker, so their
maximum is taken, never their sum. No query is NaN while nothing happens: a share or a quantile of
nothing is shown as 0.
"""

from __future__ import annotations

from typing import Final

FLEET: Final = 'job=~"$job",namespace=~"$namespace"'
OWN: Final = f'{FLEET},pod=~"$pod"'
TENANT: Final = f'{FLEET},tenant=~"$tenant"'
SEQUENCER: Final = 'lease="sequencer"'
UP: Final = f"max(ares_build_info{{{FLEET}}})"
"""1 while any worker is scraped; absent otherwise."""


def own(metric: str, extra: str = "") -> str:
    """Selector of an own series; `extra` are further matchers."""
    return f"{metric}{{{OWN}{',' if extra else ''}{extra}}}"


def rate(metric: str, by: str = "", extra: str = "") -> str:
    """Events per second of a counter, summed over workers."""
    return f"sum{_by(by)}(rate({own(metric, extra)}[$__rate_interval]))"


def increase(metric: str, window: str, by: str = "", extra: str = "") -> str:
    """Growth of a counter within `window`, summed over workers."""
    return f"sum{_by(by)}(increase({own(metric, extra)}[{window}]))"


def shared(metric: str, by: str = "tenant") -> str:
    """A shared gauge, by tenant."""
    return f"max{_by(by)}({metric}{{{TENANT}}})"


def quantile(q: float, histogram: str, by: str = "") -> str:
    """A quantile over workers; 0 while nothing was observed."""
    buckets = rate(f"{histogram}_bucket", f"le, {by}" if by else "le")
    count = rate(f"{histogram}_count", by)
    return f"histogram_quantile({q}, {buckets}) >= 0 or {count}"


def quantiles(histogram: str) -> list[tuple[str, str]]:
    """Median, 95 and 99 of a hundred, with their legends."""
    return [(quantile(q, histogram), f"p{q * 100:.0f}") for q in (0.5, 0.95, 0.99)]


def tenants(metric: str) -> list[tuple[str, str]]:
    """A shared gauge, a line for each tenant."""
    return [(shared(metric), "{{tenant}}")]


def share(part: str, whole: str) -> str:
    """`part` of `whole`, two rates or increases; 0 while there is nothing to share."""
    return f"({part} / {whole}) >= 0 or {whole}"


def or_else(query: str, value: str) -> str:
    """`query`, or `value` where a running fleet doesn't have it yet."""
    return f"{query} or {value} * {UP}"


def _by(labels: str) -> str:
    return f" by ({labels}) " if labels else ""
