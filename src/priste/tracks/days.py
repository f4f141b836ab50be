"""Days as people have them: from one local midnight to the next, whatever the clocks do."""

import pandas as pd

from priste.tracks.windows import zone


def day_start(moment: pd.Timestamp, time_zone: str, *, later: int = 0) -> pd.Timestamp:
    """Return when the local day of a moment, or the one `later` days on, begins.

    Where clocks skip midnight it begins with the first hour there is.
    """
    zone(time_zone)
    day = moment.tz_convert(time_zone).tz_localize(None).normalize() + pd.Timedelta(days=later)
    return day.tz_localize(time_zone, ambiguous=True, nonexistent="shift_forward")
