"""The files a protected track is delivered in: some for everybody, the others for its owner."""

import stat
from dataclasses import dataclass
from pathlib import Path

from priste.errors import TrackError
from priste.report.findings import findings
from priste.report.page import report_files, write_report
from priste.tracks.certificate_file import to_text
from priste.tracks.cleaning import Account
from priste.tracks.files import checked_suffix, write_as
from priste.tracks.outputs import Together
from priste.tracks.protect import ProtectedTrack


@dataclass(frozen=True)
class Delivery:
    """Where the files go: `track` and what is named after it are public, the folder is not."""

    track: Path
    private: Path

    def __post_init__(self) -> None:
        checked_suffix(self.track)

    @property
    def certificate(self) -> Path:
        """The public certificate."""
        return self.track.with_name(f"{self.track.stem}.certificate.json")

    @property
    def page(self) -> Path:
        """The public report."""
        return self.track.with_name(f"{self.track.stem}.report.html")

    @property
    def files(self) -> list[Path]:
        """Every file that may be delivered."""
        return [
            self.track,
            self.certificate,
            *report_files(self.page),
            *(self.private / name for name in ("diary.csv", "certificate.json")),
            *report_files(self.private / "report.html"),
        ]

    def write(
        self,
        result: ProtectedTrack,
        account: Account | None = None,
        *,
        hide_events: bool = False,
        report: bool = True,
        public_report: bool = False,
    ) -> None:
        """Write all files together, and take away what an earlier delivery left there.

        The whole certificate stays with the owner; with `hide_events` others get one without them.
        """
        whole = result.certificate
        shown = whole.without_events() if hide_events else whole
        is_new = _own(self.private)
        try:
            with Together() as files:
                written = [self.track, self.certificate]
                for name, text in (
                    ("diary.csv", result.diary.to_csv(index=False)),
                    ("certificate.json", to_text(whole)),
                ):
                    written.append(self.private / name)
                    files.add(written[-1], private=True).write_text(text, encoding="utf-8")
                if report:
                    page = self.private / "report.html"
                    written += write_report(findings(result, account), page, files)
                if public_report:
                    public = findings(result, private=False, shown=shown)
                    written += write_report(public, self.page, files)
                files.add(self.certificate).write_text(to_text(shown), encoding="utf-8")
                write_as(result.released, files.add(self.track), self.track.suffix)
        except BaseException:
            if is_new:
                self.private.rmdir()
            raise
        for stale in set(self.files) - set(written):
            stale.unlink(missing_ok=True)


def _own(folder: Path) -> bool:
    """Make a folder for its owner alone and tell whether it is new; refuse one that others see."""
    try:
        folder.mkdir(mode=0o700)
    except FileExistsError:
        if not folder.is_dir() or stat.S_IMODE(folder.stat().st_mode) & 0o077:
            raise TrackError(
                f"{folder} is there and others can look into it; "
                f"choose another, or make it yours alone with chmod 700"
            ) from None
        return False
    return True
