"""The commands of `ares-worker` as its help lists them, each with the module that has it."""

from __future__ import annotations

from typing import Final

from .classes import LazyCommand, Section

SECTIONS: Final = (
    Section(
        "Start here",
        {
            "demo": LazyCommand(
                "worker.commands.demo:demo", "Show everything once, on a Redis of its own."
            ),
            "run": LazyCommand(
                "worker.commands.run:run", "Run the worker: sequence, archive, compact."
            ),
        },
    ),
    Section(
        "Events",
        {
            "emit": LazyCommand("worker.commands.emit:emit", "Send one event."),
            "import": LazyCommand(
                "worker.commands.importing:import_files", "Send the events of JSON lines files."
            ),
            "streams": LazyCommand(
                "worker.commands.streams:streams",
                "List streams, show one's events, mend a quarantined one.",
            ),
            "tail": LazyCommand(
                "worker.commands.tail:tail", "Follow events as they happen, one line each."
            ),
            "dead": LazyCommand(
                "worker.commands.dead:dead", "List, show, requeue or purge rejected events."
            ),
        },
    ),
    Section(
        "Archive",
        {
            "recall": LazyCommand(
                "worker.commands.recall:recall", "What was decided, changed and verified before."
            ),
            "record": LazyCommand(
                "worker.commands.record:record",
                "Build round records from files, without Redis.",
            ),
            "segment": LazyCommand(
                "worker.commands.segment:segment", "Seal, search and forget conversations by hand."
            ),
        },
    ),
    Section(
        "Operations",
        {
            "top": LazyCommand(
                "worker.commands.top:top", "Watch streams, lags, workers, leases and rates."
            ),
            "verify": LazyCommand(
                "worker.commands.verify:verify", "Check logs, state and archive together."
            ),
            "compact": LazyCommand(
                "worker.commands.compact:compact", "Fold a stream's old events into a summary."
            ),
            "erase": LazyCommand(
                "worker.commands.erase:erase", "Erase a round, a stream or a tenant for good."
            ),
            "subscribers": LazyCommand(
                "worker.commands.subscribers:subscribers",
                "Who follows the events, how far behind, what was dropped.",
            ),
            "config": LazyCommand(
                "worker.commands.config:config", "Show the settings and their origins; check them."
            ),
            "doctor": LazyCommand(
                "worker.commands.doctor:doctor", "Check Redis, volume and settings: what to do."
            ),
            "completion": LazyCommand(
                "worker.commands.completion:completion", "Print the completion script of a shell."
            ),
        },
    ),
)
