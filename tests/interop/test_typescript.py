"""The TypeScript client: its types match the schema, and the example of its README runs."""

import re
import shutil
import subprocess
from pathlib import Path

import pytest
from django.conf import settings

from kmapp.accounts.models import ApiKey
from tests.interop.conftest import NODE, NODE_PACKAGES
from tests.web.browser import served

SOURCE: Path = settings.BASE_DIR / "clients" / "typescript"
RETRIES = """
import { createClient, KmappError } from "./index.js";

function answer(status: number, code: string, headers: Record<string, string> = {}): Response {
  return new Response(JSON.stringify({ error: code, message: "No." }), { status, headers });
}

async function count(...answers: Response[]): Promise<string> {
  const keys: (string | null)[] = [];
  const fetch = async (input: RequestInfo | URL) => {
    keys.push((input as Request).headers.get("Idempotency-Key"));
    return answers[keys.length - 1]!;
  };
  const kmapp = createClient("http://kmapp.example", "km_x", { fetch });
  let code = "none";
  try {
    await kmapp.POST("/v1/memory/store", { body: { text: "Tea." } });
  } catch (error) {
    code = (error as KmappError).code;
  }
  return `${keys.length} requests, ${new Set(keys).size} keys, error ${code}`;
}

const fine = new Response("{}", { status: 201 });
console.log(await count(answer(503, "busy"), answer(409, "idempotency_in_flight"), fine));
console.log(await count(answer(409, "version_conflict"), fine));
console.log(await count(answer(429, "daily_quota", { "Retry-After": "3600" }), fine));
console.log(await count(...[1, 2, 3, 4, 5].map(() => answer(503, "busy"))));
console.log(await count(new Response("null", { status: 400 })));

const conflict = { error: "stale_version", message: "No.", details: { version: 3 } };
const stale = createClient("http://kmapp.example", "km_x", {
  fetch: async () => new Response(JSON.stringify(conflict), { status: 409 }),
});
const changed = stale.POST("/v1/memory/store", { body: { text: "Tea." } });
console.log(await changed.catch((error: KmappError) => error.details.version));

const abort = new AbortController();
const busy = createClient("http://kmapp.example", "km_x", {
  fetch: async (input) => {
    (input as Request).signal.throwIfAborted();
    return answer(503, "busy", { "Retry-After": "50" });
  },
});
const started = Date.now();
setTimeout(() => abort.abort(), 100);
const stored = busy.POST("/v1/memory/store", { body: { text: "Tea." }, signal: abort.signal });
const ending = await stored.catch((error: Error) => error.name);
console.log(ending, Date.now() - started < 10_000);

const authorizations: (string | null)[] = [];
const trimmed = createClient("http://kmapp.example", " km_x\\r\\n", {
  fetch: async (input) => {
    authorizations.push((input as Request).headers.get("Authorization"));
    return new Response("{}");
  },
});
await trimmed.POST("/v1/memory/store", { body: { text: "Tea." } });
for (const key of ["km_…", "", "km_x\\nkm_y"]) {
  try {
    createClient("http://kmapp.example", key);
  } catch (error) {
    authorizations.push((error as Error).name);
  }
}
console.log(authorizations.join());
"""
CONSOLE = "declare const console: { log(...values: unknown[]): void };\n"
COMMENT = re.compile(r"/\*.*?\*/\s*", re.DOTALL)


@pytest.fixture
def package(tmp_path: Path) -> Path:
    """Return a copy of the package that uses the installed dependencies."""
    copy = tmp_path / "kmapp-client"
    shutil.copytree(SOURCE, copy, ignore=shutil.ignore_patterns("node_modules", "dist"))
    (copy / "node_modules").symlink_to(NODE_PACKAGES / "node_modules")
    return copy


def run(package: Path, *arguments: str) -> str:
    command = [str(NODE), *arguments]
    done = subprocess.run(command, cwd=package, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_types_match_the_schema(package: Path) -> None:
    """If this fails after a change of the API, run `npm run generate` against a running product."""
    with served() as site:  # without a database
        run(package, "generate.mjs", f"{site}/v1/schema", "generated.ts")
    generated, committed = (
        COMMENT.sub("", path.read_text())
        for path in (package / "generated.ts", SOURCE / "src" / "schema.ts")
    )
    assert generated == committed


def test_example_of_the_readme_and_retries(
    package: Path, site: str, key: tuple[ApiKey, str]
) -> None:
    [example] = re.findall(r"```ts\n(.*?)```", (package / "README.md").read_text(), re.DOTALL)
    replaced = {"kmapp-client": "./index.js", "http://localhost:8000": site, "km_…": key[1]}
    for old, new in replaced.items():
        assert old in example
        example = example.replace(old, new)
    for name, program in {"example": example, "retries": RETRIES}.items():
        (package / "src" / f"{name}.ts").write_text(CONSOLE + program)
    run(package, "node_modules/.bin/tsc", "-p", ".")
    hit, refusal = run(package, "dist/example.js").splitlines()
    assert re.fullmatch(r"0\.\d+ Mira prefers e-mail to phone calls\.", hit)
    assert refusal == "invalid_request text"
    assert run(package, "dist/retries.js").splitlines() == [
        "3 requests, 1 keys, error none",
        "1 requests, 1 keys, error version_conflict",
        "1 requests, 1 keys, error daily_quota",
        "4 requests, 1 keys, error busy",
        "1 requests, 1 keys, error error",
        "3",
        "AbortError true",
        "Bearer km_x,TypeError,TypeError,TypeError",
    ]
