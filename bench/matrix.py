# SPDX-License-Identifier: GPL-2.0
"""The cells of the benchmark: combinations of NIC, contestant and workload."""

# The ports of each guest: model of nicsim, Linux driver
PORTS = (("x710", "i40e"), ("x710", "i40e"), ("82599", "ixgbe"), ("82599", "ixgbe"))
# Ports of a NIC; a workload takes as many as it needs
NICS = {"ixgbe": (2, 3), "i40e": (0, 1), "i40e-ixgbe": (0, 2), "veth": ()}
CHIPS = ("ixgbe", "i40e")

# A new contestant is a row here; the picture and the tables use this order.
XDPSOCK = {"program": "xdpsock", "workloads": ("rxdrop", "l2fwd", "txonly", "fwd")}
ATTACH = {**XDPSOCK, "kernel": "patched", "options": ("--attach", "--force")}
TESTPMD = {**XDPSOCK, "program": "testpmd", "kernel": "base"}
COMPANIONS = "/out/companions/usr/lib/x86_64-linux-gnu"
AF_XDP = {"program": "af_xdp", "workloads": ("rxdrop", "l2fwd", "txonly")}
CONTROL = {"program": "control", "workloads": ("xdp_drop", "xdp_tx", "xdp_redirect")}
# bench/bare.bpf.c in place of libxdp's program, attached directly instead of behind its dispatcher
BARE = {"LIBXDP_OBJECT_PATH": "/out/bench/bare", "LIBXDP_SKIP_DISPATCHER": "1"}
CONTESTANTS = {
    "base-xskmap": {**XDPSOCK, "kernel": "base"},
    "base-bare": {**XDPSOCK, "kernel": "base", "workloads": ("rxdrop", "l2fwd", "fwd"),
                  "environment": BARE, "nics": CHIPS},
    "patched-off": {**XDPSOCK, "kernel": "patched"},
    "attach": ATTACH,
    "attach-inorder": {**ATTACH, "options": (*ATTACH["options"], "--inorder")},
    # Behind the smallest program, of bench/control.bpf.c
    "attach-pass": {**ATTACH, "options": (*ATTACH["options"], "--pass"), "regular": "xdp_pass",
                    "workloads": ("rxdrop", "l2fwd"), "nics": CHIPS},
    # With a tcpdump beside it, which takes part of the CPU
    "attach-capture": {**ATTACH, "capture": True, "workloads": ("rxdrop", "l2fwd"), "nics": CHIPS},
    "all": {**ATTACH, "options": (*ATTACH["options"], "--inorder", "--recycle"),
            "workloads": ("l2fwd", "fwd")},
    "dpdk-af_xdp": {**AF_XDP, "kernel": "base"},
    "dpdk-af_xdp-patched": {**AF_XDP, "kernel": "patched"},
    # The patched libxdp attaches its socket
    "dpdk-af_xdp-attach": {**AF_XDP, "kernel": "patched", "nics": CHIPS,
                           "environment": {"LD_LIBRARY_PATH": COMPANIONS, "LIBXDP_XSK_ATTACH": "1"}},
    "dpdk-scalar": {**TESTPMD, "options": ("--force-max-simd-bitwidth=64",)},
    # For i40e see VARIATIONS
    "dpdk-vector": {**TESTPMD, "nics": ("ixgbe",)},
    # This mode forwards frames unmodified. With ixgbe it crashes.
    "dpdk-recycle": {**TESTPMD, "forward": "recycle_mbufs", "workloads": ("l2fwd", "fwd"),
                     "nics": ("i40e",)},
    "base-control": {**CONTROL, "kernel": "base"},
    "patched-control": {**CONTROL, "kernel": "patched"},
}
# Number of ports; divisor of the batch for the budget of a poll on the base, where a system call
# polls the driver twice, if the generator always has frames: forwarding has to receive as many
# packets as it sends. Otherwise the Rx ring of the socket fills up, and each poll drops a frame.
WORKLOADS = {"rxdrop": (1, 1), "l2fwd": (1, 2), "txonly": (1, 1), "fwd": (2, 2),
             "xdp_drop": (1, 1), "xdp_tx": (1, 1), "xdp_redirect": (1, 1)}

# Defaults. "batch" is the number of packets per round, of DPDK and senders the burst; "wait" is how
# the program waits, by busy polling or in poll(); "descriptors" is the size of the device rings,
# and unless "ring" is set of the socket rings; "frames" is the number of chunks of the umem
COMMON = {"cores": 1, "frame": 64, "batch": 64, "queues": 1, "descriptors": 1024, "ring": None,
          "frames": 4096, "mode": "zero-copy", "options": (), "warmup": 25000, "packets": 100000,
          "unaligned": False, "wait": "busy", "caches": False, "environment": {},
          "regular": None, "capture": False}
