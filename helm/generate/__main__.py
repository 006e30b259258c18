"""Write what is derived in the chart and in ops/alerts: `python helm/generate [--check]`.

| derived | from |
|---|---|
| values.yaml, block `config`; values.schema.json, property `config` | worker.settings.load |
| dashboards/ | ops/dashboards |
| ops/alerts/ares-worker.yaml | rules/alerts.yaml and the default thresholds |
| README.md | README.md.tmpl and the comments of values.yaml |

`--check` writes nothing and exits 1, naming each file that is out of date.
"""

from __future__ import annotations

import sys
from pathlib import Path

import alerts
import click
import config
import readme

ROOT = Path(__file__).resolve().parents[2]
CHART = ROOT / "helm" / "ares-worker"
DASHBOARDS = ROOT / "ops" / "dashboards"


def derived() -> dict[Path, str]:
    """Every derived file and the text it should have."""
    values = config.fill_values((CHART / "values.yaml").read_text("utf-8"))
    schema = config.fill_schema((CHART / "values.schema.json").read_text("utf-8"))
    rules = (CHART / "rules" / "alerts.yaml").read_text("utf-8")
    template = (CHART / "README.md.tmpl").read_text("utf-8")
    texts = {
        CHART / "values.yaml": values,
        CHART / "values.schema.json": schema,
        CHART / "README.md": readme.render(template, values, (CHART / "Chart.yaml").read_text()),
        ROOT / "ops" / "alerts" / "ares-worker.yaml": alerts.render(rules, values),
    }
    for dashboard in sorted(DASHBOARDS.glob("*.json")):
        texts[CHART / "dashboards" / dashboard.name] = dashboard.read_text("utf-8")
    return texts


@click.command(help=__doc__)
@click.option("--check", is_flag=True, help="Write nothing; exit 1 when a file is out of date.")
def main(check: bool) -> None:
    texts = derived()
    stale = [path for path, text in texts.items() if not path.exists() or path.read_text() != text]
    gone = [path for path in (CHART / "dashboards").glob("*.json") if path not in texts]
    for path in stale:
        if not check:
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(texts[path], "utf-8")
    for path in gone:
        if not check:
            path.unlink()
    for path in [*stale, *gone]:
        click.echo(f"{'out of date' if check else 'written'}: {path.relative_to(ROOT)}")
    sys.exit(1 if check and (stale or gone) else 0)


main()
