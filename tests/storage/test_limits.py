"""What is said of files that are not as they should be."""

import pytest

from priste.errors import ModelFileError, TrackError
from priste.storage.limits import refusing


def test_a_message_that_quotes_a_hostile_file_is_cut() -> None:
    with pytest.raises(ModelFileError) as caught, refusing("m.npz is not a model", ModelFileError):
        raise TrackError("x" * 100_000)
    assert len(str(caught.value)) < 1100
    assert str(caught.value).startswith("m.npz is not a model: xxx")
