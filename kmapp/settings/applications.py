"""The installed applications, middleware and URLs."""

INSTALLED_APPS = [
    "kmapp.web",
    "kmapp",
    "kmapp.accounts",
    "kmapp.ledger",
    "kmapp.outbox",
    "kmapp.providers",
    "kmapp.search",
    "kmapp.notifications.webhooks",
    "kmapp.accounts.company_sign_in",
    "kmapp.notifications",
    "kmapp.api",
    "memory",
    "knowledge",
    "rules",
    "context",
    "interop",
    "kmapp.web.apps.AdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.humanize",
    "django.contrib.messages",
    "django.contrib.postgres",
    "django.contrib.sessions",
    "django.contrib.staticfiles",
    "allauth",
    "allauth.account",
    "allauth.mfa",
    "csp",
    "django_filters",
    "django_htmx",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "rest_framework",
    "template_partials",
]

MIDDLEWARE = [
    "kmapp.api.middleware.RequestId",
    "kmapp.api.middleware.BodyLimit",
    "django.middleware.security.SecurityMiddleware",
    "csp.middleware.CSPMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "whitenoise.middleware.WhiteNoiseMiddleware",
    "kmapp.web.page_compression.PageCompression",
    "kmapp.api.middleware.OptionalSlash",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.locale.LocaleMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "kmapp.web.body_size_limit.PageBodyLimit",
    "django.contrib.messages.middleware.MessageMiddleware",
    "django_htmx.middleware.HtmxMiddleware",
    "allauth.account.middleware.AccountMiddleware",
]

ROOT_URLCONF = "kmapp.urls"
WSGI_APPLICATION = "kmapp.wsgi.application"

DEMO_LOADERS = (
    "memory.management.demo.load",
    "knowledge.management.demo.load",
    "rules.management.demo.load",
    "context.management.demo.load",
    "kmapp.web.statistics.demo",
)
