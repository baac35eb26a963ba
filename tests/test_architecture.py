"""The order in which data flows, and what is pure, held by the code itself (CONTRIBUTING: How it is built)."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest

PACKAGE = Path(__file__).parent.parent / "nbcontext"
WIDGETS = PACKAGE.parent / "widgets"

FLOW = """
plain errors lines call template exhibit plan forge keys
outcome result entry usage events
loop_tools loop assets
display cause hygiene compaction request history notes outgoing guard takeback
model compactor
world files instructions execution search
tools servers toolbox offer
personality prefix pump
log store recordings reply consent permission prompts runner sender settings shelf
subagent turn engine opening frames opened session
testing conformance cleaning demo widgets notebook cli nbcontext
""".split()  # noqa: SIM905 - a list of seventy names, in rows that mean something
"""Modules and packages in the order data flows: each imports only what stands before it."""

PURE = """
plain call outcome result entry plan hygiene history notes prefix compaction outgoing request usage cause guard takeback lines
template
""".split()  # noqa: SIM905
"""Modules that get records and give records: no files, clocks, network, processes, database, display."""

IMPURE_IMPORTS = {
    *(
        "asyncio",
        "http",
        "os",
        "pathlib",
        "random",
        "shutil",
        "signal",
        "socket",
        "sqlalchemy",
        "sqlite3",
        "subprocess",
    ),
    *("sys", "tempfile", "threading", "time", "urllib", "litellm", "httpx", "pandas", "IPython", "ipywidgets"),
}


def modules() -> dict[str, Path]:
    """Return every module by its name."""
    found = {}
    for path in PACKAGE.rglob("*.py"):
        found[".".join(("nbcontext", *path.relative_to(PACKAGE).with_suffix("").parts)).removesuffix(".__init__")] = (
            path
        )
    for path in WIDGETS.glob("*.py"):
        found[f"nbcontext.widgets.{path.stem}".removesuffix(".__init__")] = path
    return found


def unit(module: str) -> str:
    """Return the module's place in the flow: its package below nbcontext, or itself."""
    parts = module.split(".")
    return parts[1] if len(parts) > 1 else parts[0]


def imports(path: Path) -> list[tuple[str, bool]]:
    """Return what a module imports, and whether at its top; what only annotations need is left out."""
    found: list[tuple[str, bool]] = []

    def visit(node: ast.AST, at_top: bool) -> None:
        for child in ast.iter_child_nodes(node):
            if isinstance(child, ast.If) and isinstance(child.test, ast.Name) and child.test.id == "TYPE_CHECKING":
                continue
            if isinstance(child, ast.ImportFrom) and child.module and not child.level:
                found.extend((f"{child.module}.{alias.name}", at_top) for alias in child.names)
            elif isinstance(child, ast.Import):
                found.extend((alias.name, at_top) for alias in child.names)
            visit(child, at_top and not isinstance(child, ast.FunctionDef | ast.AsyncFunctionDef))

    visit(ast.parse(path.read_text(encoding="utf-8")), at_top=True)
    return found


MODULES = modules()


def test_the_flow_names_every_module_once():
    assert sorted(FLOW) == sorted({unit(module) for module in MODULES})


@pytest.mark.parametrize("module", sorted(MODULES))
def test_a_module_imports_only_what_comes_before_it(module: str):
    place = FLOW.index(unit(module))
    later = [
        name
        for name, _ in imports(MODULES[module])
        if name.startswith("nbcontext.") and module != "nbcontext" and FLOW.index(unit(name)) > place
    ]
    assert later == []


@pytest.mark.parametrize("module", sorted(module for module in MODULES if unit(module) in PURE))
def test_a_pure_module_has_no_way_to_the_world(module: str):
    doors = {name.split(".")[0] for name, _ in imports(MODULES[module])} & IMPURE_IMPORTS
    assert doors == set()


@pytest.mark.parametrize("module", sorted(MODULES))
def test_nothing_heavy_is_imported_at_the_top_of_a_module(module: str):
    heavy = {"litellm", "openai", "pandas", "mcp", "nbclient", "nbformat", "markdown_it", "nh3", "pygit2"}
    assert {name.split(".")[0] for name, at_top in imports(MODULES[module]) if at_top} & heavy == set()


def test_sizes():
    lines = {module: path.read_text(encoding="utf-8").count("\n") for module, path in MODULES.items()}
    assert {module: count for module, count in lines.items() if count > 400} == {}
