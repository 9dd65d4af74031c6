"""Launcher that execs a program tied to its parent. Run as a script, not imported.

A script of its own and not a preexec_fn, which is unsafe beside threads: it takes the account and
priority asked for, asks the kernel to be told when its parent dies, and calls exec.
"""

import ctypes
import json
import os
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    order = json.loads(sys.argv[1])
    if order["nice"]:
        os.nice(order["nice"])
    if order["account"]:
        uid, gid = order["account"]
        os.setgroups([])
        os.setgid(gid)
        os.setuid(uid)
        os.chdir("/")  # ours may be closed to that account
    if sys.platform == "linux":  # last: a change of account clears it
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, order["stop_signal"])
    if os.getppid() != order["parent"]:
        sys.exit("The process that started this one died meanwhile.")
    os.execv(order["argv"][0], order["argv"])  # noqa: S606 - no shell is what we want


if __name__ == "__main__":
    main()
