"""Launcher that execs a program tied to its parent. Run as a script, not imported.

A script instead of a preexec_fn, which is unsafe with threads: it sets account and priority, asks
the kernel for a signal when its parent dies, and calls exec.
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
        os.chdir("/")  # the account may have no access to the current folder
    if sys.platform == "linux":  # last, because a change of account clears it
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, order["stop_signal"])
    if os.getppid() != order["parent"]:
        sys.exit("The parent process ended.")
    os.execv(order["argv"][0], order["argv"])  # noqa: S606 - no shell is what we want


if __name__ == "__main__":
    main()
