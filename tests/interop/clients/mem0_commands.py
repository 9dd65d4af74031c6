"""Run commands of mem0's command-line program (the last arguments); print their results."""

import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from urllib.parse import quote

# The program for Node never clears the timer of its first request, and waits for it at the end.
UNREF_TIMERS = """
const original = globalThis.setTimeout;
globalThis.setTimeout = (...values) => original(...values).unref();
"""

url, key, *program = sys.argv[1:]
environment = {
    **os.environ,
    "MEM0_API_KEY": key,
    "MEM0_BASE_URL": url,
    "MEM0_TELEMETRY": "false",
    "NODE_OPTIONS": f"--import=data:text/javascript,{quote(UNREF_TIMERS)}",
}


def run(*words):
    command = [*program, "--json", *words]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
    if done.returncode:
        sys.exit(f"{words}: {done.stdout}{done.stderr}")
    return json.loads(done.stdout[done.stdout.index("{") :])


def run_all(commands):
    """Run commands concurrently; return their results by name."""
    with ThreadPoolExecutor() as pool:
        results = pool.map(lambda words: run(*words), commands.values())
        return dict(zip(commands, results, strict=True))


added = run("add", "Bob likes green tea.", "-u", "bob", "--no-infer")
memory_id = added["data"][0]["id"]
seen = {"id": memory_id, "add": added}
seen |= run_all(
    {
        "status": ("status",),
        "search": ("search", "tea", "-u", "bob"),
        "get": ("get", memory_id),
        "list": ("list", "-u", "bob"),
        "update": ("update", memory_id, "Bob likes black tea."),
        "entities": ("entity", "list", "users"),
        "events": ("event", "list"),
        "infer": ("add", "Eve plays the cello.", "-u", "eve"),
    }
)
seen |= run_all(
    {"delete": ("delete", memory_id), "delete_all": ("delete", "--all", "-u", "eve", "--force")}
)
seen["after"] = run("list", "-u", "bob")
print(json.dumps(seen))
