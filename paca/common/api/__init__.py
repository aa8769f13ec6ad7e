"""What the REST APIs of all apps share: errors, pages of lists, idempotent requests."""

from paca.common.lean_imports import load_without

# The HTTP library of its test client takes 4 MB in each process, the fields of PostgreSQL 8 MB with their driver.
load_without("rest_framework.compat", "requests", "django.contrib.postgres.fields")
