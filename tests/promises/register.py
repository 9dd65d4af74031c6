"""The forty promises: what is done to the product, and the figure that it has to reach."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Promise:
    """One row of the table; `asked` is the figure under which the promise is broken."""

    text: str
    fault: str
    asked: str


PROMISES = {
    # --- Durability and writes --------------------------------------------------------------------
    1: Promise(
        "An acknowledged write survives; memory, commit and what it owes are one unit.",
        "The database crashes under 4 writers.",
        "0 of at least 1,000 acknowledged lost, 0 orphans, all well within 10 s",
    ),
    2: Promise(
        "A write may be sent again.",
        "kill -9 of the web process after COMMIT, before the answer.",
        "100 of 100: one memory, one commit, the same id",
    ),
    3: Promise(
        "Equal writes at once are one; another body under the same name is refused.",
        "20 at once with one client_id, then 20 with another body.",
        "1 row, 20 times its id, no 5xx; 20 of 20 others a 409",
    ),
    4: Promise(
        "Writing does not need the embedder.",
        "The embedder is killed; 200 writes.",
        "each a 201, p95 at most 1.2 times the healthy one, all READY within 60 s of its return",
    ),
    5: Promise(
        "What is undone is owed to nobody.",
        "100 transactions fail after they queued work.",
        "0 events, 0 messages",
    ),
    6: Promise(
        "Corrections do not overwrite each other.",
        "50 pairs of reviewers with the same version.",
        "50 done, 50 a 409, none lost",
    ),
    # --- Work that is owed ------------------------------------------------------------------------
    7: Promise(
        "A job survives the process that does it.",
        "kill -9 of the child in the middle of it.",
        "done once, within 15 s",
    ),
    8: Promise(
        "A job survives the whole worker.",
        "kill -9 of the worker and its children; a new one.",
        "done once, within 60 s",
    ),
    9: Promise(
        "Who comes back from the dead changes nothing.",
        "SIGSTOP past the lease, another worker does it, SIGCONT.",
        "done once; the late one writes 0 rows and is logged as fenced",
    ),
    10: Promise(
        "A message that comes again does nothing again.",
        "Each message 5 times; jobs longer than the broker's visibility timeout.",
        "100 of 100 done once",
    ),
    11: Promise(
        "Losing the broker loses no work.",
        "kill -9 of the broker with 500 queued; it comes back empty.",
        "every write meanwhile a 2xx, 500 of 500 done within 120 s",
    ),
    12: Promise(
        "A poisonous job harms only itself, and can be tried again once mended.",
        "One that always raises and one that kills its process, each among 200.",
        "given up after the last attempt; the others done, their p95 at most 1.5 times;"
        " replayed: done once",
    ),
    13: Promise(
        "A worker stops cleanly.",
        "SIGTERM during 20 jobs.",
        "gone within 30 s, 0 lost, 20 done once",
    ),
    14: Promise(
        "Two schedulers do no harm.",
        "Two beats and two workers that sweep, for 60 s.",
        "nothing done twice",
    ),
    15: Promise(
        "A database without room is said politely.",
        "All but 2 of its connections are held; 100 requests.",
        "only 2xx, or 503 with Retry-After; well within 5 s of the release",
    ),
    # --- Model providers and recall ---------------------------------------------------------------
    16: Promise(
        "Recall answers without the embedder.",
        "The embedder stops answering (SIGSTOP); 200 recalls.",
        "0 5xx, something found each time, each says why; p99 2.0 s of those that wait, 150 ms of"
        " the others in the best of up to 4 rounds",
    ),
    17: Promise(
        "A broken provider is left alone, and taken back.",
        "200 calls meet errors; then it heals.",
        "5 reach it, then 1 a window; closed within 2 windows",
    ),
    18: Promise(
        "A call has a total deadline.",
        "A byte a second; Retry-After 3600, NaN, -1; silence.",
        "every call ends within 2.5 s",
    ),
    19: Promise(
        "A bad vector never counts.",
        "Wrong size, NaN, inf, zero, too few, in another order: 20 of each.",
        "0 of 120 READY, 120 with a reason; a planted zero in 0 of 100 searches",
    ),
    20: Promise(
        "A small account gets all of its rows.",
        "100 accounts of very different sizes in one index of 20,000.",
        "10 of 10 rows in every search, recall@10 at least 0.95",
    ),
    21: Promise(
        "A budget is never exceeded.",
        "1,000 invented calls: long texts, emoji, halves of pairs; 2,000 candidates for one call.",
        "each within it or refused, at least 500 within; no citation cut, parts add up",
    ),
    # --- Accounts are kept apart ------------------------------------------------------------------
    22: Promise(
        "Another account's ids are nobody's.",
        "Every route and method with the ids of another account.",
        "every route probed; answered as a random id is; 0 rows changed",
    ),
    23: Promise(
        "The database fails closed.",
        "Raw SQL as the app role, without an account.",
        "0 rows; row security forced on every table of accounts",
    ),
    24: Promise(
        "Nothing leaks through a connection that is used again.",
        "1,000 turns of two accounts with failures and cancellations between; workers, too.",
        "0 leaks",
    ),
    25: Promise(
        "Embeddings do not leave.",
        "Every route, page and file, refusals and the log, asked for them; 40 spellings of that at"
        " the doors that list memories.",
        "0 without the gate; at most 5, within the bytes asked for, with it",
    ),
    # --- The ledger and the backup ----------------------------------------------------------------
    26: Promise(
        "An edited commit is found.",
        "100 edits of single values by a superuser; 100,000 commits.",
        "100 of 100 with their number, 0 false alarms in 100 runs between; 100,000 in 5 s of"
        " fsck's own processor time",
    ),
    27: Promise(
        "A row that was edited behind the ledger's back is found.",
        "Every sealed column of every table is changed; rows vanish, appear, return.",
        "all found",
    ),
    28: Promise(
        "A chain that was made whole again is found.",
        "All hashes after a change recomputed; the last commits cut; an old dump put back.",
        "3 of 3 found by what was signed",
    ),
    29: Promise(
        "A chain has no forks.",
        "8 writers of 50 commits, a bulk job beside.",
        "0 forks, at least 150 commits a second",
    ),
    30: Promise(
        "A backup is the same truth.",
        "A dump during writes, put back elsewhere.",
        "fsck clean, its head an ancestor of the live one, the same answers;"
        " 100,000 memories within 120 s (`make long`)",
    ),
    # --- Requests, input and abuse ----------------------------------------------------------------
    31: Promise(
        "The API is what its schema says.",
        "Generated requests: examples, limits, nonsense, in sequence; with and without a key.",
        "0 server errors, 0 answers outside the schema, 0 doors without a key",
    ),
    32: Promise(
        "Hostile text is refused, or comes back whole.",
        "40 payloads in every field of a memory; NUL, half a pair and two more of them, in turn, in"
        " every field that the API's schema names.",
        "0 5xx; what is kept is equal",
    ),
    33: Promise(
        "A large or slow request is refused, and holds up nobody.",
        "Bodies of 1, 3 and 200 MB, 10,000 items, senders that trickle.",
        "400 or 413; a web process grows by at most 100 MB; others' p95 at most twice, in the best"
        " of up to 4 rounds",
    ),
    34: Promise(
        "What people and agents write never becomes markup.",
        "60 payloads in every text, every page, in a browser, both languages.",
        "0 dialogs, 0 requests elsewhere, 0 violations",
    ),
    35: Promise(
        "No page acts for a stranger.",
        "Every unsafe route without token, and from elsewhere; sessions at the API.",
        "every one a 403; the API knows no session; a strict policy on every answer",
    ),
    36: Promise(
        "The server calls nobody it is told to call.",
        "40 addresses of the loopback, metadata and private networks, redirects, changing names.",
        "0 of 40 called; an allowed site works",
    ),
    37: Promise(
        "A bomb harms only itself.",
        "Archives, documents and code that explode in memory, time or depth.",
        "refused within 15 s in 512 MB; others' jobs at most twice as long and 0.1 s, p95",
    ),
    38: Promise(
        "A limit is exact.",
        "100 at once, with made-up addresses.",
        "exactly the limit passes; 429 with Retry-After",
    ),
    39: Promise(
        "Poisoned memory stays data.",
        "200 hostile texts, a third of them never seen while tuning.",
        "0 leave the fence or become account-wide alone; 90 % flagged, at most 5 % of others",
    ),
    40: Promise(
        "The schema moves both ways, under load; clocks may differ.",
        "Migrations down and up with rows in them and requests beside; a clock an hour off.",
        "fsck clean, locks at most 1 s, nothing done twice",
    ),
}
