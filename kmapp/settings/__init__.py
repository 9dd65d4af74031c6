"""Settings, a module for each subject; what differs between hosts comes from the environment.

Django reads all of them from here. No name is defined twice, so the order has no effect.
"""

from kmapp.settings.api import *
from kmapp.settings.applications import *
from kmapp.settings.checkpoints import *
from kmapp.settings.databases import *
from kmapp.settings.egress import *
from kmapp.settings.folders import *
from kmapp.settings.jobs import *
from kmapp.settings.knowledge import *
from kmapp.settings.mail import *
from kmapp.settings.pages import *
from kmapp.settings.providers import *
from kmapp.settings.security import *
from kmapp.settings.server import *
from kmapp.settings.sign_in import *
