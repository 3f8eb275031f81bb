# SPDX-License-Identifier: GPL-2.0
"""What is measured: contestants, workloads, network cards."""

# Of each card: the model of nicsim, the driver of Linux
NICS = {"ixgbe": ("82599", "ixgbe"), "i40e": ("x710", "i40e")}

XDPSOCK = {"program": "xdpsock"}
TESTPMD = {"program": "testpmd", "kernel": "base"}
CONTROL = {"program": "control"}
CONTESTANTS = {
    "base-xskmap": {**XDPSOCK, "kernel": "base"},
    "patched-off": {**XDPSOCK, "kernel": "patched"},
    "attach": {**XDPSOCK, "kernel": "patched", "options": ["--attach", "--force"]},
    "dpdk-scalar": {**TESTPMD, "options": ["--force-max-simd-bitwidth=64"]},
    "dpdk-vector": {**TESTPMD},
    "dpdk-af_xdp": {"program": "af_xdp", "kernel": "base"},
    "dpdk-af_xdp-patched": {"program": "af_xdp", "kernel": "patched"},
    "base-control": {**CONTROL, "kernel": "base"},
    "patched-control": {**CONTROL, "kernel": "patched"},
}
# A system call polls the driver twice: so it receives a batch, as much as it sends. Else the Rx
# ring of the socket fills up, and the driver receives a frame in vain in each poll.
WORKLOADS = {"rxdrop": {"budget": 64}, "l2fwd": {"budget": 32}, "txonly": {"budget": 64}}
CONTROLS = {"xdp_drop": {}, "xdp_tx": {}}
QUICK = {("base-xskmap", "rxdrop"), ("base-xskmap", "l2fwd"), ("attach", "rxdrop"),
         ("attach", "l2fwd"), ("dpdk-scalar", "l2fwd"), ("dpdk-vector", "l2fwd")}

# The same for all unless said: descriptors of the hardware rings and of the socket's, chunks of
# the umem
COMMON = {"cores": 1, "frame": 64, "batch": 64, "descriptors": 1024, "frames": 4096,
          "options": [], "warmup": 50000, "packets": 200000}
# Beyond that, for these contestants: other sizes of frames, and of the umem
VARIED = ("base-xskmap", "attach")
VARIATIONS = (("l2fwd", {"frame": 1518}), ("l2fwd", {"frame": "imix"}),
              ("rxdrop", {"frames": 2048}), ("rxdrop", {"frames": 65536}))


def cell(nic, contestant, workload, **changes):
    """Return a cell of the matrix."""
    model, driver = NICS[nic]
    how = CONTESTANTS[contestant]
    options = CONTROLS if how["program"] == "control" else WORKLOADS
    return {**COMMON, "nic": nic, "model": model, "driver": driver, "workload": workload,
            "contestant": contestant, **options[workload], **how, **changes}


def cells(nics, quick=False):
    """Return the cells of the matrix, each a dictionary."""
    found = []
    for nic in nics:
        for contestant, how in CONTESTANTS.items():
            workloads = how.get("workloads",
                                CONTROLS if how["program"] == "control" else WORKLOADS)
            found += [cell(nic, contestant, workload) for workload in workloads
                      if not quick or (contestant, workload) in QUICK]
        if not quick:
            found += [cell(nic, contestant, workload, **changes)
                      for workload, changes in VARIATIONS for contestant in VARIED]
    return found


def is_usual(found):
    """Tell whether a cell has the usual frames, umem and cores."""
    return all(found.get(key, COMMON[key]) == COMMON[key] for key in ("cores", "frame", "frames"))
