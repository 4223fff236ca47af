"""A thousand broken files and command lines, each answered with one clear line (`make fuzz` runs ten thousand)."""

import subprocess
import sys
from pathlib import Path


def test_a_thousand_broken_inputs_are_each_one_clear_line() -> None:
    """In a process of its own: it has a limit on memory, and changes the working folder."""
    script = Path(__file__).with_name("fuzzing.py")
    told = subprocess.run([sys.executable, str(script), "--cases", "1000"], capture_output=True, text=True)
    assert told.returncode == 0, told.stdout[-4000:] + told.stderr[-4000:]
    assert told.stdout == "cases 0 to 999: 0 failures\n"
