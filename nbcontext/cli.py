"""The command `nbcontext` of a shell (interface: commands in a shell)."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from nbcontext.errors import NbcontextError

if TYPE_CHECKING:
    from nbcontext.settings import Settings
    from nbcontext.store import Store


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; return the exit status: 0 well, 1 what was checked fails, 2 a wrong command."""
    given = _parser().parse_args(arguments)
    run: Callable[[argparse.Namespace], int] = given.run
    try:
        return run(given)
    except NbcontextError as error:
        print(f"nbcontext: {error}", file=sys.stderr)  # noqa: T201 - what a shell command shows
        return 2
    except KeyboardInterrupt:
        return 130
    except BrokenPipeError:
        return 141


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="nbcontext", description="LLM sessions in a notebook.")
    commands = parser.add_subparsers(title="commands", required=True, metavar="COMMAND")

    demo = commands.add_parser("demo", help="opens the first notebook in JupyterLab on a model that needs no key")
    demo.add_argument(
        "--check", action="store_true", help="run the examples without a browser, and print what was checked"
    )
    demo.add_argument("--port", type=int, help="the port of JupyterLab; else a free one")
    demo.add_argument("--no-browser", action="store_true", help="only print the address")
    demo.set_defaults(run=_demo)

    conformance = commands.add_parser("conformance", help="runs the conformance cases on this installation")
    conformance.add_argument("file", nargs="?", type=Path, help="a file of cases; else the one that ships")
    conformance.set_defaults(run=_conformance)

    sessions = commands.add_parser("sessions", help="lists the stored sessions")
    sessions.set_defaults(run=_sessions)

    verify = commands.add_parser("verify", help="makes every hash in the store again and compares")
    verify.set_defaults(run=_verify)

    export = commands.add_parser("export", help="writes a session to a file")
    export.add_argument("name", help="the session")
    export.add_argument("file", type=Path, help="a JSON Lines file")
    export.add_argument("--salvage", action="store_true", help="read what can be read of a damaged store")
    export.set_defaults(run=_export)

    clean = commands.add_parser("clean", help="takes dead widget outputs and their state out of a notebook file")
    clean.add_argument("file", type=Path, help="the notebook")
    clean.set_defaults(run=_clean)
    return parser


def _demo(given: argparse.Namespace) -> int:
    from nbcontext import demo

    return demo.check() if given.check else demo.open_lab(given.port, browser=not given.no_browser)


def _conformance(given: argparse.Namespace) -> int:
    from nbcontext import conformance

    return conformance.main(given.file)


def _sessions(_: argparse.Namespace) -> int:
    from nbcontext.notebook import reports
    from nbcontext.settings import Settings

    print(reports.sessions(_opened(Settings()).sessions()).text)  # noqa: T201 - what a shell command shows
    return 0


def _verify(_: argparse.Namespace) -> int:
    from nbcontext.settings import Settings
    from nbcontext.store import verify

    settings = Settings()
    is_elsewhere = settings.store_url_or_environment() is not None
    found = verify.verify(settings.open_store()) if is_elsewhere else verify.verify_files(settings.home_folder())
    print(found.summary)  # noqa: T201 - what a shell command shows
    return 1 if found.faults else 0


def _export(given: argparse.Namespace) -> int:
    from nbcontext.settings import Settings
    from nbcontext.store import transfer

    if given.salvage:
        return _salvage(given)
    store = _opened(Settings())
    lines = transfer.export(store, store.session(given.name), given.file)
    print(f"{given.name} is in {given.file}: {lines:,} lines.")  # noqa: T201 - what a shell command shows
    return 0


def _salvage(given: argparse.Namespace) -> int:
    from nbcontext.settings import Settings
    from nbcontext.store import damage, salvage

    settings = Settings()
    url = settings.store_url_or_environment()
    files = damage.files(settings.home_folder()) if url is None else [damage.file_of(url)]
    files.sort(key=lambda place: damage.fault(place) is None)  # a damaged one is what is meant
    print(f"{given.name} is in {given.file}: {salvage.salvage(files, given.name, given.file).summary}")  # noqa: T201 - what a shell command shows
    return 0


def _opened(settings: Settings) -> Store:
    """Return the store; that it is a new one beside one that is damaged is told."""
    store = settings.open_store()
    if told := store.take_told():
        print(told, file=sys.stderr)  # noqa: T201 - what a shell command shows
    return store


def _clean(given: argparse.Namespace) -> int:
    from nbcontext import cleaning

    print(f"{given.file}: {cleaning.clean(given.file).summary}")  # noqa: T201 - what a shell command shows
    return 0
