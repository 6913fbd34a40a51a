"""The metrics as curves for TensorBoard. metrics.jsonl has them too, so failing to write them stops no run."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Any, Self


class Curves:
    """Writes curves as long as that is possible; on the first failure it says so and writes no more."""

    def __init__(self, folder: Path, frames: int, say: Callable[[str], None]) -> None:
        """frames: done so far; curves beyond them are purged."""
        self.folder, self.frames, self.say = folder, frames, say
        self._writer: Any = None

    def __enter__(self) -> Self:
        from torch.utils.tensorboard import SummaryWriter  # slow to import, and nobody else needs it

        with self._until_it_fails():
            self._writer = SummaryWriter(str(self.folder), purge_step=self.frames)
        return self

    def add(self, row: dict[str, Any], frames: int) -> None:
        """A point on each curve."""
        if self._writer is not None:
            with self._until_it_fails():
                for name, value in row.items():
                    self._writer.add_scalar(name, value, frames)

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        if self._writer is not None:
            with self._until_it_fails():
                self._writer.close()

    @contextmanager
    def _until_it_fails(self) -> Iterator[None]:
        try:
            yield
        except OSError as error:
            self._writer = None
            self.say(f"no more curves in {self.folder} ({(error.strerror or str(error)).lower()}); training goes on")
