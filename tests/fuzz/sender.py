"""Sends random requests of an operation and keeps the answers that are wrong."""

from __future__ import annotations

import itertools
import random
import time
from collections import Counter
from collections.abc import Iterator
from typing import Any

import hypothesis
import requests
from django.conf import settings
from django.test import Client
from django.utils.crypto import get_random_string
from hypothesis import HealthCheck, Phase
from schemathesis import GenerationMode

from paca.accounts.services import tokens
from tests.fuzz.checks import find_faults
from tests.fuzz.real_rows import put_rows
from tests.security import two_projects
from tests.security.two_projects import ProjectObjects

ANSWER_SECONDS = 60
# Hypothesis ends early where an operation has little to vary; it begins anew with another seed then.
ROUNDS = 20


class Sender:
    """Sends requests as the owner of a project with a row of each kind."""

    def __init__(self, url: str, *, seed: str, ends_at: float) -> None:
        self.faults: dict[tuple[str, str], str] = {}
        self.statuses: Counter[int] = Counter()
        self._repeated: Counter[tuple[str, str]] = Counter()
        self._url, self._seed, self._ends_at = url, seed, ends_at
        self._session = requests.Session()
        self._session.trust_env = False
        self._owners = itertools.count(1)

    def send_to(self, operation: Any, share: int) -> None:
        """Send that many requests: half of them as the schema allows, half against it."""
        self._choices = random.Random(f"{self._seed} {operation.label}")
        self._make_rows()
        wanted = {
            GenerationMode.POSITIVE: share - share // 2,
            GenerationMode.NEGATIVE: share // 2,
        }
        for mode, count in wanted.items():
            left = count
            for round_ in range(ROUNDS):
                if left > 0:
                    left -= self._send_round(operation, mode, round_, left)

    def report(self) -> list[str]:
        """Lines on what was sent and each kind of fault with one request that shows it."""
        faults = [
            f"{label}: {kind} ({self._repeated[label, kind]} times)\n{example}"
            for (label, kind), example in self.faults.items()
        ]
        counts = ", ".join(f"{count} x {status}" for status, count in sorted(self.statuses.items()))
        return [
            *faults,
            f"{self.statuses.total()} requests: {counts}; {len(faults)} kinds of faults",
        ]

    def _make_rows(self) -> None:
        self._rows: ProjectObjects = two_projects.make_project(f"owner-{next(self._owners)}")
        owner = self._rows.owner
        token = tokens.create(owner, name="fuzz", by=owner)[1]
        self._by_token = {"Authorization": f"Bearer {token}"}
        browser = Client()
        browser.force_login(owner)
        session = browser.cookies[settings.SESSION_COOKIE_NAME].value
        csrf = get_random_string(32)
        self._by_session = {
            "Cookie": f"{settings.SESSION_COOKIE_NAME}={session}; {settings.CSRF_COOKIE_NAME}={csrf}",
            "X-CSRFToken": csrf,
        }

    def _send_round(self, operation: Any, mode: GenerationMode, round_: int, count: int) -> int:
        """Send up to ``count`` requests; gives how many."""
        cases = list(self._cases(operation, mode, round_, count))
        for case in cases:
            if time.monotonic() > self._ends_at:
                raise TimeoutError(f"SECONDS are over after {self.statuses.total()} requests")
            self._send(case)
        return len(cases)

    def _cases(
        self, operation: Any, mode: GenerationMode, round_: int, count: int
    ) -> Iterator[Any]:
        found: list[Any] = []

        @hypothesis.seed(f"{self._seed} {operation.label} {mode} {round_}")
        @hypothesis.settings(
            max_examples=count,
            database=None,
            deadline=None,
            phases=[Phase.generate],
            suppress_health_check=list(HealthCheck),
        )
        @hypothesis.given(operation.as_strategy(generation_mode=mode))
        def generate(case: Any) -> None:
            found.append(case)

        generate()
        return iter(found[:count])

    def _send(self, case: Any) -> None:
        put_rows(case, self._rows, self._choices)
        case.headers.pop("Authorization", None)
        case.cookies.clear()
        case.headers.update(self._by_session if self._choices.random() < 0.3 else self._by_token)
        answer = case.call(
            base_url=self._url,
            session=self._session,
            timeout=ANSWER_SECONDS,
            allow_redirects=False,
        )
        self.statuses[answer.status_code] += 1
        for kind, text in find_faults(case, answer):
            key = (case.operation.label, kind)
            self._repeated[key] += 1
            self.faults.setdefault(key, f"{text}\n{case.as_curl_command()[:2000]}")
        if case.method.upper() == "DELETE" and answer.status_code < 300:
            self._make_rows()
