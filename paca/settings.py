"""All settings of Paca. Each is read once, has a default, and has its unit in its name."""

import sys
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from paca import env, installation_keys
from paca.agent_settings import *  # noqa: F403
from paca.common import csp, logs, trusted_proxies
from paca.common.errors import ConfigurationError
from paca.common.request_body import MAX_BODY_BYTES
from paca.keep_settings import *  # noqa: F403
from paca.model_settings import *  # noqa: F403
from paca.network_settings import *  # noqa: F403
from paca.sandbox_settings import *  # noqa: F403
from paca.schema_settings import *  # noqa: F403
from paca.setup_settings import *  # noqa: F403
from paca.telemetry_settings import *  # noqa: F403

BASE_DIR = Path(__file__).resolve().parent.parent

# --- process ------------------------------------------------------------------------------------

PACA_DATA_DIR = Path(
    env.text("PACA_DATA_DIR", "var", meaning="Folder for the database, secrets and workspaces.")
)
if not PACA_DATA_DIR.is_absolute():
    PACA_DATA_DIR = BASE_DIR / PACA_DATA_DIR
PACA_BIND = env.text("PACA_BIND", "127.0.0.1", meaning="Address the web server listens on.")
PACA_PORT = env.integer(
    "PACA_PORT",
    8000,
    at_least=0,
    at_most=65535,
    meaning="Port of the web server; 0 chooses a free one.",
)
PACA_ADMIN_PASSWORD = env.text(
    "PACA_ADMIN_PASSWORD",
    meaning="Password of the first admin; without it a one-time link is printed.",
)
LOG_LEVEL = env.choice(
    "LOG_LEVEL",
    "INFO",
    among=("DEBUG", "INFO", "WARNING", "ERROR"),
    meaning="The lowest level of what is logged to stderr.",
)
LOG_FORMAT = env.choice(
    "LOG_FORMAT",
    "auto",
    among=("auto", "json", "text"),
    meaning="How log and start lines are written. auto is text at a terminal, else one JSON object a line.",
)
DEBUG = env.boolean("DEBUG", meaning="Django's debug pages. Only on a loopback address.")
PACA_KEYS = installation_keys.load(
    PACA_DATA_DIR,
    secret_key=env.text(
        "SECRET_KEY",
        meaning="Signs sessions and links. Generated in the data folder on the first start.",
    ),
    encryption_keys=env.comma_separated(
        "ENCRYPTION_KEY",
        meaning="Fernet keys, comma separated; the first encrypts, all decrypt. "
        "Generated in the data folder on the first start.",
    ),
)
SECRET_KEY = PACA_KEYS.secret_key
ENCRYPTION_KEY = PACA_KEYS.encryption_keys
ALLOWED_HOSTS = env.comma_separated(
    "ALLOWED_HOSTS",
    "localhost,127.0.0.1,[::1]",
    meaning="Host names that the web server answers to.",
)
DATABASES = {
    "default": env.database(
        "DATABASE_URL",
        PACA_DATA_DIR / "paca.sqlite3",
        meaning="sqlite:///folder/file, sqlite:////absolute/file or postgres://user:password@host:5432/database "
        "(with ?sslmode= and the like); empty: paca.sqlite3 in the data folder.",
    )
}

FORWARDED_ALLOW_IPS = trusted_proxies.entries(
    env.comma_separated(
        "FORWARDED_ALLOW_IPS",
        "127.0.0.1,::1",
        meaning="Addresses or networks of your proxies, whose X-Forwarded headers are believed. gateway is the host "
        "of a container, and is believed only while PACA_PUBLISH is a loopback address.",
    ),
    published_at=env.text(
        "PACA_PUBLISH",
        meaning="Compose only: the address and port of this machine at which the web server is reached.",
    ),
)
WEB_CONNECTIONS = env.integer(
    "WEB_CONNECTIONS",
    0,
    at_most=1_000_000,
    meaning="Connections that a web server keeps open; 0: three quarters of its limit of open files, at most 4000.",
)
WEB_CONNECTIONS_PER_ADDRESS = env.integer(
    "WEB_CONNECTIONS_PER_ADDRESS",
    0,
    at_most=1_000_000,
    meaning="Connections of one address that is no proxy of FORWARDED_ALLOW_IPS; 0: a quarter of all.",
)
WEB_HEAD_TIMEOUT_SECONDS = env.seconds(
    "WEB_HEAD_TIMEOUT_SECONDS", 20, meaning="Time in which the head of a request must arrive."
)
WEB_BODY_TIMEOUT_SECONDS = env.seconds(
    "WEB_BODY_TIMEOUT_SECONDS",
    20,
    meaning="Time in which the body of a request must arrive, and a second more for each 8 KiB.",
)
WEB_IDLE_TIMEOUT_SECONDS = env.seconds(
    "WEB_IDLE_TIMEOUT_SECONDS",
    30,
    meaning="A connection without a request is closed after this time.",
)
METRICS_TOKEN = env.secret(
    "METRICS_TOKEN",
    at_least=16,
    meaning="Bearer token for GET /metrics (Prometheus), at least 16 characters. Empty: the page does not exist.",
)
REDIS_URL = env.redis(
    "REDIS_URL",
    aliases=("VALKEY_URL",),
    meaning="redis://user:password@host:6379/0 of a Redis (6.2 or newer) or Valkey that connects several processes "
    "and other programs; rediss:// uses TLS (with ?ssl_ca_certs= and the like). Empty: one process.",
)

