"""Films as files: two side by side, evenly spaced pictures in a strip, `.mp4` and `.gif`."""

import math
import os
import tempfile
import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
from PIL import Image, ImageDraw, ImageFont

from onlooker.errors import UserError
from onlooker.failures import first_line
from onlooker.storage import atomic

GIF_FPS, GIF_COLOURS = 12.5, 64
GAP, LINE = 4, 20  # pixels between two pictures, and for a line of a caption
BAR, INK, SOFT, MARK = (24, 31, 40), (240, 244, 248), (160, 174, 188), (255, 196, 87)

Frames = Sequence[np.ndarray]
"""Pictures [H, W, 3] uint8, all of one size."""


def side_by_side(left: Frames, right: Frames, captions: tuple[str, str], mark: str = "ended") -> list[np.ndarray]:
    """Two films [H, W, 3] as one [bar + H, W + GAP + W, 3], each under its caption of one or more lines.

    The shorter one holds its last picture, dimmed and marked.
    """
    length, height = max(len(left), len(right)), max(left[0].shape[0], right[0].shape[0])
    lines = max(len(caption.splitlines()) for caption in captions)

    def side(frames: Frames, caption: str) -> list[np.ndarray]:
        bar = _caption_bar(caption, frames[0].shape[1], lines)
        below = np.full((height - frames[0].shape[0], frames[0].shape[1], 3), BAR, np.uint8)
        held = [_held(frames[-1], mark)] * (length - len(frames))
        return [np.concatenate([bar, frame, below]) for frame in (*frames, *held)]

    sides = zip(side(left, captions[0]), side(right, captions[1]))
    return [np.concatenate([a, np.full((len(a), GAP, 3), BAR, np.uint8), b], axis=1) for a, b in sides]


def film_strip(frames: Frames, count: int) -> np.ndarray:
    """Evenly spaced pictures of a film, first and last among them, as one wide picture [H, W', 3]."""
    chosen = np.linspace(0, len(frames) - 1, min(count, len(frames))).round().astype(int)
    gap = np.full((frames[0].shape[0], GAP, 3), 255, np.uint8)
    return np.concatenate([piece for i in chosen for piece in (gap, frames[i])][1:], axis=1)


def write_film(path: Path, frames: Frames, fps: float) -> None:
    """Write `.mp4` (H.264, plays everywhere) or `.gif` (fewer pictures and colours), whole or not at all."""
    check_film_path(path)
    encode = _gif if path.suffix.lower() == ".gif" else _mp4
    with tempfile.TemporaryDirectory() as folder:
        draft = Path(folder) / f"film{path.suffix.lower()}"
        try:
            encode(draft, frames, fps)
            data = draft.read_bytes()
        except (OSError, RuntimeError) as failure:  # no ffmpeg, or no room for the draft
            raise UserError(f"can't make the film {path}: {first_line(failure)}") from failure
    with atomic(path) as stream:
        stream.write(data)


def check_film_path(path: Path) -> None:
    """Refuse what can't be written, before any time is spent on filming."""
    if path.suffix.lower() not in (".mp4", ".gif"):
        raise UserError(f"can't make the film {path}: its name must end in .mp4 or .gif")
    folder = path.absolute().parent
    if not folder.is_dir() or not os.access(folder, os.W_OK) or path.is_dir():
        raise UserError(f"can't write {path}: {'it is a folder' if path.is_dir() else f'no writable folder {folder}'}")


def _caption_bar(caption: str, width: int, lines: int) -> np.ndarray:
    """A caption as a picture [bar, width, 3] with room for so many lines; one too long is set smaller."""
    bar = Image.new("RGB", (width, LINE * lines + 12), BAR)
    draw = ImageDraw.Draw(bar)
    for row, line in enumerate(caption.splitlines()):
        size = 14 if row else 16
        while size > 8 and draw.textlength(line, ImageFont.load_default(size)) > width - 20:
            size -= 1
        place = (10, 6 + LINE * (row + 0.5))
        draw.text(place, line, SOFT if row else INK, ImageFont.load_default(size), anchor="lm")
    return np.asarray(bar)


def _held(frame: np.ndarray, mark: str) -> np.ndarray:
    """The last picture [H, W, 3] of a film that is over: dimmed, with a word on it."""
    image = Image.fromarray((frame * 0.45).astype(np.uint8))
    height, width = frame.shape[:2]
    ImageDraw.Draw(image).text((width / 2, 0.9 * height), mark, MARK, ImageFont.load_default(height / 12), anchor="mm")
    return np.asarray(image)


def _mp4(path: Path, frames: Frames, fps: float) -> None:
    import imageio.v2 as imageio

    settings: dict[str, Any] = {"codec": "libx264", "pixelformat": "yuv420p", "macro_block_size": 2, "quality": 7}
    writer: Any = imageio.get_writer(path, "FFMPEG", fps=fps, output_params=["-movflags", "+faststart"], **settings)
    even = [(0, size % 2) for size in frames[0].shape[:2]] + [(0, 0)]  # as yuv420p must be
    with writer, warnings.catch_warnings():
        warnings.simplefilter("ignore", RuntimeWarning)  # JAX's, of forking: ffmpeg is another program, no fork of us
        for frame in frames:
            writer.append_data(np.pad(frame, even, "edge"))
    # A full disk ends ffmpeg without a word to us: only reading tells.
    try:
        with imageio.get_reader(path, "FFMPEG") as film:
            written = film.count_frames()  # type: ignore[attr-defined]
    except (OSError, RuntimeError, IndexError):
        written = 0
    if written != len(frames):
        raise OSError(f"only {written} of its {len(frames)} pictures were written; is the disk full?")


def _gif(path: Path, frames: Frames, fps: float) -> None:
    every = math.ceil(fps / GIF_FPS)
    # One palette for all, without dithering: what does not move is not stored again.
    palette = Image.fromarray(film_strip(frames, 5)).quantize(GIF_COLOURS)
    kept = [Image.fromarray(frame).quantize(palette=palette, dither=Image.Dither.NONE) for frame in frames[::every]]
    kept[0].save(path, save_all=True, append_images=kept[1:], duration=round(1000 * every / fps), loop=0)