# The defaults that VARIATIONS may change
# Bytes of a frame in a chunk of 4096 of a socket with XDP_USE_SG on i40e: without headroom and the
# room of struct skb_shared_info, in units of the device
BUFFER = 3456
SIZES = ("cores", "queues", "mode", "frame", "batch", "frames", "ring", "unaligned",
         "wait")
# Flows of the generator: with one queue, with several
FLOWS = (1, 4096)
# The cells beyond the usual ones: NICs, workload, contestants, changed defaults
TWO = ("base-xskmap", "attach")
THREE = ("base-xskmap", "patched-off", "attach")
SENDING = ("base-xskmap", "attach", "attach-inorder")
FORWARDING = (*SENDING, "all")
COPY = {"program": "veth", "descriptors": 8192, "frames": 16384, "packets": 30000}
JUMBO = 9018
# Packets per round of the curve; the usual cells are 64
ROUNDS = (1, 2, 4, 8, 16, 32, 256)
CURVE = {"rxdrop": ("base-xskmap", "patched-off", "attach"),
         "l2fwd": ("base-xskmap", "patched-off", "attach", "all"),
         "txonly": ("base-xskmap", "patched-off", "attach", "attach-inorder")}
# Chunks per queue with many queues: the kernel needs 136 bytes per chunk of the umem and queue
MANY = {"descriptors": 512, "frames": 1024}
VARIATIONS = (
    *((CHIPS, workload, (*CURVE[workload], "dpdk-scalar"), {"batch": batch})
      for workload in CURVE for batch in ROUNDS),
    # DPDK's vector paths receive at least 4; for that of i40e, 32 at most, see below
    *((chips, workload, ("dpdk-vector",), {"batch": batch})
      for chips, rounds in ((CHIPS, (4, 8, 16, 32)), (("ixgbe",), (256,)))
      for workload in CURVE for batch in rounds),
    *((CHIPS, workload, ("base-bare", "attach-pass"), {"batch": batch})
      for workload in ("rxdrop", "l2fwd") for batch in (1, 8)),
    # For bench/ablation
    *((("i40e",), "l2fwd", ("attach-inorder",), {"batch": batch}) for batch in (1, 8)),
    # No multiple of four, in which loops are unrolled
    (CHIPS, "l2fwd", ("base-xskmap", "patched-off", "attach", "all"), {"batch": 60}),
    *((CHIPS, workload, CURVE[workload], {"batch": batch, "unaligned": True})
      for workload in CURVE for batch in (1, 8, 64)),
    *((CHIPS, workload, CURVE[workload], {"batch": batch, "wait": "poll"})
      for workload in ("rxdrop", "l2fwd") for batch in (1, 8, 64)),
    *((CHIPS, workload, ("dpdk-af_xdp", "dpdk-af_xdp-patched",
                          "dpdk-af_xdp-attach"), {"batch": batch})
      for workload in ("rxdrop", "l2fwd") for batch in (1, 8)),
    (("i40e",), "l2fwd", FORWARDING, {"frame": 1518}),
    (("i40e",), "l2fwd", FORWARDING, {"frame": "imix"}),
    # Three buffers per frame. libxdp's program does not support them at this MTU
    *((CHIPS, workload, ("attach", "attach-inorder"), {"frame": JUMBO, "batch": batch})
      for workload in ("rxdrop", "l2fwd") for batch in (8, 64)),
    *((("i40e",), workload, contestants, {"frames": frames, "caches": True})
      for frames in (16384, 65536)
      for workload, contestants in (("rxdrop", TWO), ("l2fwd", FORWARDING))),
    # One socket per queue on a shared umem, all on one core; fwd has twice as many
    (CHIPS, "rxdrop", TWO, {"queues": 2}),
    (CHIPS, "l2fwd", FORWARDING, {"queues": 2}),
    (("i40e",), "l2fwd", FORWARDING, {"queues": 16, **MANY}),
    (("i40e",), "fwd", FORWARDING, {"queues": 16, **MANY}),
    # In order, the socket's Tx ring limits the frames in flight: a batch, half and twice the size
    # of the device ring
    *((CHIPS, "txonly", ("attach-inorder",), {"ring": ring}) for ring in (64, 512, 2048)),
    # DPDK's vector path for i40e refills 32 descriptors per call. With larger bursts its ring runs
    # empty, and it receives packets that do not exist
    (("i40e", "i40e-ixgbe"), "fwd", ("base-xskmap", "attach", "all", "dpdk-scalar", "dpdk-vector"),
     {"batch": 32}),
    # The driver runs interrupt-driven on one core, the program spins on the other
    (CHIPS, "rxdrop", TWO, {"cores": 2}),
    (CHIPS, "txonly", SENDING, {"cores": 2}),
    (CHIPS, "l2fwd", FORWARDING, {"cores": 2}),
    (("veth",), "rxdrop", THREE, {"mode": "skb", **COPY}),
    (("veth",), "rxdrop", THREE, {"mode": "native", **COPY}),
    *((("veth",), "rxdrop", TWO, {"mode": "native", **COPY, **many})
      for many in ({"queues": 8, "descriptors": 2048, "frames": 4096}, {"queues": 64, **MANY})),
    (("veth",), "l2fwd", (*THREE, "attach-inorder"), {"mode": "skb", **COPY}),
    (("veth",), "l2fwd", (*THREE, "attach-inorder"), {"mode": "native", **COPY}),
)
# The characteristic cells, and those that CI measures: contestants, workloads, NICs
QUICK = ((("base-xskmap", "attach"), ("rxdrop", "l2fwd"), ("ixgbe",)),
         (("dpdk-scalar", "dpdk-vector"), ("l2fwd",), ("ixgbe",)))
