"""Templates, languages and static files."""

from kmapp.runtime import env
from kmapp.settings.folders import RESOURCES

TEMPLATES = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "DIRS": [RESOURCES / "templates"],
        "APP_DIRS": True,
        "OPTIONS": {
            "builtins": ["template_partials.templatetags.partials"],
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
                "kmapp.web.context_processors.base_template",
            ],
        },
    },
]

LANGUAGE_CODE = "en"
LANGUAGES = [("en", "English"), ("zh-hans", "简体中文")]
LOCALE_PATHS = [RESOURCES / "locale"]
TIME_ZONE = env.text("TIME_ZONE", "UTC")

STATIC_URL = "static/"
STATICFILES_DIRS = [RESOURCES / "static"]
# Files are served from their folders, without collectstatic.
WHITENOISE_USE_FINDERS = True
