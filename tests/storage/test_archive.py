"""Arrays in one file come back as they were, however they lay in memory."""

from pathlib import Path

import numpy as np
import pytest

from priste.errors import ModelFileError
from priste.storage.archive import Archive, verified, write_archive


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(np.arange(12.0).reshape(3, 4)),
        np.arange(12.0).reshape(3, 4).T,
        np.arange(52.0).reshape(26, 2, 1).transpose(1, 2, 0),
        np.arange(9)[::2],
        np.float64(7.0) * np.ones(()),
    ],
)
def test_an_array_in_any_order_can_be_read_back(array: np.ndarray, tmp_path: Path) -> None:
    path = tmp_path / "arrays.npz"
    with path.open("wb") as file:
        write_archive(file, {"it": array})
    back = verified(Archive.read(path).content(), path.name, ModelFileError)["it"]
    np.testing.assert_array_equal(back, array)
