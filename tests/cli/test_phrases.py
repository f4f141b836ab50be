"""What the library calls an argument, the command calls an option."""

import pytest

from priste.cli.phrases import in_options


@pytest.mark.parametrize(
    ("message", "wanted"),
    [
        ("say which with columns={'time': ...}", "say which with --column time=NAME"),
        (
            "columns={'time': 1, 'latitude': 2, 'longitude': 3}",
            "--column time=1 --column latitude=2 --column longitude=3",
        ),
        ("for example time_zone='UTC'", "for example --time-zone UTC"),
        ("time_format='%d/%m/%Y %H:%M'", "--time-format '%d/%m/%Y %H:%M'"),
        ("--exchange-model (exchange_model=True) takes it", "--exchange-model takes it"),
        ("a = b, and {c}", "a = b, and {c}"),
    ],
)
def test_arguments_become_options(message: str, wanted: str) -> None:
    assert in_options(message) == wanted
