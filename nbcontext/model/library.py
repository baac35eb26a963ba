"""litellm, imported once, late and quietly.

The import takes seconds, and an interrupt in the midst of it leaves the package broken for good. So it runs in a thread
of its own, which no interrupt reaches, and whoever needs it waits for that thread.
"""

from __future__ import annotations

import logging
import os
import sys
import threading
import warnings
from contextlib import suppress
from types import ModuleType
from typing import Any, Final

from nbcontext.errors import ModelError
from nbcontext.model.failures import Stopped

_DEFAULTS: Final = {
    "LITELLM_LOCAL_MODEL_COST_MAP": "True",  # else the import fetches a price list
    "LITELLM_MODE": "PRODUCTION",  # else it reads a .env file into the environment
    "LITELLM_OFFLINE_MODE": "true",  # else a model's name can fetch a tokenizer, and wait for it
}
_WAIT_S: Final = 0.05


class _Import(threading.Thread):
    """The one import."""

    def __init__(self) -> None:
        super().__init__(name="nbcontext-litellm", daemon=True)
        self.module: ModuleType | None = None
        self.error: BaseException | None = None

    def run(self) -> None:
        for name, value in _DEFAULTS.items():
            os.environ.setdefault(name, value)
        before = list(warnings.filters)
        is_first = "litellm" not in sys.modules
        try:
            import litellm
        except BaseException as error:  # noqa: BLE001 - handed on to whoever needs litellm
            self.error = error
            return
        litellm.suppress_debug_info = True
        if is_first:
            _answer_one(litellm)
            if "LITELLM_LOG" not in os.environ:
                for name in _LOGGERS:  # they write to standard error, past whatever shows the answer
                    logging.getLogger(name).setLevel(logging.CRITICAL)
            _drop_filters(before)
        self.module = litellm


_ITS_WARNING: Final = ".*`ReadOnly` qualifier.*"
_LOGGERS: Final = ("LiteLLM", "LiteLLM Router", "LiteLLM Proxy")

_lock = threading.Lock()
_prepared: set[str] = set()
_started: _Import | None = None


def warm() -> None:
    """Begin to import litellm in the background; return at once."""
    _start()


def load(stop: threading.Event | None = None) -> Any:
    """Return litellm, imported.

    Args:
        stop: ends the wait for it; the import itself goes on.

    Raises:
        ModelError: it cannot be imported.
        Stopped: `stop` was set.
    """
    thread = _start()
    while thread.is_alive():
        thread.join(_WAIT_S)  # in steps, so that an interrupt is heard: it leaves the import alone
        if stop is not None and stop.is_set():
            raise Stopped("Stopped while litellm was being imported.")
    if thread.module is None:
        raise ModelError(
            f"litellm cannot be imported ({thread.error}). Install it with `pip install litellm`, restart the kernel."
        )
    return thread.module


def prepare(model: str, api_base: str | None) -> None:
    """Make litellm import what it keeps of `model`'s provider, quietly: its filter for these warnings was taken back.

    Once a model, since any change of the filters makes Python show again what it has shown.

    Raises:
        litellm.exceptions.BadRequestError: litellm knows no provider of that name.
    """
    litellm = load()
    if model in _prepared:
        return
    warnings.filterwarnings("ignore", message=_ITS_WARNING)
    quiet = warnings.filters[0]
    try:
        name, provider, _, _ = litellm.get_llm_provider(model=model, api_base=api_base)
        litellm.get_supported_openai_params(model=name, custom_llm_provider=provider)
    finally:
        with suppress(ValueError):
            warnings.filters.remove(quiet)  # type: ignore[attr-defined]
    _prepared.add(model)


def _start() -> _Import:
    global _started  # noqa: PLW0603 - there is one import in a process
    with _lock:
        if _started is None:
            _started = _Import()
            _started.start()
        return _started


def _answer_one(litellm: Any) -> None:
    """Make litellm import what it imports only at its first request, which warns too; nothing is sent anywhere."""
    for _ in litellm.completion(model="openai/none", messages=[], mock_response="none", stream=True, api_key="none"):
        pass


def _drop_filters(before: list[Any]) -> None:
    """Take back the warnings filters that the import set, for the whole process, to silence others.

    What a person set meanwhile stays: a filter of theirs is for a category of Python's own and for any message.
    """
    known = {id(entry) for entry in before}
    for entry in list(warnings.filters):
        _, message, category, _, _ = entry
        if id(entry) not in known and (message is not None or category.__module__ != "builtins"):
            warnings.filters.remove(entry)  # type: ignore[attr-defined]
    # Python keeps what it decided by the filters until they change; this change is made by its own function.
    warnings.filterwarnings("default", message="(?!)")
    warnings.filters.remove(warnings.filters[0])  # type: ignore[attr-defined]
