# SPDX-License-Identifier: GPL-2.0
"""The kernel's library for tests of network drivers, from the tree of the base.

tools/testing/selftests/{net,drivers/net}/lib/py. Tests import `lib.py`, as those in
tools/testing/selftests/drivers/net do. SELFTESTS in the environment names another tree's folder, for
tests on a real NIC. YNL and its specifications are those of the patched tree, or of KSRC.
"""

import os
import sys
from pathlib import Path

SELFTESTS = Path(os.environ.get("SELFTESTS", "/out/linux-base/tools/testing/selftests"))
__path__ += [str(SELFTESTS / "net/lib/py"), str(SELFTESTS / "drivers/net/lib/py")]

# pylint: disable=wrong-import-position
from . import ksft  # noqa: E402
from .ksft import (KsftSkipEx, KsftXfailEx, ksft_disruptive, ksft_eq, ksft_exit,  # noqa: E402
                   ksft_ge, ksft_in, ksft_ne, ksft_pr, ksft_run, ksft_setup, ksft_true)
from .netns import NetNS  # noqa: E402
from .nsim import NetdevSimDev  # noqa: E402
from .utils import bkg, cmd, ethtool, ip, wait_port_listen  # noqa: E402

KSRC = Path(os.environ.get("KSRC", "/out/linux"))
sys.path.append(str(KSRC / "tools"))
from net.ynl.lib import YnlFamily  # noqa: E402


class NetdevFamily(YnlFamily):
    """The generic netlink family netdev; without a schema, whose validation is slow."""

    def __init__(self):
        super().__init__(str(KSRC / "Documentation/netlink/specs/netdev.yaml"), schema="")


# These import the names above
from .remote import Remote  # noqa: E402
from .env import NetDrvEpEnv  # noqa: E402
