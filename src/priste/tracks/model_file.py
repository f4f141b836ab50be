"""A model in one file, with a checksum; loading checks it down to the last index."""

import logging
import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from scipy import sparse

from priste.checks import listing, shown, whole
from priste.errors import ModelFileError
from priste.grid import Grid
from priste.mobility import Mobility
from priste.storage import plain_json
from priste.storage.archive import Archive, Claim, verified, write_archive
from priste.storage.atomic_files import atomic_file
from priste.storage.limits import MAX_HABITS, MAX_PHASES, MIB, at_most, refusing
from priste.tracks.model import FORMAT, Model, arrays_of
from priste.tracks.names import checked
from priste.tracks.new_places import CELLS, known_cells
from priste.tracks.places import LocalMap
from priste.tracks.seen import DAYS, USERS, stretches_of, users_of
from priste.tracks.steps import duration

_NUMBERS, _INDICES, _BYTES = ("float64",), ("int32", "int64"), ("uint8",)

_log = logging.getLogger(__name__)


def save_model(model: Model, path: str | Path) -> None:
    """Write the model to one file, with a checksum: the complete file or none.

    A model learned from one person's tracks holds that person's habits, so only the owner can read
    the file.
    """
    with atomic_file(path, private=True) as partial:
        write_model(model, partial)


def write_model(model: Model, path: Path) -> None:
    """Write the model into a file that is there for it."""
    with path.open("wb") as file:
        write_archive(file, arrays_of(model))


def load_model(path: str | Path) -> Model:
    """Read a model back. The checksum is verified, and nothing in the file is executed."""
    path = Path(path)
    with refusing(f"{path.name} is not a model file", ModelFileError):
        archive = Archive.read(path)
        archive.needs("meta")
        size = math.prod(archive.claims["meta"].shape)
        remedy = "leave out its provenance"
        at_most(size, MIB, "the size of its description", remedy, ModelFileError)
        meta = description_of(archive["meta"].tobytes())
        claims = dict(archive.claims)
        if claims.pop("checksum") != (np.dtype(np.uint8), (32,)):
            raise ModelFileError("its checksum is not one")
        check_claims(claims, meta["matrices"])
        content = archive.content()
    content = verified(content, path.name, ModelFileError)
    with refusing(f"{path.name} does not hold a model", ModelFileError):
        model = model_of(content, meta)
    cells, step = model.place.grid.n_cells, duration(model.step)
    _log.info("read a model: %d cells, a step of %s", cells, step)
    return model


def model_of(content: Mapping[str, NDArray[Any]], meta: Mapping[str, Any]) -> Model:
    """Return the model of arrays that passed `check_claims`, and of its description."""
    grid = Grid(meta["rows"], meta["columns"], meta["cell_size_km"], meta["elsewhere"])
    place = LocalMap(grid, meta["latitude"], meta["longitude"])
    known_cells(meta["provenance"], grid.n_cells)
    mobilities = tuple(
        Mobility(
            [_matrix(content, f"habit {m}", t) for t in range(count)],
            content["initial"],
            repeat=True,
            cell_of_state=content[f"habit {m} cell_of_state"],
        )
        for m, count in enumerate(meta["matrices"])
    )
    step = pd.Timedelta(seconds=meta["step_seconds"])
    return Model(place, step, mobilities, meta["time_zone"], meta["provenance"])


def description_of(text: bytes) -> dict[str, Any]:
    """Return the description of a model, checked."""
    meta = plain_json.parsed(text, ModelFileError)
    if not isinstance(meta, dict) or meta.get("format") != FORMAT:
        found = shown(meta.get("format")) if isinstance(meta, dict) else "none"
        raise ModelFileError(
            f"it was made by another version (format {found}, this one reads {FORMAT}); "
            f"fit it again"
        )
    if not isinstance(meta["matrices"], list) or not meta["matrices"]:
        raise ModelFileError("it does not say how many matrices it has")
    at_most(len(meta["matrices"]), MAX_HABITS, "the number of habits", "keep fewer", ModelFileError)
    for each in meta["matrices"]:
        count = whole(each, "the number of matrices", ModelFileError, least=1)
        at_most(count, MAX_PHASES, "the number of matrices", "use longer steps", ModelFileError)
    for name, value in meta["provenance"].items():
        checked(name, "an entry of the provenance", ModelFileError)
        if isinstance(value, str):
            checked(value, f"the value of {name}", ModelFileError)
        elif name not in (DAYS, USERS, CELLS) and not isinstance(value, int | float | None):
            raise ModelFileError(f"the provenance says {shown(value)} for {name!r}")
    stretches_of(meta["provenance"])
    users_of(meta["provenance"])
    return meta


def check_claims(claims: Mapping[str, Claim], n_matrices: Sequence[int]) -> None:
    """Refuse arrays that do not form a model, before reading them."""
    expected: dict[str, tuple[tuple[str, ...], tuple[int | None, ...]]] = {
        "meta": (_BYTES, (None,)),
        "initial": (_NUMBERS, (None,)),
    }
    for m, count in enumerate(n_matrices):
        cells = f"habit {m} cell_of_state"
        n_states = math.prod(claims[cells].shape)
        expected[cells] = _INDICES, (n_states,)
        for name in (f"habit {m} matrix {t}" for t in range(count)):
            if name in claims:
                expected[name] = _NUMBERS, (n_states, n_states)
            else:
                stored = math.prod(claims[f"{name} data"].shape)
                expected[f"{name} data"] = _NUMBERS, (stored,)
                expected[f"{name} indices"] = _INDICES, (stored,)
                expected[f"{name} indptr"] = _INDICES, (n_states + 1,)
    odd = sorted(set(claims) ^ set(expected))
    if odd:
        raise ModelFileError(f"it has missing or unexpected arrays: {shown(listing(odd))}")
    for name, (dtypes, sizes) in expected.items():
        dtype, shape = claims[name]
        fits = len(shape) == len(sizes) and all(
            wanted in (None, size) for wanted, size in zip(sizes, shape, strict=True)
        )
        if dtype.name not in dtypes or not fits:
            raise ModelFileError(f"its {name!r} is {dtype} of shape {shape}, which is not possible")


def _matrix(content: Mapping[str, NDArray[Any]], habit: str, t: int) -> Any:
    name = f"{habit} matrix {t}"
    if name in content:
        return content[name]
    parts = content[f"{name} data"], content[f"{name} indices"], content[f"{name} indptr"]
    n_states = len(content[f"{habit} cell_of_state"])
    return sparse.csr_array(parts, shape=(n_states, n_states))
