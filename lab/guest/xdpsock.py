# SPDX-License-Identifier: GPL-2.0
"""xdpsock, which the tests start and end."""

import json
import os
import signal
import subprocess
import time

from harness import BIN, SLOW, eventually


def start(interface, *args, environment=None):
    """Start an xdpsock on queue 0 of the interface, with additions to the environment.

    Without statistics each second: nobody reads them, and a full pipe would block it.
    """
    return subprocess.Popen([BIN / "xdpsock", "-i", interface, "-q", "0", "--json",
                             "--interval=86400", *args], env=os.environ | (environment or {}),
                            stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)


def start_and_wait(*args):
    """Start an xdpsock and wait until it prints that its socket is bound."""
    process = start(*args)
    said = ""
    for line in process.stderr:
        said += line
        if ", program id " in line:
            return process
    raise AssertionError(f"xdpsock ended: {said}")


def finish(process):
    """Wait for an xdpsock and return its final line, parsed."""
    out, err = process.communicate(timeout=60 * SLOW)
    assert process.returncode == 0, f"status {process.returncode}: {err}"
    return json.loads(out.splitlines()[-1])


def stop(process, done=None):
    """End an xdpsock once `done`, or after the time to receive the frames in flight."""
    if done:
        eventually("all frames through xdpsock", done)
    else:
        time.sleep(2 * SLOW)
    process.send_signal(signal.SIGINT)
    return finish(process)
