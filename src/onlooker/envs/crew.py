"""Threads that work together on one list of jobs."""

import threading
from collections.abc import Callable, Iterator
from typing import Any


class Crew:
    """Threads that share out a list of jobs; the caller works too. Every job is done when `run` returns.

    The only Python between two jobs is taking the next one, because the threads contend for the interpreter there.
    """

    def __init__(self, do: Callable[[Any], None], threads: int) -> None:
        self._do = do
        self._jobs: Iterator[Any] = iter(())
        self._failure: BaseException | None = None
        # Bare locks, taken by one thread and released by the other: a tenth of the price of a semaphore.
        self._go = [threading.Lock() for _ in range(threads - 1)]
        self._done = [threading.Lock() for _ in range(threads - 1)]
        for lock in (*self._go, *self._done):
            lock.acquire()
        self._open = True
        for go, done in zip(self._go, self._done):
            threading.Thread(target=self._serve, args=(go, done), daemon=True).start()

    def run(self, jobs: list) -> None:
        """Do every job once, in any order."""
        self._jobs = iter(jobs)
        for go in self._go:
            go.release()
        self._work()
        for done in self._done:
            done.acquire()
        if self._failure is not None:
            failure, self._failure = self._failure, None
            raise failure

    def close(self) -> None:
        """End the threads."""
        self._open = False
        for go in self._go:
            go.release()

    def _serve(self, go: threading.Lock, done: threading.Lock) -> None:
        while go.acquire() and self._open:
            self._work()
            done.release()

    def _work(self) -> None:
        do = self._do
        try:
            for job in self._jobs:  # one shared iterator: taking the next job is atomic
                do(job)
        except BaseException as failure:
            self._failure = failure