# --- work -------------------------------------------------------------------------------------------

PACA_SANDBOX = env.choice(
    "PACA_SANDBOX",
    "auto",
    among=("auto", "docker", "bubblewrap", "none"),
    meaning="Where commands run; none refuses them. auto is Docker if it answers and has the image, "
    "else bubblewrap.",
)
if SANDBOX_RUNTIME and PACA_SANDBOX in ("bubblewrap", "none"):  # noqa: F405
    raise ConfigurationError(
        "SANDBOX_RUNTIME is a runtime of Docker, and PACA_SANDBOX says that sandboxes do not use Docker.",
        next_step="unset SANDBOX_RUNTIME, or set PACA_SANDBOX=docker",
    )
AGENT_SANDBOX_IMAGE = env.text(
    "AGENT_SANDBOX_IMAGE",
    "paca-sandbox:1",
    aliases=("AGENT_SERVER_IMAGE",),
    meaning="Image of Docker sandboxes; make sandbox-image builds it.",
)
DOCKER_HOST = env.text(
    "DOCKER_HOST",
    aliases=("DOCKER_SOCKET",),
    meaning="Address of Docker: unix:///var/run/docker.sock, which is also the default, or tcp://host:2376 "
    "with DOCKER_CERT_PATH.",
)
DOCKER_CERT_PATH = env.text(
    "DOCKER_CERT_PATH",
    meaning="Folder of ca.pem, cert.pem and key.pem for Docker over TLS.",
)
SANDBOX_MEMORY_MIB = env.integer(
    "SANDBOX_MEMORY_MIB", 2048, at_least=64, meaning="Memory of one sandbox."
)
SANDBOX_CPUS = env.number("SANDBOX_CPUS", 1, at_least=0.1, meaning="Cores of one sandbox.")
SANDBOX_IDLE_SECONDS = env.seconds(
    "SANDBOX_IDLE_SECONDS",
    180,
    meaning="An unused sandbox ends after this time, or is paused if the agent's sandbox is persistent. Files are kept.",
)
SANDBOX_PAUSED_SECONDS = env.seconds(
    "SANDBOX_PAUSED_SECONDS",
    3600,
    meaning="A paused sandbox ends after this time. It takes memory until then.",
)
SANDBOX_POOL_SIZE = env.integer(
    "SANDBOX_POOL_SIZE",
    0,
    at_least=0,
    meaning="Docker only: sandboxes that each worker keeps started for new conversations of agents "
    "with an ephemeral sandbox and the limits that are set here.",
)
WORKER_CONCURRENCY = env.integer(
    "WORKER_CONCURRENCY", 10, at_least=1, meaning="Conversations that a worker runs at once."
)
WORKER_LEASE_SECONDS = env.seconds(
    "WORKER_LEASE_SECONDS",
    15,
    at_least=1,
    meaning="Another worker takes over a dead worker's conversations after this time.",
)
APPROVAL_TIMEOUT_SECONDS = env.seconds(
    "APPROVAL_TIMEOUT_SECONDS",
    300,
    at_least=1,
    meaning="A tool call that waits for a person's approval is denied after this time.",
)
QUESTION_TIMEOUT_SECONDS = env.seconds(
    "QUESTION_TIMEOUT_SECONDS", 3600, at_least=1, meaning="A question or a plan waits this long."
)
COMMAND_TIMEOUT_SECONDS = env.seconds(
    "COMMAND_TIMEOUT_SECONDS", 60, meaning="A command is ended after this time."
)
BACKGROUND_TIMEOUT_SECONDS = env.seconds(
    "BACKGROUND_TIMEOUT_SECONDS",
    300,
    meaning="A command in the background is ended after this time, unless its call asks for another, up to four"
    " hours. Until then its sandbox is neither paused nor ended.",
)

