# SPDX-License-Identifier: GPL-2.0
"""What is measured: network cards, contestants, workloads, and which of them together."""

# The ports that each guest has: the model of nicsim, the driver of Linux
PORTS = (("x710", "i40e"), ("x710", "i40e"), ("82599", "ixgbe"), ("82599", "ixgbe"))
# Those of a card; a workload takes as many as it needs
NICS = {"ixgbe": (2, 3), "i40e": (0, 1), "i40e-ixgbe": (0, 2), "veth": ()}
CARDS = ("ixgbe", "i40e")

# A new contestant is a row here; picture and tables have them in this order.
XDPSOCK = {"program": "xdpsock", "workloads": ("rxdrop", "l2fwd", "txonly", "fwd")}
ATTACH = {**XDPSOCK, "kernel": "patched", "options": ("--attach", "--force")}
TESTPMD = {**XDPSOCK, "program": "testpmd", "kernel": "base"}
AF_XDP = {"program": "af_xdp", "repeat": 1, "workloads": ("rxdrop", "l2fwd", "txonly")}
CONTROL = {"program": "control", "repeat": 1, "workloads": ("xdp_drop", "xdp_tx", "xdp_redirect")}
CONTESTANTS = {
    "base-xskmap": {**XDPSOCK, "kernel": "base"},
    "patched-off": {**XDPSOCK, "kernel": "patched"},
    "attach": ATTACH,
    "attach-inorder": {**ATTACH, "options": (*ATTACH["options"], "--inorder")},
    "all": {**ATTACH, "options": (*ATTACH["options"], "--inorder", "--recycle"),
            "workloads": ("l2fwd", "fwd")},
    "dpdk-af_xdp": {**AF_XDP, "kernel": "base"},
    "dpdk-af_xdp-patched": {**AF_XDP, "kernel": "patched"},
    "dpdk-scalar": {**TESTPMD, "options": ("--force-max-simd-bitwidth=64",)},
    # With i40e see VARIATIONS
    "dpdk-vector": {**TESTPMD, "nics": ("ixgbe",)},
    # Frames go on as they are: this mode does not touch them. With ixgbe it stands still.
    "dpdk-recycle": {**TESTPMD, "forward": "recycle_mbufs", "workloads": ("l2fwd", "fwd"),
                     "nics": ("i40e",)},
    "base-control": {**CONTROL, "kernel": "base"},
    "patched-control": {**CONTROL, "kernel": "patched"},
}
# Ports; and by what the batch is divided for the budget of a poll. A system call polls the driver
# twice: so it receives a batch, as much as it sends. Else the Rx ring of the socket fills up, and
# the driver receives a frame in vain in each poll.
WORKLOADS = {"rxdrop": (1, 1), "l2fwd": (1, 2), "txonly": (1, 1), "fwd": (2, 2),
             "xdp_drop": (1, 1), "xdp_tx": (1, 1), "xdp_redirect": (1, 1)}

# The same for all unless said: descriptors of the hardware rings and of the socket's, chunks of
# the umem; of the socket's only, if there is a ring
COMMON = {"cores": 1, "frame": 64, "batch": 64, "queues": 1, "descriptors": 1024, "ring": None,
          "frames": 4096, "mode": "zero-copy", "options": (), "warmup": 25000, "packets": 100000,
          "repeat": 3, "caches": False}
