#!/usr/bin/env python3
# Copyright (c) 2026, Sluice contributors.
# GPLv2, see LICENSE.
"""What monitor.sh gives to the programs of Debian's packages, made of docs/monitoring.

  monitor.py HOME EXPORTER SOCKET   writes into HOME: exporter.yml, for
                                    prometheus-sql-exporter on the port EXPORTER;
                                    prometheus.yml; consoles/lru.html

Debian's exporter has a file format of its own and puts its own names and labels on what it
exports, which Prometheus takes off again. Debian has no Grafana: Prometheus draws the panels of
the dashboard itself, as a console.
"""

import html
import json
import re
import sys
from pathlib import Path

import yaml

MONITORING = Path(__file__).resolve().parent.parent / "docs" / "monitoring"
COLLECTOR = MONITORING / "lru_sql_exporter.collector.yml"
DASHBOARD = MONITORING / "lru_grafana.json"

INTERVAL = 5  #: seconds between two scrapes
RATE_INTERVAL = f"{4 * INTERVAL}s"  #: as Grafana has it: four scrapes

STATIC = "{{ pathPrefix }}/classic/static"
HEAD = f"""<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<title>TITLE</title>
<link rel="stylesheet" href="{STATIC}/rickshaw/rickshaw.min.css">
<link rel="stylesheet" href="{STATIC}/css/prom_console.css">
<script src="{STATIC}/jquery/jquery.min.js"></script>
<script src="{STATIC}/d3/d3.min.js"></script>
<script src="{STATIC}/rickshaw/rickshaw.min.js"></script>
<script>var PATH_PREFIX = "{{{{ pathPrefix }}}}";</script>
<script src="{STATIC}/js/prom_console.js"></script>
<style>
body {{ font: 14px sans-serif; margin: 1em; width: 1240px }}
section {{ display: grid; grid-template-columns: 1fr 1fr; gap: 1.5em 2em }}
h2 {{ border-bottom: 1px solid #bbb; margin: 1.2em 0 .6em }}
h3 {{ font-size: 14px; margin: 0 0 .4em }}
td, th {{ padding: .15em .8em .15em 0; text-align: left }}
.bar {{ background: #6060c0; display: inline-block; height: .8em }}
.graph table {{ table-layout: fixed }}
</style>
</head>
<body>
<h1>TITLE</h1>
"""
#: A template can sort by a label, but not by the number that it is.
BY_SIZE = """<script>
for (const body of document.querySelectorAll("tbody"))
  body.append(...[...body.querySelectorAll("tr[data-size]")].sort((a, b) => a.dataset.size - b.dataset.size));
</script>
"""


def exporter_config(collector, socket):
    """The collector as a job of prometheus-sql-exporter: there a query makes one metric."""
    statements = {query["query_name"]: query["query"] for query in collector["queries"]}
    queries = [
        {
            "name": metric["metric_name"],
            "help": metric["help"],
            "labels": metric.get("key_labels", []),
            "values": metric["values"],
            "query": statements[metric["query_ref"]],
        }
        for metric in collector["metrics"]
    ]
    job = {
        "name": "lru",
        "interval": f"{INTERVAL}s",
        "connections": [f"mysql://exporter@unix({socket})/"],
        "queries": queries,
    }
    return {"jobs": [job]}


def prometheus_config(collector, exporter):
    """One target, whose metrics get the names and labels that the collector gives them."""
    relabel = [
        {
            "source_labels": ["__name__"],
            "regex": "sql_(innodb_lru_.*)",
            "target_label": "__name__",
            "replacement": "$1",
        }
    ]
    for metric in collector["metrics"]:
        if "value_label" in metric:
            relabel.append(
                {
                    "source_labels": ["__name__", "col"],
                    "separator": ";",
                    "regex": f"{metric['metric_name']};(.*)",
                    "target_label": metric["value_label"],
                    "replacement": "$1",
                }
            )
    relabel.append({"action": "labeldrop", "regex": "col|database|driver|host|sql_job|user"})
    scrape = {
        "job_name": "innodb_lru",
        "static_configs": [{"targets": [f"127.0.0.1:{exporter}"]}],
        "metric_relabel_configs": relabel,
    }
    timing = {"scrape_interval": f"{INTERVAL}s", "scrape_timeout": f"{INTERVAL}s"}
    return {"global": timing, "scrape_configs": [scrape]}


