"""Parquet, plain or with geometries (GeoParquet)."""

from pathlib import Path

import geopandas as gpd
import pandas as pd
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from priste.checks import listing, shown
from priste.errors import TrackError
from priste.storage.limits import FREE_BYTES, MAX_COLUMNS, MAX_UNFOLDED, at_most, refusing


def read(path: Path) -> pd.DataFrame:
    """Return the rows, with geometries of any projection as latitude and longitude."""
    with refusing(f"{path.name} is not a Parquet file that can be read", TrackError):
        table = _checked(path)
        if b"geo" not in (table.schema.metadata or {}):
            return table.replace_schema_metadata(None).to_pandas()
        places = gpd.read_parquet(path)
        if not (places.geom_type == "Point").all():
            raise TrackError("it holds geometries other than points; each fix must be a point")
        if places.crs is not None and not places.crs.equals("EPSG:4326"):
            places = places.to_crs("EPSG:4326")
        points = places.geometry
        return pd.DataFrame(places.drop(columns=points.name)).assign(
            latitude=points.y.to_numpy(), longitude=points.x.to_numpy()
        )


def _checked(path: Path) -> pa.Table:
    """Return the table of a file that holds about as much as its size says.

    Both a number of rows and a text that stands once for many rows can claim any amount.
    """
    with pq.ParquetFile(path) as file:
        leaves = [file.schema.column(i) for i in range(len(file.schema))]
        at_most(len(leaves), MAX_COLUMNS, "the number of columns", "remove some", TrackError)
        lists = [leaf.path for leaf in leaves if leaf.max_repetition_level > 0]
        if lists:
            raise TrackError(f"{shown(listing(lists))} holds lists; each fix must be a row")
        claimed = 8 * file.metadata.num_rows * max(len(leaves), 1)
        _check_size(path, claimed)
        texts = [leaf.path for leaf in leaves if leaf.physical_type == "BYTE_ARRAY"]
    with pq.ParquetFile(path, read_dictionary=texts) as file:  # a text stands once in memory too
        table = file.read(use_threads=False)
    held = sum(_length(chunk) for column in table.columns for chunk in column.chunks)
    _check_size(path, claimed + held)
    return _plain(table)


def _check_size(path: Path, held: int) -> None:
    most = max(FREE_BYTES, MAX_UNFOLDED * path.stat().st_size)
    remedy = "write it as CSV, which holds what its size says"
    at_most(held, most, "what the file unfolds to, in bytes", remedy, TrackError)


def _length(chunk: pa.Array) -> int:
    """Return the total length of the texts of a column."""
    if not pa.types.is_dictionary(chunk.type):
        return int(chunk.nbytes)
    lengths = pc.binary_length(chunk.dictionary)
    return int(pc.sum(pc.take(lengths, chunk.indices)).as_py() or 0)


def _plain(table: pa.Table) -> pa.Table:
    for i, column in enumerate(table.columns):
        if pa.types.is_dictionary(column.type):
            table = table.set_column(i, table.field(i).name, column.cast(column.type.value_type))
    return table


def write(table: pd.DataFrame, path: Path) -> None:
    """Write the table as it is."""
    table.to_parquet(path, index=False)


def write_geo(table: pd.DataFrame, path: Path) -> None:
    """Write the table with points in WGS 84 instead of latitude and longitude."""
    points = gpd.points_from_xy(table["longitude"], table["latitude"], crs="EPSG:4326")
    others = table.drop(columns=["latitude", "longitude"])
    gpd.GeoDataFrame(others, geometry=points).to_parquet(path, index=False)
