"""The files of a protected track: some public, the others for its owner."""

import stat
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from priste.errors import PristeError, TrackError
from priste.report.findings import Findings
from priste.report.page import report_files, write_report
from priste.storage.atomic_files import AtomicFiles
from priste.tracks.certificate import Certificate
from priste.tracks.certificate_file import load_certificate, to_text
from priste.tracks.cleaning import Account
from priste.tracks.files import checked_suffix, write_as
from priste.tracks.names import short
from priste.tracks.protect import ProtectedTrack
from priste.tracks.stream_file import write_stream

MAX_BESIDE = 100
"""How many certificates of a folder are looked at."""


@dataclass(frozen=True, repr=False)
class Delivery:
    """Where the files go: `track` and files named after it are public, the folder is not."""

    track: Path
    private: Path

    def __post_init__(self) -> None:
        checked_suffix(self.track)

    def __repr__(self) -> str:
        return f"<Delivery: {short(self.track.name, 40)}, {short(self.private.name, 40)}/>"

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

    def others(self, certificate: Certificate) -> tuple[list[Path], list[Path]]:
        """Return the certificates beside this one that go together badly with it.

        First those of releases of the same time, then others that were made under the same model.
        What they are about and what is delivered here may together tell more than each promises.
        """
        same_time, same_model = [], []
        beside = sorted(self.track.parent.glob("*.certificate.json"))
        for path in beside[:MAX_BESIDE]:
            if path.resolve() == self.certificate.resolve():
                continue
            with suppress(PristeError):
                other = load_certificate(path)
                if _overlap(other, certificate):
                    same_time.append(path)
                elif other.model == certificate.model:
                    same_model.append(path)
        return same_time, same_model

    def write(
        self,
        result: ProtectedTrack,
        account: Account | None = None,
        *,
        hide_events: bool = False,
        report: bool = True,
        public_report: bool = False,
        stream: Path | None = None,
        files: AtomicFiles | None = None,
    ) -> None:
        """Write all files or none, in place of what an earlier delivery left there.

        The full certificate stays with the owner; with `hide_events` others get one without them.
        A track of a stream goes with the stream, to be continued from there; it has no reports.
        With `files`, everything appears together with what was added there.
        """
        if (result.continued is None) != (stream is None):
            raise TrackError("a track of a stream is delivered with its stream, and no other is")
        if files is None:
            with AtomicFiles() as own:
                self.write(
                    result,
                    account,
                    hide_events=hide_events,
                    report=report,
                    public_report=public_report,
                    stream=stream,
                    files=own,
                )
            return
        _refuse_visible(self.private)
        files.make_folder(self.private, private=True)
        full = result.certificate
        shown = full.without_events(result.asked) if hide_events else full
        written = [self.track, self.certificate]
        for name, text in (
            ("diary.csv", result.diary.to_csv(index=False)),
            ("certificate.json", to_text(full)),
        ):
            written.append(self.private / name)
            files.add(written[-1], private=True).write_text(text, encoding="utf-8")
        if stream is not None and result.continued is not None:
            write_stream(result.continued, stream, files)
            report = public_report = False
        if report:
            page = self.private / "report.html"
            written += write_report(Findings.of(result, account), page, files)
        if public_report:
            public = Findings.of(result, private=False, certificate=shown)
            written += write_report(public, self.page, files)
        files.add(self.certificate).write_text(to_text(shown), encoding="utf-8")
        write_as(result.released, files.add(self.track), self.track.suffix)
        for stale in set(self.files) - set(written):
            files.remove(stale)


def _overlap(one: Certificate, other: Certificate) -> bool:
    """Tell whether two certificates are about some of the same time."""
    spans = [c.clock.time_of([c.steps.start, c.steps.stop]) for c in (one, other)]
    return bool(max(begin for begin, _ in spans) < min(end for _, end in spans))


def _refuse_visible(folder: Path) -> None:
    """Refuse a folder that others can look into."""
    if folder.exists() and (not folder.is_dir() or stat.S_IMODE(folder.stat().st_mode) & 0o077):
        raise TrackError(
            f"others can look into {folder}; choose another folder, or make it yours alone "
            f"with chmod 700"
        )
