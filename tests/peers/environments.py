"""A virtual environment for each peer, in a cache folder."""

import hashlib
import shutil
import subprocess
import sys
from pathlib import Path

from tests.peers.catalogue import Peer


class NotInstalled(Exception):
    """The packages of a peer could not be installed; the message is the last line of pip."""


def get_or_create_python(peer: Peer, cache: Path) -> Path:
    """Return the Python of the peer's environment; create it if its packages have changed."""
    mark = hashlib.sha256("\n".join([sys.version, *peer.packages]).encode()).hexdigest()[:12]
    folder = cache / f"{peer.name}-{mark}"
    if not folder.exists():
        new = folder.with_suffix(".new")
        shutil.rmtree(new, ignore_errors=True)
        try:
            _run([sys.executable, "-m", "venv", str(new)])
            pip = [str(new / "bin" / "python"), "-m", "pip", "install", "--quiet"]
            _run([*pip, "--disable-pip-version-check", *peer.packages])
        except subprocess.CalledProcessError as error:
            shutil.rmtree(new, ignore_errors=True)
            raise NotInstalled(error.stderr.strip().rpartition("\n")[2]) from None
        new.rename(folder)  # the scripts in bin name the former folder, but are not used
    return folder / "bin" / "python"


def _run(words: list[str]) -> None:
    subprocess.run(words, check=True, capture_output=True, text=True)
