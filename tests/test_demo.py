import re

import pytest

from priste import demo


def test_the_demo_tells_the_story(capsys: pytest.CaptureFixture[str]) -> None:
    demo.main()
    out = capsys.readouterr().out
    rows = re.findall(r"^ +(\d+) +(\d+) +(\d+) +([\d.]+) +([\d.]+) +(\S+) to (\S+)$", out, re.M)
    assert [int(row[0]) for row in rows] == list(range(demo.STEPS))
    assert "an observer who gave 1:14.8 before" in out
    assert "Mean distance" in out