def console(dashboard, instance):
    """The dashboard as a page that Prometheus fills in and draws."""
    known = {"instance": instance, "__rate_interval": RATE_INTERVAL}
    for name in ("old_blocks_pct", "old_blocks_time"):
        known[name] = "{{ $" + name + " }}"

    def filled_in(text, inside_action=False):
        """In an action of the template, what the template knows is put in by printf."""
        if not inside_action:
            return re.sub(r"\$\{?(\w+)\}?", lambda match: known[match[1]], text)
        arguments = []

        def replace(match):
            if not match[1].startswith("old_blocks"):
                return known[match[1]]
            arguments.append(f"${match[1]}")
            return "%s"

        text = re.sub(r"\$\{?(\w+)\}?", replace, text)
        return (
            f"(printf {json.dumps(text)} {' '.join(arguments)})" if arguments else json.dumps(text)
        )

    parts = [HEAD.replace("TITLE", html.escape(dashboard["title"]))]
    for name in ("old_blocks_pct", "old_blocks_time"):
        parts.append("{{ $" + name + ' := "" }}')
        parts.append(
            "{{ with query \"innodb_lru_whatif_hit_percent{running='yes'}\" }}{{ $"
            + name
            + ' = . | first | label "'
            + name
            + '" }}{{ end }}\n'
        )
    is_open = False
    for number, panel in enumerate(dashboard["panels"]):
        title = html.escape(panel["title"])
        if panel["type"] == "row":
            parts.append(("</section>\n" if is_open else "") + f"<h2>{title}</h2>\n<section>\n")
            is_open = True
            continue
        parts.append(f'<div class="{panel["type"]}"><h3>{title}</h3>\n')
        targets = panel["targets"]
        if panel["type"] == "timeseries":
            names = ", ".join(legend(target["legendFormat"]) for target in targets)
            expressions = ", ".join(f'"{escaped(filled_in(target["expr"]))}"' for target in targets)
            parts.append(
                f'<div class="graph" id="panel{number}"></div>\n<script>new PromConsole.Graph({{'
                f'node: document.querySelector("#panel{number}"), width: 560, min: 0, '
                f"expr: [{expressions}], name: [{names}]}});</script>\n"
            )
        else:
            parts.append("<table>\n")
            for target in targets:
                if len(targets) > 1:
                    parts.append(f"<tbody><tr><th>{target_name(target['expr'])}</th></tr>\n")
                else:
                    parts.append("<tbody>\n")
                parts.append(
                    "{{ range query "
                    + filled_in(target["expr"], True)
                    + ' }}<tr data-size="{{ .Labels.pool_size }}">'
                    "{{ with .Labels.pool_size }}<td>{{ . | humanize1024 }}B</td>{{ end }}"
                    '<td class="number">{{ printf "%.4g" .Value }}</td>'
                )
                if panel["type"] == "barchart":
                    parts.append(
                        '<td><span class="bar" style="width: {{ printf "%.0f" .Value }}px"></span></td>'
                    )
                parts.append("</tr>{{ end }}\n</tbody>\n")
            parts.append("</table>\n")
        parts.append("</div>\n")
    parts.append("</section>\n" + BY_SIZE + "</body>\n</html>\n")
    return "".join(parts)


def legend(text):
    """Grafana's legend as a function of JavaScript; a label without a value is none."""
    return "labels => " + " + ".join(
        f'(labels.{part[2:-2].strip()} || "")' if part.startswith("{{") else json.dumps(part)
        for part in re.split(r"(\{\{.*?\}\})", text)
        if part
    )


def target_name(expression):
    """What an expression is about: error, confidence, filled."""
    return re.search(r"innodb_lru_whatif_([a-z]+)", expression)[1]


def escaped(expression):
    """For a string of JavaScript in a page; what the template fills in stays."""
    return expression.replace("\\", "\\\\").replace('"', '\\"')


def main():
    home, exporter, socket = Path(sys.argv[1]), sys.argv[2], sys.argv[3]
    collector = yaml.safe_load(COLLECTOR.read_text())
    dashboard = json.loads(DASHBOARD.read_text())
    (home / "consoles").mkdir(parents=True, exist_ok=True)
    (home / "exporter.yml").write_text(yaml.safe_dump(exporter_config(collector, socket)))
    (home / "prometheus.yml").write_text(yaml.safe_dump(prometheus_config(collector, exporter)))
    (home / "consoles" / "lru.html").write_text(console(dashboard, f"127.0.0.1:{exporter}"))


if __name__ == "__main__":
    main()
