"""The documentation says what is so: its examples run, its links lead somewhere."""

import ast
import re
import subprocess
import sys
from pathlib import Path

import pytest

import priste
import priste.report
import priste.tracks
from priste import demo

ROOT = Path(__file__).parent.parent
DOCS = ROOT / "docs"
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted(DOCS.rglob("*.md"))]
EXPORTED = {
    f"{module.__name__}.{name}"
    for module in (priste, priste.tracks, priste.report)
    for name in module.__all__
}


def name_of(page: Path) -> str:
    return page.relative_to(ROOT).as_posix()


def examples(page: Path) -> str:
    return "\n".join(
        re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    )


def documented() -> list[str]:
    """Return what the pages of the reference describe through mkdocstrings."""
    pages = (page.read_text() for page in sorted((DOCS / "reference").glob("*.md")))
    return [name for text in pages for name in re.findall(r"^::: (\S+)$", text, re.MULTILINE)]


def used(page: Path) -> set[str]:
    """Return the names that the examples of a page import from the package and then use."""
    tree = ast.parse(examples(page))
    imported = {
        alias.name: f"{node.module}.{alias.name}"
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom)
        for alias in node.names
    }
    loaded = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
    return {imported[name] for name in loaded & imported.keys()}


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_the_examples_of_a_page_run(page: Path) -> None:
    exec(compile(examples(page), page.name, "exec"), {"__name__": "example"})


def test_the_events_file_of_the_command_page_is_the_one_the_demo_uses() -> None:
    (toml,) = re.findall(r"^```toml\n(.*?)^```", (DOCS / "command.md").read_text(), re.S | re.M)
    assert toml == demo.EVENTS


def test_there_are_examples_to_run() -> None:
    assert examples(ROOT / "README.md").count("import") >= 2


@pytest.mark.parametrize("page", PAGES, ids=name_of)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    text = re.sub(r"^```.*?^```", "", page.read_text(), flags=re.DOTALL | re.MULTILINE)
    for target in re.findall(r"\]\((?!http)([^)#]+)[^)]*\)", text):
        assert (page.parent / target).exists(), target


def test_every_exported_name_is_described_once_and_nothing_else_is() -> None:
    assert sorted(documented()) == sorted(EXPORTED)


def test_every_exported_name_is_used_in_an_example_of_the_reference() -> None:
    pages = sorted((DOCS / "reference").glob("*.md"))
    assert set().union(*map(used, pages)) >= EXPORTED


def test_the_site_builds_and_asks_no_other_server_for_anything(tmp_path: Path) -> None:
    build = [sys.executable, "-m", "mkdocs", "build", "--strict", "-d", str(tmp_path)]
    ended = subprocess.run(build, cwd=ROOT, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr
    asked = r"<(?:script|link|img)[^>]+(?:src|href)=[\"']?(?:https?:)?//[^>]*>|url\(.?https?:"
    for page in (*tmp_path.rglob("*.html"), *tmp_path.rglob("*.css")):
        assert re.findall(asked, page.read_text()) == [], page.relative_to(tmp_path)
