"""The forty reliability promises, with the injected fault and the required figure."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Promise:
    """A row of the table of promises; the promise is broken when `required` is not met."""

    text: str
    fault: str
    required: str


PROMISES = {
    # --- Durability and writes --------------------------------------------------------------------
    1: Promise(
        "An acknowledged write survives; the memory, its commit and its jobs are one unit.",
        "The database crashes under 4 writers.",
        "0 of at least 1,000 acknowledged writes lost, 0 orphans, healthy within 10 s",
    ),
    2: Promise(
        "A write can be retried.",
        "kill -9 of the web process after COMMIT, before the response.",
        "100 of 100: one memory, one commit, the same ID",
    ),
    3: Promise(
        "Concurrent equal writes are stored once; a different body under the same ID is refused.",
        "20 concurrent writes with one client_id, then 20 with another body.",
        "1 row, its ID 20 times, no 5xx; 20 of 20 others get a 409",
    ),
    4: Promise(
        "Writing does not depend on the embedder.",
        "The embedder is killed; 200 writes.",
        "all 201, p95 at most 1.2 times that with a healthy embedder, all READY within 60 s "
        "of its return",
    ),
    5: Promise(
        "A rolled-back change leaves no jobs.",
        "100 transactions fail after they queued jobs.",
        "0 events, 0 messages",
    ),
    6: Promise(
        "Corrections do not overwrite each other.",
        "50 pairs of reviewers with the same version.",
        "50 succeed, 50 get a 409, none lost",
    ),
    # --- Jobs ------------------------------------------------------------------------
    7: Promise(
        "A job survives the process that runs it.",
        "kill -9 of the child process during the job.",
        "done once, within 15 s",
    ),
    8: Promise(
        "A job survives the whole worker.",
        "kill -9 of the worker and its children; a new worker starts.",
        "done once, within 60 s",
    ),
    9: Promise(
        "A worker that resumes after its lease expired changes nothing.",
        "SIGSTOP beyond the lease, another worker runs the job, SIGCONT.",
        "done once; the late worker writes 0 rows and is logged as fenced",
    ),
    10: Promise(
        "A duplicate message has no effect.",
        "Each message 5 times; jobs longer than the broker's visibility timeout.",
        "100 of 100 done once",
    ),
    11: Promise(
        "Losing the broker loses no jobs.",
        "kill -9 of the broker with 500 jobs queued; it restarts empty.",
        "every write in the meantime a 2xx, 500 of 500 done within 120 s",
    ),
    12: Promise(
        "A poison job affects only itself and can be retried after a fix.",
        "One job that always raises and one that kills its process, each among 200.",
        "failed permanently after the last attempt; the others done, their p95 at most 1.5 "
        "times; replayed: done once",
    ),
    13: Promise(
        "A worker stops cleanly.",
        "SIGTERM during 20 jobs.",
        "stopped within 30 s, 0 lost, 20 done once",
    ),
    14: Promise(
        "Two schedulers do no harm.",
        "Two beat processes and two sweeping workers for 60 s.",
        "nothing done twice",
    ),
    15: Promise(
        "A database without free connections gives clear errors.",
        "All but 2 of its connections are held; 100 requests.",
        "only 2xx, or 503 with Retry-After; healthy within 5 s of the release",
    ),
    # --- Model providers and recall ---------------------------------------------------------------
    16: Promise(
        "Recall works without the embedder.",
        "The embedder stops responding (SIGSTOP); 200 recalls.",
        "0 5xx, results each time, each with a reason; p99 2.0 s of the recalls that wait, "
        "150 ms of the others in the best of up to 4 rounds",
    ),
    17: Promise(
        "Calls to a failing provider stop, and resume when it recovers.",
        "200 calls meet errors; then the provider recovers.",
        "5 calls reach it, then 1 per window; circuit closed within 2 windows",
    ),
    18: Promise(
        "A provider call has a total deadline.",
        "One byte per second; Retry-After 3600, NaN, -1; no response.",
        "every call ends within 2.5 s",
    ),
    19: Promise(
        "An invalid vector is never used.",
        "Wrong size, NaN, inf, zero, too few, wrong order: 20 of each.",
        "0 of 120 READY, 120 with a reason; a planted zero vector in 0 of 100 searches",
    ),
    20: Promise(
        "A small account gets all of its rows.",
        "100 accounts of very different sizes in one index of 20,000.",
        "10 of 10 rows in every search, recall@10 at least 0.95",
    ),
    21: Promise(
        "A token budget is never exceeded.",
        "1,000 generated calls with long texts, emoji and halves of surrogate pairs; 2,000 "
        "candidates for one call.",
        "each within budget or refused, at least 500 within; no citation cut, parts add up",
    ),
    # --- Separation of accounts ------------------------------------------------------------------
    22: Promise(
        "IDs of another account behave like unknown IDs.",
        "Every route and method with the IDs of another account.",
        "every route probed; same response as for a random ID; 0 rows changed",
    ),
    23: Promise(
        "The database fails closed.",
        "Raw SQL as the app role, without an account.",
        "0 rows; row-level security forced on every account table",
    ),
    24: Promise(
        "Nothing leaks through a reused connection.",
        "1,000 alternating uses by two accounts with failures and cancellations in between; "
        "also in workers.",
        "0 leaks",
    ),
    25: Promise(
        "Embeddings are not exposed.",
        "Every route, page, file, error and log is asked for them; 40 spellings of the "
        "request on the list endpoints.",
        "0 without the debug scope; at most 5, within the requested bytes, with it",
    ),
    # --- Ledger and backup ----------------------------------------------------------------
    26: Promise(
        "An edited commit is detected.",
        "100 edits of single values by a superuser; 100,000 commits.",
        "100 of 100 with their number, 0 false alarms in 100 runs in between; 100,000 within "
        "5 s of fsck's CPU time",
    ),
    27: Promise(
        "A row edited behind the ledger's back is detected.",
        "Every sealed column of every table is changed; rows vanish, appear, return.",
        "all detected",
    ),
    28: Promise(
        "A recomputed chain is detected.",
        "All hashes after a change recomputed; the last commits cut; an old dump restored.",
        "3 of 3 detected by checkpoints",
    ),
    29: Promise(
        "A chain has no forks.",
        "8 writers of 50 commits, with a bulk job.",
        "0 forks, at least 150 commits per second",
    ),
    30: Promise(
        "A backup restores the same state.",
        "A dump during writes, restored elsewhere.",
        "fsck clean, its head an ancestor of the live one, the same recall results; 100,000 "
        "memories within 120 s (`make long`)",
    ),
    # --- Requests, input and abuse ----------------------------------------------------------------
    31: Promise(
        "The API matches its schema.",
        "Generated requests: examples, limits, invalid values, sequences; with and without a key.",
        "0 server errors, 0 responses outside the schema, 0 endpoints open without a key",
    ),
    32: Promise(
        "Hostile text is refused or returned unchanged.",
        "40 payloads in every field of a memory; NUL, half a surrogate pair and two others, "
        "in turn, in every field of the API schema.",
        "0 5xx; stored text is equal",
    ),
    33: Promise(
        "A large or slow request is refused and delays nobody.",
        "Bodies of 1, 3 and 200 MB, 10,000 items, slow senders.",
        "400 or 413; a web process grows by at most 100 MB; others' p95 at most twice, in "
        "the best of up to 4 rounds",
    ),
    34: Promise(
        "Text from people and agents never becomes markup.",
        "60 payloads in every text, every page, in a browser, both languages.",
        "0 dialogs, 0 external requests, 0 CSP violations",
    ),
    35: Promise(
        "No page acts on forged requests.",
        "Every unsafe route without a token and from another origin; sessions at the API.",
        "all 403; the API ignores sessions; a strict CSP on every response",
    ),
    36: Promise(
        "The server makes no requests to forbidden addresses.",
        "40 loopback, metadata and private addresses, redirects, changing DNS.",
        "0 of 40 contacted; an allowed site works",
    ),
    37: Promise(
        "A decompression bomb affects only itself.",
        "Archives, documents and code that explode in memory, time or depth.",
        "refused within 15 s in 512 MB; others' jobs at most twice as long plus 0.1 s, p95",
    ),
    38: Promise(
        "A rate limit is exact.",
        "100 concurrent requests with forged addresses.",
        "exactly the limit passes; 429 with Retry-After",
    ),
    39: Promise(
        "Poisoned memories stay data.",
        "200 hostile texts, a third of them held out from tuning.",
        "0 leave the fence or become account-wide without review; 90 % flagged, at most 5 % "
        "of benign texts",
    ),
    40: Promise(
        "The schema migrates in both directions under load; clocks may differ.",
        "Migrations down and up with rows and concurrent requests; a clock an hour off.",
        "fsck clean, locks at most 1 s, nothing done twice",
    ),
}
