"""Every Python example in the documentation runs, from top to bottom of its page."""

import re
from pathlib import Path

import pytest

from priste import demo

ROOT = Path(__file__).parent.parent
PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


def examples(page: Path) -> str:
    return "\n".join(
        re.findall(r"^```python\n(.*?)^```", page.read_text(), re.DOTALL | re.MULTILINE)
    )


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_the_examples_of_a_page_run(page: Path) -> None:
    exec(compile(examples(page), page.name, "exec"), {})


def test_the_events_file_of_the_command_page_is_the_one_the_demo_uses() -> None:
    (toml,) = re.findall(
        r"^```toml\n(.*?)^```", (ROOT / "docs/command.md").read_text(), re.S | re.M
    )
    assert toml == demo.EVENTS


def test_there_are_examples_to_run() -> None:
    assert examples(ROOT / "README.md").count("import") >= 2


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\((?!http)([^)#]+)[^)]*\)", page.read_text()):
        assert (page.parent / target).exists(), target
