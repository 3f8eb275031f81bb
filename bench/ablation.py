# SPDX-License-Identifier: GPL-2.0
"""Plan and evaluate bench/ablation: prefixes of the series and what each adds.

`plan` prints a line per prefix: commit, contestants, name. `table` reads these lines and the
bench.json of each commit, and writes the tables.
"""

import argparse
import json
import re
import subprocess
import sys
from pathlib import Path

sys.path.append(str(Path(__file__).resolve().parent.parent / "lab"))
# pylint: disable=wrong-import-position
import report  # noqa: E402
import series  # noqa: E402

# Contestants of a prefix and the option that each needs, in the order of the series
CONTESTANTS = (("patched-off", None), ("attach", "XDP_ATTACH"),
               ("attach-inorder", "XDP_TX_INORDER"), ("all", "XDP_RECYCLE"))
OPTIONS = "include/uapi/linux/if_xdp_fastpath.h"
# What i40e l2fwd cannot depend on
ELSEWHERE = ("tools", "samples", "Documentation", "MAINTAINERS", "drivers/net/ethernet/intel/ixgbe",
             "net/xdp/tests", "net/xdp/xsk_diag.c")
# A patch, by its number or by the name of its mail; a commit has at least 7 digits
PATCH = re.compile(r"(?:patches/)?(\d{1,4})(?:-.*\.patch)?")


def git(tree, *args, check=True):
    """Return the output of a git command in the tree."""
    return subprocess.run(["git", "-c", "safe.directory=*", "-C", tree, *args], check=check,
                          capture_output=True, text=True).stdout.strip()


def supported(tree, commit):
    """Return the contestants whose options a commit has."""
    # The first prefixes do not have the file
    header = git(tree, "show", f"{commit}:{OPTIONS}", check=False)
    names = set(re.findall(r"^#define\s+(\w+)", header, re.MULTILINE))
    return [contestant for contestant, option in CONTESTANTS if not option or option in names]


def of_sections(repo):
    """Return (revision, name) of the base and of each section's end, in the order of the series."""
    return [("base", "base"), *((f"section/{name}", name) for name in series.read_series(repo))]


def commits_and_mails(tree, repo):
    """Return the commits on the base and the names of their mails, in the order of the series."""
    mails = [mail for names in series.read_series(repo).values() for mail in names]
    commits = git(tree, "rev-list", "--reverse", "base..patched").splitlines()
    if len(commits) != len(mails):
        sys.exit(f"ablation: {tree} has {len(commits)} commits on the base, series has "
                 f"{len(mails)}; make tree, or name commits")
    return commits, [mail.removesuffix(".patch") for mail in mails]


def of_patches(tree, repo):
    """Return (revision, name) of the base, the end of the first section, and each later patch.

    Patches of other drivers, of tests and of documentation are left out.
    """
    first = f"section/{next(iter(series.read_series(repo)))}"
    matter = git(tree, "rev-list", f"{first}..patched", "--", ".",
                 *(f":(exclude){path}" for path in ELSEWHERE)).splitlines()
    names = dict(zip(*commits_and_mails(tree, repo)))
    return [("base", "base"), (first, first.removeprefix("section/")),
            *((commit, name) for commit, name in names.items() if commit in matter)]


def of_patch(tree, repo, number):
    """Return (revision, name) of the predecessor of a patch and of the patch."""
    commits, mails = commits_and_mails(tree, repo)
    if not 1 <= number <= len(mails):
        sys.exit(f"ablation: no patch {number}: the series has {len(mails)}")
    return [(f"{commits[number - 1]}~", mails[number - 2] if number > 1 else "base"),
            (commits[number - 1], mails[number - 1])]


def plan(tree, repo, words):
    """Return (commit, contestants, name) of each prefix once; of all sections without words."""
    found = {}
    for word in words or ["--sections"]:
        patch = PATCH.fullmatch(word)
        if word == "--sections":
            prefixes = of_sections(repo)
        elif word == "--patches":
            prefixes = of_patches(tree, repo)
        elif patch:
            prefixes = of_patch(tree, repo, int(patch[1]))
        else:
            prefixes = [(word, git(tree, "log", "-1", "--format=%h %s", word))]
        for revision, name in prefixes:
            found.setdefault(git(tree, "rev-parse", f"{revision}^{{commit}}"), name)
    return [(commit, supported(tree, commit), name) for commit, name in found.items()]