# Of these, what may vary
SIZES = ("cores", "queues", "mode", "frame", "batch", "frames", "ring")
# Of the generator: with one queue, with several
FLOWS = (1, 4096)
# Beyond the usual cells, run once: cards, workload, contestants, what is not as usual
TWO = ("base-xskmap", "attach")
THREE = ("base-xskmap", "patched-off", "attach")
SENDING = ("base-xskmap", "attach", "attach-inorder")
FORWARDING = (*SENDING, "all")
COPY = {"program": "veth", "descriptors": 8192, "frames": 16384, "packets": 30000}
# Chunks for each of many queues: the kernel has 120 bytes for each chunk of the umem and queue
MANY = {"descriptors": 512, "frames": 1024}
VARIATIONS = (
    (CARDS, "rxdrop", TWO, {"batch": 256}),
    (CARDS, "l2fwd", FORWARDING, {"batch": 256}),
    (CARDS, "l2fwd", FORWARDING, {"frame": 1518}),
    (CARDS, "l2fwd", FORWARDING, {"frame": "imix"}),
    *((("i40e",), workload, contestants, {"frames": frames, "caches": True})
      for frames in (2048, 16384, 65536)
      for workload, contestants in (("rxdrop", TWO), ("l2fwd", FORWARDING))),
    # Sockets on one umem, one for each queue, all on one core; fwd has twice as many
    *((CARDS, "rxdrop", TWO, {"queues": queues}) for queues in (2, 4)),
    *((CARDS, "l2fwd", FORWARDING, {"queues": queues}) for queues in (2, 4)),
    *((("i40e",), "l2fwd", FORWARDING, {"queues": queues, **MANY}) for queues in (1, 4, 16)),
    (("i40e",), "fwd", FORWARDING, {"queues": 16, **MANY}),
    # In order, the ring limits the frames in flight: as many slots as a batch, half and twice the
    # device's
    *((CARDS, "txonly", ("attach-inorder",), {"ring": ring}) for ring in (64, 512, 2048)),
    # DPDK's vector path for i40e refills 32 descriptors each time it is called, however many
    # packets it is asked for: with more, its ring runs empty, and it takes what is not there
    *((("i40e",), workload, ("dpdk-scalar", "dpdk-vector"), {"batch": 32})
      for workload in XDPSOCK["workloads"]),
    (("i40e-ixgbe",), "fwd", ("dpdk-scalar", "dpdk-vector"), {"batch": 32}),
    # The driver polls on one core, by interrupts, the program spins on the other
    (CARDS, "rxdrop", TWO, {"cores": 2}),
    (CARDS, "txonly", SENDING, {"cores": 2}),
    (CARDS, "l2fwd", FORWARDING, {"cores": 2}),
    (("veth",), "rxdrop", THREE, {"mode": "skb", **COPY}),
    (("veth",), "rxdrop", THREE, {"mode": "native", **COPY}),
    *((("veth",), "rxdrop", TWO, {"mode": "native", **COPY, **many})
      for many in ({"queues": 8, "descriptors": 2048, "frames": 4096}, {"queues": 64, **MANY})),
    (("veth",), "l2fwd", (*THREE, "attach-inorder"), {"mode": "skb", **COPY}),
    (("veth",), "l2fwd", (*THREE, "attach-inorder"), {"mode": "native", **COPY}),
)
# The cells that tell the story, and those that CI looks at: contestants, workloads, cards
QUICK = ((("base-xskmap", "attach"), ("rxdrop", "l2fwd"), ("ixgbe",)),
         (("dpdk-scalar", "dpdk-vector"), ("l2fwd",), ("ixgbe",)))
SMALL = ((("patched-off", "attach"), ("rxdrop", "l2fwd"), CARDS),
         (("patched-control",), ("xdp_drop",), CARDS))
SUBSETS = {"quick": QUICK, "small": SMALL}


def cell(nic, contestant, workload, **changes):
    """Return a cell of the matrix."""
    ports, divisor = WORKLOADS[workload]
    found = {**COMMON, "nic": nic, "ports": NICS[nic][:ports], "workload": workload,
             "contestant": contestant, **CONTESTANTS[contestant], **changes}
    found["budget"] = found["batch"] // divisor
    found["drivers"] = sorted({PORTS[port][1] for port in found["ports"]})
    return found


def usual(nic):
    """Return contestant and workload of a card's usual cells."""
    return [(contestant, workload) for contestant, how in CONTESTANTS.items()
            for workload in how["workloads"]
            if nic in how.get("nics", NICS)
            and (nic in CARDS or workload == "fwd" and nic == "i40e-ixgbe")]


def cells(nics=tuple(NICS), subset="all"):
    """Return the cells of the matrix, each a dictionary."""
    if subset != "all":
        return [cell(nic, contestant, workload)
                for contestants, workloads, cards in SUBSETS[subset]
                for nic in cards if nic in nics
                for contestant in contestants for workload in workloads]
    found = [cell(nic, *which) for nic in nics for which in usual(nic)]
    return found + [cell(nic, contestant, workload, repeat=1, **changes)
                    for cards, workload, contestants, changes in VARIATIONS
                    for nic in cards if nic in nics for contestant in contestants]


def size(found, key):
    """Return a size of a cell, which may be from a file of an earlier version."""
    return found.get(key, COMMON[key])


def processors(found):
    """Return how many a cell is measured with: beside two cores there is one that sets the pace."""
    return 3 if found["cores"] > 1 else 1


def unusual(found):
    """Return what of a cell is not as usual."""
    return {key: size(found, key) for key in SIZES if size(found, key) != COMMON[key]}


def identity(found):
    """Return what tells a cell from all others."""
    return (found["nic"], found["workload"], found["contestant"],
            *(str(size(found, key)) for key in SIZES))
