"""Browser sessions of people."""

from django.conf import settings
from django.contrib.sessions.base_session import AbstractBaseSession
from django.db import models
from django.utils.translation import gettext_lazy as _


class Session(AbstractBaseSession):
    """A browser session. It names its person, who can list and end their sessions."""

    user = models.ForeignKey(
        settings.AUTH_USER_MODEL,
        null=True,
        editable=False,
        on_delete=models.CASCADE,
        related_name="+",
        verbose_name=_("person"),
    )

    class Meta(AbstractBaseSession.Meta):
        abstract = False
