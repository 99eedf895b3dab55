"""Child processes that cannot outlive the process that started them, whatever ends it.

`/bin/sh` forks a watcher and then becomes the child (`exec`), so the pid we hold is the child's own and there
is no moment in which it runs unwatched. The watcher reads from a pipe whose other end only we hold: a word
means that we stopped the child ourselves; end of file means that we are gone, and then it kills the child and
removes its directory.

PR_SET_PDEATHSIG would do the same on Linux alone, and there it fires when the *thread* that forked ends,
which kills a server started through `asyncio.to_thread` as soon as its loop shuts down.
"""

from __future__ import annotations

import os
import subprocess
import weakref
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

_WATCHED = """
exec 3<&0 </dev/null
( read -r word <&3; if [ -z "$word" ]; then kill -KILL $$; rm -rf -- "$0"; fi ) >/dev/null 2>&1 &
exec "$@" 3<&-
"""

_STOP_GRACE_S = 5.0  # a server without persistence ends in milliseconds; past this it hangs


class TiedProcess:
    """A running child, tied to this process's life.

    `directory` belongs to the child: it is removed when this process dies without having called `stop`.
    Output goes to `log`. Raises OSError when there is no `/bin/sh` or `log` cannot be written; a command that
    cannot be executed shows as an early exit (`poll`), with the reason in `log`.
    """

    def __init__(self, command: Sequence[str], *, directory: Path, log: Path) -> None:
        self._stopped = False
        read_end, self._lifeline = os.pipe()
        try:
            with log.open("ab") as output:
                self._process = subprocess.Popen(  # noqa: S603 - the command is a server binary we located
                    ["/bin/sh", "-c", _WATCHED, str(directory), *command],
                    stdin=read_end,
                    stdout=output,
                    stderr=subprocess.STDOUT,
                    cwd=directory,
                    env={"PATH": os.defpath, "LC_ALL": "C"},  # a server needs none of our secrets
                    start_new_session=True,  # Ctrl-C is for us; we then stop the child in order
                )
        except BaseException:
            os.close(self._lifeline)
            raise
        finally:
            os.close(read_end)
        _open.add(self)

    @property
    def pid(self) -> int:
        """The child's process id."""
        return self._process.pid

    def poll(self) -> int | None:
        """The exit code, or None while it runs."""
        return self._process.poll()

    def stop(self, grace_s: float = _STOP_GRACE_S) -> bool:
        """End the child by SIGTERM, after `grace_s` by SIGKILL, and wait. True if this call ended it.

        Does nothing in a forked copy of the process that started it: the child is not the copy's to stop.
        """
        if self._stopped:
            return False
        self._process.terminate()
        try:
            self._process.wait(grace_s)
        except subprocess.TimeoutExpired:
            self._process.kill()
        self._release()
        return True

    def kill(self) -> None:
        """End the child by SIGKILL, as a crash would, and wait for it. Idempotent."""
        if not self._stopped:
            self._process.kill()
            self._release()

    def _release(self) -> None:
        self._process.wait()
        self._stopped = True
        _open.discard(self)
        try:
            with suppress(BrokenPipeError):  # somebody killed the watcher: there is nobody left to tell
                os.write(self._lifeline, b"stopped\n")
        finally:
            os.close(self._lifeline)

    def _forget_in_fork(self) -> None:
        # A forked copy that kept the pipe open would keep the child alive after us.
        if not self._stopped:
            self._stopped = True
            os.close(self._lifeline)


_open: weakref.WeakSet[TiedProcess] = weakref.WeakSet()


def _forget_all_in_fork() -> None:
    for child in list(_open):
        child._forget_in_fork()
    _open.clear()


os.register_at_fork(after_in_child=_forget_all_in_fork)
