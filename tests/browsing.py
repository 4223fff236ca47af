"""A headless Chromium that a test drives: it opens pages, asks them things and takes pictures. No library, no port."""

import base64
import fcntl
import itertools
import json
import os
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")
browser = pytest.mark.skipif(CHROMIUM is None, reason="there is no `chromium` on PATH to open the page with")


class Chromium:
    """Use as a context. It is spoken to through two pipes: JSON, a zero byte behind each message."""

    def __init__(self, profile: Path, dark: bool = False) -> None:
        assert CHROMIUM is not None
        hears, self._out = os.pipe()
        self._in, says = os.pipe()
        heard, said = (fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (hears, says))  # out of the way of 3 and 4

        def connect() -> None:
            os.dup2(heard, 3)  # it reads there
            os.dup2(said, 4)  # and writes here

        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", f"--user-data-dir={profile}"]
        self._process = subprocess.Popen(
            [CHROMIUM, *flags, "--remote-debugging-pipe", "about:blank"],
            preexec_fn=connect,
            pass_fds=(3, 4),
            stderr=subprocess.DEVNULL,
        )
        for end in (hears, says, heard, said):
            os.close(end)
        self._numbers = itertools.count(1)
        self._buffer = b""
        pages = self._call("Target.getTargets")["targetInfos"]
        target = next(page["targetId"] for page in pages if page["type"] == "page")
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        feature = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.do("Emulation.setEmulatedMedia", features=[feature])

    def __enter__(self) -> "Chromium":
        return self

    def __exit__(self, kind: type | None, failure: BaseException | None, trace: TracebackType | None) -> None:
        self._process.terminate()
        self._process.wait(timeout=30)
        os.close(self._in)
        os.close(self._out)

    def _call(self, method: str, session: str = "", **params: Any) -> dict[str, Any]:
        number = next(self._numbers)
        message = {"id": number, "method": method, "params": params} | ({"sessionId": session} if session else {})
        os.write(self._out, json.dumps(message).encode() + b"\0")
        while True:
            while b"\0" not in self._buffer:
                part = os.read(self._in, 1 << 16)
                assert part, "Chromium is gone"
                self._buffer += part
            line, _, self._buffer = self._buffer.partition(b"\0")
            answer = json.loads(line)
            if answer.get("id") == number:
                assert "error" not in answer, answer
                return answer["result"]

    def do(self, method: str, **params: Any) -> dict[str, Any]:
        """Something of its protocol, in the page."""
        return self._call(method, self._session, **params)

    def open(self, page: Path, width: int = 1280, height: int = 900) -> None:
        """Show a page, as a file."""
        self.do("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=False)
        self.do("Page.navigate", url=page.as_uri())
        self.until("document.readyState === 'complete'")

    def ask(self, expression: str) -> Any:
        """What an expression comes to in the page."""
        answer = self.do("Runtime.evaluate", expression=expression, returnByValue=True)
        assert "exceptionDetails" not in answer, answer
        return answer["result"].get("value")

    def until(self, expression: str, seconds: float = 60.0) -> None:
        """Wait until an expression is true."""
        end = time.monotonic() + seconds
        while not self.ask(expression):
            assert time.monotonic() < end, f"{expression} is still not true"
            time.sleep(0.05)

    def picture(self, path: Path) -> None:
        """What is seen of the page, as PNG."""
        path.write_bytes(base64.b64decode(self.do("Page.captureScreenshot")["data"]))
