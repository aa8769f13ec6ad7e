"""Imports litellm once, in a thread, without its logging and without this server's environment."""

from __future__ import annotations

import asyncio
import importlib
import logging
import os
import threading
from collections.abc import Callable
from typing import Any, TypeVar

from paca.engine.llm.model_errors import ModelError, RequestRefused

_LOGGERS = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")
UNTRANSLATABLE = (
    "The conversation cannot be written in the dialect of this provider ({kind} of litellm)."
)
Given = TypeVar("Given")
T = TypeVar("T")
_lock = threading.Lock()
_is_loaded = False


async def load() -> None:
    """Import litellm in a thread: it takes seconds, and leases and other runs go on meanwhile."""
    if not _is_loaded:
        await asyncio.to_thread(_load)


async def in_thread(translate: Callable[[Given], T], given: Given) -> T:
    """The request that litellm makes of a history, which takes a while for a long one.

    Raises ``RequestRefused`` if litellm cannot, so that the history is tried in the strictest form. Its words
    are not told: they may hold parts of the history.
    """
    try:
        return await asyncio.to_thread(translate, given)
    except ModelError:
        raise
    except Exception as error:  # noqa: BLE001 - litellm raises errors of many kinds
        raise RequestRefused(UNTRANSLATABLE.format(kind=type(error).__name__)) from None


def _load() -> None:
    global _is_loaded
    with _lock:
        if not _is_loaded:
            _import()
            _is_loaded = True


def _import() -> None:
    # Without these litellm would download a list of prices and read keys from a .env file.
    os.environ["LITELLM_LOCAL_MODEL_COST_MAP"] = "True"
    os.environ["LITELLM_MODE"] = "PRODUCTION"
    litellm: Any = importlib.import_module("litellm")
    for name in _LOGGERS:
        logger = logging.getLogger(name)
        logger.handlers.clear()
        logger.setLevel(logging.CRITICAL)
        logger.propagate = False
    litellm.suppress_debug_info = True
    litellm.telemetry = False
    litellm.turn_off_message_logging = True
    litellm.disable_streaming_logging = True
    litellm.drop_params = False
    litellm.modify_params = False
    litellm.num_retries = 0
    litellm.cache = None
    for list_of in ("callbacks", "success_callback", "failure_callback", "input_callback"):
        setattr(litellm, list_of, [])
