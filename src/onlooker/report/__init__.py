"""Pictures and tables, made from run folders only.

import onlooker.report
frame = onlooker.report.frame("results/")  # pandas, one row a run
"""

from onlooker.report.entry import Run
from onlooker.report.frames import curves, frame
from onlooker.report.gathering import load
from onlooker.report.packed import pack

__all__ = ["Run", "curves", "frame", "load", "pack"]
