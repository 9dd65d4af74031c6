"""Where the code, its resources and the data are."""

from pathlib import Path

from kmapp.runtime import env

BASE_DIR = Path(__file__).resolve().parents[2]  # the checkout, or site-packages
PACKAGED = Path(__file__).resolve().parents[1] / "resources"
IS_INSTALLED = PACKAGED.is_dir()  # from a wheel, which contains the folders of a checkout
RESOURCES = PACKAGED if IS_INSTALLED else BASE_DIR
COMMAND = "kmapp" if IS_INSTALLED else ".venv/bin/python manage.py"  # in messages
DATA_DIR = env.path("KMAPP_DATA_DIR", (Path.home() if IS_INSTALLED else BASE_DIR) / ".kmapp")
KEYS_DIR = DATA_DIR / "keys"
