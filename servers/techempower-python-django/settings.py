"""As `django-admin startproject` writes them, without the apps and middleware of users and sessions, which need tables of their own."""

import os
from urllib.parse import urlsplit

# The pool knows no wait without a limit.
YEAR_S = 31_536_000
url = urlsplit(os.environ.get("DATABASE_URL", ""))
wait_ms = os.environ.get("POOL_WAIT_MS")
pool_size = int(os.environ.get("POOL_SHARE", "1"))

SECRET_KEY = "nothing is signed here"
DEBUG = False
ALLOWED_HOSTS = ["*"]
INSTALLED_APPS = ["benchmark"]
MIDDLEWARE = [
    "django.middleware.security.SecurityMiddleware",
    "django.middleware.common.CommonMiddleware",
    "django.middleware.csrf.CsrfViewMiddleware",
    "django.middleware.clickjacking.XFrameOptionsMiddleware",
    "benchmark.busy.BusyMiddleware",
]
ROOT_URLCONF = "benchmark.urls"
TEMPLATES = [{"BACKEND": "django.template.backends.django.DjangoTemplates", "APP_DIRS": True}]
DATABASES = {
    "default": {
        "ENGINE": "django.db.backends.postgresql",
        "HOST": url.hostname,
        "PORT": url.port,
        "NAME": url.path[1:],
        "USER": url.username,
        "PASSWORD": url.password,
        "OPTIONS": {
            "pool": {
                "min_size": min(4, pool_size),
                "max_size": pool_size,
                "timeout": max(int(wait_ms), 1) / 1000 if wait_ms else YEAR_S,
            }
        },
    }
}
USE_TZ = True
LOGGING = {
    "version": 1,
    "disable_existing_loggers": False,
    "handlers": {"console": {"class": "logging.StreamHandler", "level": "ERROR"}},
    "loggers": {"django": {"handlers": ["console"]}},
}
