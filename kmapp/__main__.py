"""The command `kmapp`, also `python -m kmapp`: the product's commands, and all of Django's."""

import os
import sys
import textwrap
from collections.abc import Mapping, Sequence

import django
from django.core.management import execute_from_command_line, get_commands, load_command_class

SECTIONS: Mapping[str, Sequence[str]] = {
    "Run": ("up", "upgrade", "demo", "mcp"),
    "Set up on servers of your own": ("provision", "migrate", "bootstrap"),
    "Back up and verify": (
        *("backup", "base_backup", "restore", "rehearse_restore"),
        *("checkpoint", "fsck", "accept_ledger", "scrub"),
    ),
    "Operate": ("doctor", "outbox", "embedding_models", "memories", "knowledge"),
    "Measure": (
        *("perf", "retrieval", "knowledge_perf", "context_perf", "context_evidence"),
        *("context_scenario", "rules_perf", "interop_perf"),
    ),
}
USAGE = """\
Usage: kmapp COMMAND [OPTIONS]

kmapp is a knowledge base for LLM agents that your organisation controls.
"""
FOOTER = """
`kmapp COMMAND --help` describes the options of a command; `kmapp help` lists Django's as well.
"""
WIDTH = 100
NAME_WIDTH = 19


def overview() -> str:
    """Return the help page: the commands of the product, by purpose."""
    django.setup()
    apps = get_commands()
    lines = [USAGE]
    for title, names in SECTIONS.items():
        lines.append(f"{title}:")
        for name in names:
            purpose = str(load_command_class(apps[name], name).help).partition(". ")[0]
            lines += textwrap.wrap(
                purpose.removesuffix("."),
                WIDTH,
                initial_indent=f"  {name:<{NAME_WIDTH - 2}}",
                subsequent_indent=" " * NAME_WIDTH,
            )
        lines.append("")
    return "\n".join(lines).rstrip() + "\n" + FOOTER


def main() -> None:
    """Run a command; without one, print the help page."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "kmapp.settings")
    if sys.argv[1:] in ([], ["-h"], ["--help"]):
        sys.stdout.write(overview())
    else:
        execute_from_command_line(["kmapp", *sys.argv[1:]])


if __name__ == "__main__":
    main()