def figures(cells):
    """Return {(NIC, workload): {contestant: {packets per round: instructions per packet}}}."""
    found = {}
    for cell in cells:
        if cell["valid"]:
            of_workload = found.setdefault((cell["nic"], cell["workload"]), {})
            of_workload.setdefault(cell["contestant"], {})[cell["batch"]] = cell["insn_per_pkt"]
    return found


def best(contestants):
    """Return the contestant with the lowest figure at the largest round, or None."""
    return min(contestants, key=lambda name: (-max(contestants[name]),
                                              contestants[name][max(contestants[name])]),
               default=None)


def table(prefixes, choose):
    """Return the table of one contestant per prefix with the changes from the previous row.

    Prefixes are pairs of a name and {contestant: {packets per round: figure}}.
    """
    rounds = sorted({n for _, contestants in prefixes for points in contestants.values()
                     for n in points})
    rows, last = [], {}
    for name, contestants in prefixes:
        contestant = choose(contestants)
        points = contestants.get(contestant, {})
        rows.append([name, contestant or "no figures",
                     *(f"{points[n]:.1f}" if n in points else "" for n in rounds),
                     *(f"{points[n] - last[n]:+.1f}" if n in points and n in last else ""
                       for n in rounds)])
        last = points or last
    header = ["up to", "contestant", *map(str, rounds), *(f"change at {n}" for n in rounds)]
    return report.rows_to_markdown(header, rows)


def text(results):
    """Return the tables of all cells; results are pairs of a name and the cells of a prefix."""
    by_prefix = [(name, figures(cells)) for name, cells in results]
    parts = []
    for nic, workload in dict.fromkeys(key for _, found in by_prefix for key in found):
        prefixes = [(name, found.get((nic, workload), {})) for name, found in by_prefix]
        parts.append(f"## {nic} {workload}, the least expensive contestant of each prefix\n\n"
                     + table(prefixes, best))
        if any(set(contestants) - {"patched-off"} for _, contestants in prefixes):
            parts.append(f"## {nic} {workload}, a regular program, all options off\n\n"
                         + table(prefixes, lambda found: "patched-off" if "patched-off" in found
                                 else None))
    return ("# What each part of the series adds\n\nInstructions per packet by packets per round, "
            "and the changes from the row above. `bench/ablation` measured it.\n\n"
            + "\n".join(parts))


def lines(cells):
    """Yield a line per NIC, workload and contestant, with the figures by ascending batch."""
    found = {}
    for cell in sorted(cells, key=lambda cell: cell["batch"]):
        name = f"{cell['nic']} {cell['workload']} {cell['contestant']}"
        figure = f"{cell['insn_per_pkt']:.1f}" if cell["valid"] else "invalid"
        found.setdefault(name, []).append(f"{cell['batch']}: {figure}")
    for name, batches in found.items():
        yield f"  {name:28} {'  '.join(batches)}"


def cells_of(folder):
    """Return the cells of the bench.json in a folder."""
    return json.loads((folder / "bench.json").read_text())["cells"]


def main():
    """Run a part of bench/ablation."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parts = parser.add_subparsers(dest="part", required=True)
    planning = parts.add_parser("plan")
    planning.add_argument("tree")
    planning.add_argument("repo", type=Path)
    planning.add_argument("words", nargs=argparse.REMAINDER)
    parts.add_parser("lines").add_argument("folder", type=Path)
    tables = parts.add_parser("table", description="reads the plan from stdin")
    tables.add_argument("folder", type=Path, help="has the results of each commit")
    args = parser.parse_args()
    if args.part == "plan":
        for commit, contestants, name in plan(args.tree, args.repo, args.words):
            print(commit, "|".join(contestants), name, sep="\t")
    elif args.part == "lines":
        print("\n".join(lines(cells_of(args.folder))), flush=True)
    else:
        prefixes = [line.rstrip("\n").split("\t") for line in sys.stdin]
        print(text([(name, cells_of(args.folder / commit)) for commit, _, name in prefixes]),
              end="")


if __name__ == "__main__":
    main()