# --- Django -----------------------------------------------------------------------------------------

ROOT_URLCONF = "paca.urls"
ASGI_APPLICATION = "paca.asgi.application"
AUTH_USER_MODEL = "accounts.User"
DEFAULT_AUTO_FIELD = "django.db.models.BigAutoField"
TIME_ZONE = "UTC"
USE_TZ = True
LANGUAGE_CODE = "en"

INSTALLED_APPS = [
    "unfold",
    # paca/urls.py finds the pages of the admin: workers and most commands need none of them.
    "django.contrib.admin.apps.SimpleAdminConfig",
    "django.contrib.auth",
    "django.contrib.contenttypes",
    "django.contrib.sessions",
    "django.contrib.messages",
    "django.contrib.staticfiles",
    "django.contrib.humanize",
    "rest_framework",
    "drf_spectacular",
    "drf_spectacular_sidecar",
    "knox",
    "allauth",
    "allauth.account",
    "channels",
    "paca.accounts",
    "paca.projects",
    "paca.agents",
    "paca.repositories",
    "paca.conversations",
    "paca.ops",
    "paca.realtime",
    "paca.web",
]
# daphne brings a runserver that serves sockets. Its app loads Twisted, which no other command needs.
if "runserver" in sys.argv and find_spec("daphne"):
    INSTALLED_APPS.insert(0, "daphne")

MIDDLEWARE = [
    "paca.common.request_ids.request_id_middleware",
    "paca.web.middleware.concurrency_limit.release_connections",
    "django.middleware.security.SecurityMiddleware",
    "paca.web.middleware.security_headers.SecurityHeaders",
    "paca.web.middleware.static_files.StaticFiles",
    "csp.middleware.CSPMiddleware",
    "paca.common.csp.AdminPolicy",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "paca.web.middleware.probes.answer_probes",
    "django.contrib.sessions.middleware.SessionMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.contrib.auth.middleware.AuthenticationMiddleware",
    "allauth.account.middleware.AccountMiddleware",
    "django.contrib.messages.middleware.MessageMiddleware",
]

TEMPLATES: list[dict[str, Any]] = [
    {
        "BACKEND": "django.template.backends.django.DjangoTemplates",
        "APP_DIRS": True,
        "OPTIONS": {
            "context_processors": [
                "django.template.context_processors.request",
                "django.contrib.auth.context_processors.auth",
                "django.contrib.messages.context_processors.messages",
            ]
        },
    }
]

# --- security ---------------------------------------------------------------------------------------

# Cookies become Secure, and HSTS is sent, on each response to a request that came by HTTPS
# (paca/web/middleware/security_headers.py). So the same code serves loopback and a TLS proxy.
SESSION_COOKIE_NAME = installation_keys.cookie_name("session", SECRET_KEY)
CSRF_COOKIE_NAME = installation_keys.cookie_name("csrf", SECRET_KEY)
SESSION_COOKIE_HTTPONLY = True
SESSION_COOKIE_SAMESITE = "Lax"
CSRF_COOKIE_SAMESITE = "Lax"
CSRF_TRUSTED_ORIGINS = env.origins(
    "CSRF_TRUSTED_ORIGINS",
    meaning="Addresses of this installation in browsers, such as https://paca.example.org:8443, comma separated. "
    "Only for a proxy that does not pass Host on.",
)
# Not in a cookie, whose name would be the same for all installations of a host.
MESSAGE_STORAGE = "django.contrib.messages.storage.session.SessionStorage"
SECURE_HSTS_SECONDS = 31_536_000
SECURE_REFERRER_POLICY = "same-origin"
SECURE_CROSS_ORIGIN_OPENER_POLICY = "same-origin"
X_FRAME_OPTIONS = "DENY"
AUTH_PASSWORD_VALIDATORS = [
    {"NAME": f"django.contrib.auth.password_validation.{name}"}
    for name in (
        "UserAttributeSimilarityValidator",
        "MinimumLengthValidator",
        "CommonPasswordValidator",
        "NumericPasswordValidator",
    )
]

LOGGING = logs.configuration(level=LOG_LEVEL, as_json=logs.writes_json(LOG_FORMAT))

AUTHENTICATION_BACKENDS = [
    "django.contrib.auth.backends.ModelBackend",
    "allauth.account.auth_backends.AuthenticationBackend",
]

# --- API and accounts -------------------------------------------------------------------------------