SMALL = ((("patched-off", "attach"), ("rxdrop", "l2fwd"), CHIPS),
         (("patched-control",), ("xdp_drop",), CHIPS))
SUBSETS = {"quick": QUICK, "small": SMALL}


def buffers(found):
    """Return the number of chunks per frame. The CRC, 4 bytes of the frame, is not in memory."""
    frame = found["frame"]
    return 1 if frame == "imix" or frame <= 1518 else -(-(frame - 4) // BUFFER)


def paced(found):
    """Return whether a cell has rounds of exactly N frames, which the generator hands over."""
    return (found["program"] in ("xdpsock", "af_xdp") and found["workload"] in ("rxdrop", "l2fwd")
            and size(found, "cores") == size(found, "queues") == found["buffers"] == 1)


def cell(nic, contestant, workload, **changes):
    """Return a cell of the matrix."""
    ports, divisor = WORKLOADS[workload]
    found = {**COMMON, "nic": nic, "ports": NICS[nic][:ports], "workload": workload,
             "contestant": contestant, **CONTESTANTS[contestant], **changes}
    found["buffers"] = buffers(found)
    found["paced"] = paced(found)
    # The patched kernel polls twice, too, if a budget below 64 is used up: one of 1 always counts as
    # used up, even if nothing is received. Senders have a usual one
    twice = found["kernel"] == "base" or found["batch"] < 64
    found["budget"] = (max(64, found["batch"]) if found["paced"] or workload == "txonly" else
                       found["batch"] // (divisor if twice else 1))
    if found["batch"] < 64:
        found |= {"warmup": 5000, "packets": max(20000, 1500 * found["batch"])}
    found["drivers"] = sorted({PORTS[port][1] for port in found["ports"]})
    return found


def usual(nic):
    """Return contestant and workload of the usual cells of a NIC."""
    return [(contestant, workload) for contestant, how in CONTESTANTS.items()
            for workload in how["workloads"]
            if nic in how.get("nics", NICS)
            and (nic in CHIPS or workload == "fwd" and nic == "i40e-ixgbe")]


def cells(nics=tuple(NICS), subset="all"):
    """Return the cells of the matrix, each a dictionary."""
    if subset != "all":
        return [cell(nic, contestant, workload)
                for contestants, workloads, chips in SUBSETS[subset]
                for nic in chips if nic in nics
                for contestant in contestants for workload in workloads]
    found = [cell(nic, *which) for nic in nics for which in usual(nic)]
    return found + [cell(nic, contestant, workload, **changes)
                    for chips, workload, contestants, changes in VARIATIONS
                    for nic in chips if nic in nics for contestant in contestants]


def size(found, key):
    """Return a size of a cell, which may come from an older file that lacks it."""
    return found.get(key, COMMON[key])


def cpus(found):
    """Return the number of CPUs of a cell; beside two cores, one shortens QEMU's time slices."""
    return 3 if found["cores"] > 1 else 1


def unusual(found):
    """Return the sizes of a cell that differ from the defaults."""
    return {key: size(found, key) for key in SIZES if size(found, key) != COMMON[key]}


def on_curve(found):
    """Return whether a cell has figures, and no unusual size but packets per round."""
    return found["valid"] and not unusual(found).keys() - {"batch"}


def identity(found):
    """Return the key that is unique to a cell."""
    return (found["nic"], found["workload"], found["contestant"],
            *(str(size(found, key)) for key in SIZES))
