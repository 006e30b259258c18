"""The Grafana dashboards, and what builds them: `python -m ops.dashboards` writes the JSON."""