DATA_UPLOAD_MAX_MEMORY_SIZE = MAX_BODY_BYTES
API_REQUESTS_PER_MINUTE = env.integer(
    "API_REQUESTS_PER_MINUTE", 600, at_least=1, meaning="Limit of requests for one person or token."
)
REST_FRAMEWORK = {
    "DEFAULT_AUTHENTICATION_CLASSES": [
        "paca.accounts.api.authentication.TokenAuthentication",
        "paca.accounts.api.authentication.SessionAuthentication",
    ],
    "DEFAULT_PERMISSION_CLASSES": ["rest_framework.permissions.IsAuthenticated"],
    "DEFAULT_PARSER_CLASSES": ["paca.common.api.parsers.BoundedJSONParser"],
    "DEFAULT_RENDERER_CLASSES": ["rest_framework.renderers.JSONRenderer"],
    "DEFAULT_SCHEMA_CLASS": "paca.accounts.api.schema.ApiAutoSchema",
    "DEFAULT_THROTTLE_CLASSES": ["paca.common.api.throttling.RequestsPerMinute"],
    "DEFAULT_THROTTLE_RATES": {
        "api": f"{API_REQUESTS_PER_MINUTE}/min",
        # Each request calls the server of a model provider.
        "test_connection": "20/min",
        # Each request has a worker start a process in a sandbox.
        "files": "240/min",
    },
    # The ASGI application has set the person's address. Django REST Framework reads no header of a proxy.
    "NUM_PROXIES": 0,
    "EXCEPTION_HANDLER": "paca.common.api.errors.exception_handler",
    "TEST_REQUEST_DEFAULT_FORMAT": "json",
}
REST_KNOX = {"AUTH_HEADER_PREFIX": "Bearer", "TOKEN_PREFIX": "paca_"}
KNOX_TOKEN_MODEL = "accounts.ApiToken"  # noqa: S105 - the name of a model
# Our token table replaces Knox's own, without which Knox's migrations cannot run.
MIGRATION_MODULES = {"knox": None}
# People sign in with a username and a password. There is no sign-up: an admin creates the accounts.
ACCOUNT_LOGIN_METHODS = {"username"}
ACCOUNT_SIGNUP_ENABLED = False
ACCOUNT_EMAIL_VERIFICATION = "none"
ACCOUNT_ADAPTER = "paca.accounts.allauth_adapter.AccountAdapter"
# The adapter limits sign-ins, because known devices of a person count apart.
ACCOUNT_RATE_LIMITS = {"login": None, "login_failed": None}
# The counters of limits. With Django's 300 entries a stranger could push out the own ones.
CACHES = {
    "default": {
        "BACKEND": "django.core.cache.backends.locmem.LocMemCache",
        "OPTIONS": {"MAX_ENTRIES": 50_000},
    }
}
ACCOUNT_LOGOUT_REDIRECT_URL = "account_login"
LOGIN_URL = "account_login"
LOGIN_REDIRECT_URL = "/"
CONTENT_SECURITY_POLICY = csp.STRICT
UNFOLD: dict[str, Any] = {
    "SITE_TITLE": "Paca",
    "SITE_HEADER": "Paca",
    "SITE_URL": "/",
    "DASHBOARD_CALLBACK": "paca.ops.dashboard.dashboard_callback",
}

# --- end of API and accounts ------------------------------------------------------------------------
# --- Pages ------------------------------------------------------------------------------------------

# Our templates come before those of the libraries, so allauth uses our account/login.html.
TEMPLATES[0]["DIRS"] = [BASE_DIR / "paca" / "web" / "templates"]
TEMPLATES[0]["OPTIONS"]["context_processors"].append("paca.web.context_processors.theme")
CSRF_FAILURE_VIEW = "paca.web.views.errors.csrf_failure"

# Static files are served from where they are installed, without a collectstatic step. Their URLs hold
# a digest of all files (/static/<digest>/...), so browsers keep them for ever; with DEBUG they do not.
STATIC_URL = "/static/"
STORAGES = {
    "default": {"BACKEND": "django.core.files.storage.FileSystemStorage"},
    "staticfiles": {"BACKEND": "paca.web.static_storage.VersionedStaticFilesStorage"},
}
UNFOLD["SITE_FAVICONS"] = [
    {"rel": "icon", "type": "image/svg+xml", "href": "paca.web.static_storage.favicon_url"}
]
WHITENOISE_AUTOREFRESH = DEBUG
WHITENOISE_ALLOW_ALL_ORIGINS = False

# --- end of Pages -----------------------------------------------------------------------------------
