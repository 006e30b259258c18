"""Pure. The alert rules for a Prometheus without the operator: the chart's with its defaults."""

from __future__ import annotations

import re
from typing import Final

import yaml

SELECTOR: Final = 'job="ares-worker"'
"""A plain scrape configuration knows no namespace; the rules keep the label where there is one."""

HEADER: Final = """\
# Alert rules for a Prometheus without the operator: load it by rule_files, scrape the workers as
# job ares-worker. Made from helm/ares-worker/rules/alerts.yaml by `python helm/generate`.
"""


def render(rules: str, values: str) -> str:
    """Fill the placeholders of rules/alerts.yaml with the defaults of values.yaml."""
    settings = yaml.safe_load(values)["prometheusRule"]
    filled = {
        "selector": SELECTOR,
        "runbookUrl": settings["runbookUrl"],
        **{name: f"{value:g}" if isinstance(value, float) else str(value)
           for name, value in settings["thresholds"].items()},
    }  # fmt: skip
    body = rules[rules.index("groups:") :]
    return HEADER + re.sub(r"\$\{(\w+)\}", lambda match: filled[match[1]], body)
