"""Parquet, plain or with geometries (GeoParquet)."""

from pathlib import Path

import geopandas as gpd
import pandas as pd
import pyarrow.lib
import pyarrow.parquet

from priste.errors import TrackError


def read(path: Path) -> pd.DataFrame:
    """Return the rows; geometries become latitude and longitude, whatever projection they had."""
    try:
        metadata = pyarrow.parquet.read_schema(path).metadata or {}
        if b"geo" not in metadata:
            return pd.read_parquet(path)
        places = gpd.read_parquet(path)
    except (pyarrow.lib.ArrowException, OSError, ValueError) as error:
        raise TrackError(f"{path.name} is not a Parquet file that can be read: {error}") from error
    if not (places.geom_type == "Point").all():
        raise TrackError(f"{path.name} holds other geometries than points; one fix is one point")
    if places.crs is not None and not places.crs.equals("EPSG:4326"):
        places = places.to_crs("EPSG:4326")
    points = places.geometry
    return pd.DataFrame(places.drop(columns=points.name)).assign(
        latitude=points.y.to_numpy(), longitude=points.x.to_numpy()
    )


def write(table: pd.DataFrame, path: Path) -> None:
    """Write the table as it is."""
    table.to_parquet(path, index=False)


def write_geo(table: pd.DataFrame, path: Path) -> None:
    """Write the table with points in WGS 84 instead of latitude and longitude."""
    points = gpd.points_from_xy(table["longitude"], table["latitude"], crs="EPSG:4326")
    others = table.drop(columns=["latitude", "longitude"])
    gpd.GeoDataFrame(others, geometry=points).to_parquet(path, index=False)
