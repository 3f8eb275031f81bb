# SPDX-License-Identifier: GPL-2.0
"""Tests of series.py on a small synthetic kernel: python3 -m unittest lab/test_series.py"""

import io
import json
import os
import shutil
import subprocess
import sys
import tarfile
import tempfile
import unittest
from pathlib import Path

TOOL = Path(__file__).resolve().with_name("series.py")
LINES = [f"line {number}\n" for number in range(1, 41)]
BASE = {"Makefile": "".join(LINES[1:]), "net/core/dev.c": "".join(LINES),
        ".gitignore": "*.o\n/*\n!/debian/\n", "scripts/old.o": "old\n"}
COVER = "xsk: a fast path\n\nWhat it is for.\n\n# bench rxdrop : base-xskmap attach\n# end\n"
CELLS = [{"nic": nic, "workload": "rxdrop", "contestant": name, "insn_per_pkt": insns,
          "valid": True, **size}
         for nic in ("i40e", "ixgbe") for name, insns in (("base-xskmap", 200.0), ("attach", 50.0))
         for size in ({}, {"batch": 256, "insn_per_pkt": 7.0})]
USER = "0002-samples-bpf-add-a-demo-n-code.patch"
KEPT = None


def edit(text, line, new):
    """Return text with one line (counted from 1) replaced."""
    lines = text.splitlines(keepends=True)
    lines[line - 1] = new
    return "".join(lines)


def setUpModule():
    """Make the folder for what all tests begin with."""
    global KEPT
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    KEPT = Path(folder.name, "kept")


class SeriesTest(unittest.TestCase):
    """Each test has a repository, a base tarball and a tree, below a path with spaces."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="series test ")
        self.addCleanup(folder.cleanup)
        self.top = Path(folder.name)
        self.repo, self.tree = self.top / "my repo", self.top / "out dir/linux"
        self.tar = self.top / "base 6.12.tar.xz"
        if KEPT.exists():
            shutil.copytree(KEPT, self.top, dirs_exist_ok=True)
        else:
            self.make_series()
            shutil.copytree(self.top, KEPT)

    def make_series(self):
        """Begin with an empty series, and commit in the tree as a developer does."""
        self.write_tar(BASE)
        self.put("series", "")
        self.put("patches/cover/fixes", "net: fixes\n\nThey fix.\n\n# patches\n# end\n")
        self.put("patches/cover/user", COVER + "\n# patches fixes\n# end\n")
        self.put("results/bench.json", json.dumps({"cells": CELLS}))
        self.make_tree()
        self.commit("net: core: add a hook", {"net/core/dev.c": self.hooked(5),
                    "net/xdp/xsk_attach.c": "int attach;\n"}, 'Fixes: 123456789abc ("net: x")',
                    author="Bjørn Ærlig <dev@example.org>", body="Größe: ≤ 3 µs.\n\nTwo.")
        self.git("notes", "--ref=series", "add", "-m", "Base: 6.12\n\nUpstream: not sent")
        self.git("branch", "section/fixes")
        self.commit("samples: bpf: add a demo – ünïcode", {
            "samples/demo.c": "int demo;\n", "tools/net/run.sh": "#!/bin/sh\n"}, mode=0o755)
        self.commit("xsk: use the hook", {"net/core/dev.c": edit(self.hooked(5), 30, "used\n"),
                                          "net/xdp/xsk_attach.c": "int attach;\nint used;\n"})
        self.git("branch", "section/user")
        self.refresh()

    @staticmethod
    def hooked(line):
        return edit("".join(LINES), line, f"hooked {line}\n")

    def write_tar(self, files):
        with tarfile.open(self.tar, "w:xz") as tar:
            for name, text in files.items():
                info = tarfile.TarInfo(f"linux-source-6.12/{name}")
                info.size, info.mtime, info.mode = len(text.encode()), 1700000000, 0o644
                tar.addfile(info, io.BytesIO(text.encode()))

    def put(self, name, text):
        path = self.repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def replace(self, name, old, new):
        text = (self.repo / name).read_text()
        self.assertIn(old, text)
        self.put(name, text.replace(old, new))

    def run_tool(self, command, *args, ok=True):
        done = subprocess.run([sys.executable, TOOL, command, "--repo", self.repo,
                               *map(str, args)], capture_output=True, text=True, check=False)
        self.stderr = done.stderr
        self.assertEqual(done.returncode, 0 if ok else 1, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout if ok else done.stderr

    def make_tree(self, *args, ok=True):
        base = () if "--base-dir" in args else ("--base-tar", self.tar)
        return self.run_tool("tree", "--tree", self.tree, *base, *args, ok=ok)

    def refresh(self, *args, ok=True):
        return self.run_tool("refresh", "--tree", self.tree, *args, ok=ok)

    def check(self, ok=True):
        return self.run_tool("check", "--tar", self.tar, ok=ok)

    def git(self, *args, cwd=None):
        return subprocess.run(["git", "-c", "user.name=D", "-c", "user.email=d@example.org", *args],
                              cwd=cwd or self.tree, check=True, capture_output=True, text=True,
                              env={**os.environ, "GIT_SEQUENCE_EDITOR": "true"}).stdout.strip()

    def commit(self, subject, files, *trailers, mode=0o644, author="D <d@example.org>",
               body="Because."):
        for name, text in files.items():
            path = self.tree / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
            path.chmod(mode)
        self.git("add", "-A", "-f")
        self.git("commit", "-q", "--author", author, "--date", "2026-11-20T10:00:00+0100", "-m",
                 subject, "-m", body, "-m", "\n".join([*trailers, f"Signed-off-by: {author}"]))

    def subjects(self):
        return self.git("log", "--reverse", "--format=%s", "base..patched").splitlines()

    def snapshot(self):
        return {str(path.relative_to(self.repo)): (path.read_bytes(), path.stat().st_mode,
                                                   path.stat().st_mtime_ns)
                for path in self.repo.rglob("*") if path.is_file()}

    # tree

    def test_git_am_alone_gives_the_tree(self):
        plain = self.top / "plain"
        with tarfile.open(self.tar) as tar:
            tar.extractall(plain, filter="data")
        plain = plain / "linux-source-6.12"
        for command in (["init", "-q"], ["add", "-A", "-f"], ["commit", "-q", "-m", "base"],
                        ["am", "-q", *sorted(self.repo.glob("patches/*.patch"))]):
            self.git(*map(str, command), cwd=plain)
        self.git("fetch", "-q", str(plain))
        self.assertEqual(self.git("diff", "--name-only", "FETCH_HEAD", "patched"), ".gitignore")
        self.assertEqual((plain / "net/xdp/xsk_attach.c").read_text(), "int attach;\nint used;\n")

    def test_commits_sections_and_notes(self):
        ids = self.git("rev-parse", "base", "patched", "section/fixes", "section/user")
        shutil.rmtree(self.tree)
        self.make_tree()
        self.assertEqual(ids, self.git("rev-parse", "base", "patched", "section/fixes",
                                       "section/user"))
        self.assertEqual(self.git("rev-parse", "section/fixes", "section/user").splitlines(),
                         self.git("rev-parse", "patched~2", "patched").splitlines())
        self.assertEqual(self.git("log", "-1", "--notes=series", "--format=%an %aI %cI %N",
                                  "patched~2"), "Bjørn Ærlig 2026-11-20T10:00:00+01:00 "
                         "2026-11-20T10:00:00+01:00 Base: 6.12\n\nUpstream: not sent")
        self.assertEqual(self.git("ls-files", "-s", "tools/net/run.sh").split()[0], "100755")
        self.assertEqual(self.git("status", "--porcelain", "--ignored"), "")
        self.assertEqual(self.git("show", "base:scripts/old.o"), "old")

    def test_base_dir_plain_and_git_and_worktree(self):
        first, work = self.git("rev-parse", "patched"), self.top / "out dir/linux-base"
        plain, clone = self.top / "plain dir", self.top / "git dir"
        self.git("clone", "-q", "-b", "base", str(self.tree), str(clone))
        shutil.copytree(clone, plain, ignore=shutil.ignore_patterns(".git"))
        for source in (plain, clone):
            shutil.rmtree(self.tree)
            for _ in range(2):
                self.make_tree("--base-dir", source)
                self.assertEqual(first, self.git("rev-parse", "patched"))
        for _ in range(2):
            self.make_tree("--base-dir", clone, "--base-worktree", work)
        self.assertEqual((work / "net/core/dev.c").read_text(), BASE["net/core/dev.c"])
        self.assertFalse((work / "samples/demo.c").exists())
        (work / "Makefile").write_text("edited\n")
        self.assertIn("must stay the plain base",
                      self.make_tree("--base-dir", clone, "--base-worktree", work, ok=False))

    def test_unchanged_files_keep_their_mtimes(self):
        files = [path for path in self.tree.rglob("*")
                 if path.is_file() and ".git" not in path.parts]
        for path in files:
            os.utime(path, (1000, 1000))
        self.make_tree()
        self.assertIn("nothing has changed", self.stderr)
        self.replace(f"patches/{USER}", "+int demo;", "+int demo = 2;")
        self.put("samples/demo.c", "int demo = 2;\n")
        self.write_tar(BASE | {"Makefile": "SUBLEVEL = 118\n"})
        self.make_tree()
        self.assertEqual([str(path.relative_to(self.tree)) for path in files
                          if path.stat().st_mtime != 1000], ["Makefile", "samples/demo.c"])
        self.assertEqual((self.tree / "samples/demo.c").read_text(), "int demo = 2;\n")
        self.assertEqual((self.tree / "Makefile").read_text(), "SUBLEVEL = 118\n")
        self.assertEqual(len(self.subjects()), 3)

    def test_failing_mail_named_and_tree_kept(self):
        before = self.git("rev-parse", "patched")
        self.replace("patches/0003-xsk-use-the-hook.patch", "-line 30", "-line thirty")
        for text in (self.make_tree(ok=False), self.check(ok=False),
                     self.make_tree("--allow-drift", ok=False)):
            self.assertRegex(text, r"0003-xsk-use-the-hook.patch does not apply .*net/core/dev.c:27")
        self.assertEqual(before, self.git("rev-parse", "patched"))
        self.assertEqual(self.git("status", "--porcelain"), "")

    def test_drift_needs_the_option_and_is_reported(self):
        drifted = BASE | {"net/core/dev.c": edit(BASE["net/core/dev.c"], 27, "moved on\n")}
        # A 3-way merge works only where git has the file that the mail was made for.
        for way, base in (("-C1", drifted),
                          ("--3way", drifted | {"net/as_before.c": self.hooked(5)})):
            with self.subTest(way):
                self.write_tar(base)
                shutil.rmtree(self.tree)
                for text in (self.make_tree(ok=False), self.check(ok=False)):
                    self.assertIn("0003-xsk-use-the-hook.patch does not apply", text)
                for _ in range(2):
                    self.make_tree("--allow-drift")
                    self.assertIn(f"WARNING: patches/0003-xsk-use-the-hook.patch DRIFTED, git am "
                                  f"{way}", self.stderr)
                self.assertIn("moved on\nline 28\nline 29\nused\n",
                              (self.tree / "net/core/dev.c").read_text())
        self.refresh()
        self.check()

    def test_developer_work_is_not_thrown_away(self):
        (self.tree / "Makefile").write_text("edited\n")
        self.assertIn("uncommitted work; commit it", self.make_tree(ok=False))
        self.commit("kbuild: edit", {"Makefile": "edited\n"})
        self.assertRegex(self.make_tree(ok=False), "kbuild: edit.*series.py refresh")
        self.git("checkout", "-q", "--detach")
        self.commit("kbuild: more", {"Makefile": "more\n"})
        self.assertIn("differs from the series", self.make_tree(ok=False))
        self.git("branch", "-q", "-f", "patched", "patched~1")
        self.assertIn("HEAD of", self.make_tree(ok=False))
        self.git("checkout", "-q", "patched")
        self.git("branch", "-q", "-f", "section/fixes", "patched~1")
        self.assertIn("branches of", self.make_tree(ok=False))
        self.make_tree("--force")
        self.assertEqual((self.tree / "Makefile").read_text(), BASE["Makefile"])
        self.git("checkout", "-q", "patched~1")
        self.make_tree()
        self.assertEqual(self.git("symbolic-ref", "--short", "HEAD"), "patched")

    def test_foreign_folder_and_broken_tarball_refused(self):
        shutil.rmtree(self.tree)
        self.tree.mkdir()
        (self.tree / "mine").write_text("precious")
        self.assertIn("was not made by `series.py tree`", self.make_tree(ok=False))
        shutil.rmtree(self.tree)
        self.tar.write_bytes(self.tar.read_bytes()[:-40])
        self.assertIn("unpack base failed", self.make_tree(ok=False))
        self.assertEqual([path.name for path in self.tree.parent.iterdir()], ["tree.lock"])

    # refresh

    def test_round_trip_is_a_no_op_whatever_is_configured(self):
        before = self.snapshot()
        for key, value in (("diff.noprefix", "true"), ("diff.context", "9"), ("core.abbrev", "20"),
                           ("diff.algorithm", "patience"), ("am.threeWay", "true")):
            self.git("config", key, value)
        self.refresh()
        self.assertEqual(before, self.snapshot())
        shutil.rmtree(self.tree)
        self.make_tree()
        self.refresh()
        self.assertEqual(before, self.snapshot())

    def test_form_of_mails_and_series(self):
        text = (self.repo / "patches/0001-net-core-add-a-hook.patch").read_text()
        self.assertTrue(text.startswith(f"From {'0' * 40} Mon Sep 17 00:00:00 2001\n"
                                        "From: Bjørn Ærlig <dev@example.org>\n"))
        self.assertIn("\n---\n\nNotes (series):\n    Base: 6.12\n    \n    Upstream: not sent\n\n"
                      " net/core/dev.c       | 2 +-\n net/xdp/xsk_attach.c | 1 +\n", text)
        self.assertTrue((self.repo / "series").read_text().endswith(
            "\n\n# section fixes\n0001-net-core-add-a-hook.patch\n\n# section user\n"
            f"{USER}\n0003-xsk-use-the-hook.patch\n"))
        cover = (self.repo / "patches/cover/user").read_text()
        self.assertIn("\n  i40e   rxdrop             200.0            50.0    -75 %\n  ixgbe", cover)
        self.assertIn("\nPatches 2 to 3 of the whole series;\nneeds fixes (1 to 1).\n# end", cover)

    def test_fixup_and_new_commits(self):
        old = self.snapshot()
        self.commit("fixup! net: core: add a hook", {"net/xdp/more.c": "more\n"})
        self.git("rebase", "-q", "-i", "--autosquash", "base")
        name = "kbuild: edit the Makefile and a very long subject that goes on and"
        self.commit(name, {"Makefile": edit(BASE["Makefile"], 3, "edited\n")})
        self.refresh()
        new = self.snapshot()
        self.assertEqual(set(new) - set(old), {"net/xdp/more.c", (
            "patches/0004-kbuild-edit-the-Makefile-and-a-very-long-subject-tha.patch")})
        self.assertEqual({path for path in old if new[path] != old[path]},
                         {"series", "patches/cover/user", "patches/0001-net-core-add-a-hook.patch"})
        self.assertEqual(self.git("rev-parse", "section/user", "section/fixes").splitlines(),
                         self.git("rev-parse", "patched", "patched~3").splitlines())
        self.check()

    def test_files_and_mails_that_go(self):
        self.git("rm", "-q", "tools/net/run.sh")
        (self.tree / "samples/demo.c").chmod(0o644)
        self.git("commit", "-q", "-a", "--fixup", "patched~1")
        self.git("rebase", "-q", "-i", "--autosquash", "base")
        self.git("reset", "-q", "--hard", "patched~1")
        self.assertIn("section/user is not on the line", self.refresh(ok=False))
        self.git("branch", "-f", "section/user", "section/fixes")
        self.assertIn("has no commit of its own", self.refresh(ok=False))
        self.git("branch", "-f", "section/user")
        self.refresh()
        self.assertFalse((self.repo / "tools").exists())
        self.assertFalse(os.access(self.repo / "samples/demo.c", os.X_OK))
        self.assertEqual(sorted(path.name for path in (self.repo / "patches").iterdir()),
                         ["0001-net-core-add-a-hook.patch", USER, "cover"])
        self.check()

    def test_refresh_refuses(self):
        before = self.snapshot()

        def refused(text):
            self.assertIn(text, self.refresh(ok=False))
            self.git("reset", "-q", "--hard", "section/user")
            self.assertEqual(before, self.snapshot())

        (self.tree / "net/new.c").write_text("new\n")
        refused("uncommitted changes or new files")
        (self.tree / "net/new.c").unlink()
        self.commit("readme", {"README.md": "theirs\n"})
        refused("README.md is no plain file in")
        self.git("commit", "-q", "--allow-empty", "-m", "nothing")
        refused("drop an empty commit")
        self.commit("kbuild: edit", {"Makefile": "edited\n"}, body="before\n---\nlost")
        refused('"kbuild: edit" does not survive as a mail')
        self.git("merge", "-q", "--no-ff", "-m", "merge", "-s", "ours",
                 self.git("commit-tree", "-p", "base", "-m", "side", "base^{tree}"))
        refused("not a straight line")
        self.git("checkout", "-q", "--detach", "patched~1")
        self.assertIn("not on its branch", self.refresh(ok=False))

    def test_refresh_keeps_edits_of_the_repository(self):
        before = {name: what[0] for name, what in self.snapshot().items()}
        self.put("samples/demo.c", "int edited_here;\n")
        self.put("net/xdp/stale.c", "stale\n")
        for text in (self.make_tree(ok=False), self.check(ok=False)):
            self.assertRegex(text, r"net/xdp/stale.c .*is not what the mails create.*make refresh")
        self.replace(f"patches/{USER}", "Because.", "Why not.")
        text = self.refresh(ok=False)
        self.assertIn(f"the tree was made (net/xdp/stale.c, patches/{USER}, samples/demo.c)", text)
        self.refresh("--force")
        self.assertEqual(before, {name: what[0] for name, what in self.snapshot().items()})

    # series, check

    def test_series(self):
        out = self.top / "the mails"
        args = ("series", "--tree", self.tree, "--out", out)
        self.run_tool(*args)
        self.assertEqual(sorted(str(path.relative_to(out)) for path in out.rglob("*.patch")), [
            "fixes/0000-cover-letter.patch", "fixes/0001-net-core-add-a-hook.patch",
            "user/0000-cover-letter.patch", "user/0001-samples-bpf-add-a-demo-n-code.patch",
            "user/0002-xsk-use-the-hook.patch"])
        fix = (out / "fixes/0001-net-core-add-a-hook.patch").read_text()
        self.assertIn("Subject: [PATCH net 1/1] net: core: add a hook\n", fix)
        self.assertIn("In-Reply-To: <cover.", fix)
        cover = (out / "user/0000-cover-letter.patch").read_text()
        self.assertIn("Subject: [PATCH net-next 0/2] xsk: a fast path\n", cover)
        self.assertIn("\n\nWhat it is for.\n\n  insn/packet ", cover)
        self.assertIn("From: D <d@example.org>", cover)
        self.assertIn("is not empty", self.run_tool(*args, ok=False))

    def test_check_finds_each_problem(self):
        self.assertEqual(self.check(), "series: 3 mails, 0 problems\n")
        good, first = self.snapshot(), "patches/0001-net-core-add-a-hook.patch"
        for name, old, new, message in (
                ("series", "0003-xsk-use-the-hook.patch\n", "", "the list of the mails, sorted: 0003"),
                ("series", "0003-xsk", "../0003-xsk", "outside patches/"),
                ("series", "# section fixes\n", "", "outside a section"),
                ("series", "section user", "section fixes", "the section fixes twice"),
                ("series", "# section user", "# section more\n# section user", "no mail in"),
                ("series", "section user", "section other", "patches/cover/user is of no section"),
                ("series", "0003-xsk-use", "0009-gone", "0009-gone-the-hook.patch is missing"),
                ("patches/cover/user", "-75 %", "-99 %", "cover/user is stale"),
                ("patches/cover/user", ": base", ": gone base", "bench.json lacks gone for i40e"),
                ("patches/cover/user", "What", "Größe", "in ASCII"),
                ("patches/cover/user", "patches fixes", "patches core", "needs the section core"),
                ("samples/demo.c", "demo", "edited", "samples/demo.c is not what the mails create"),
                (first, "add a hook", "add a hook.", "ends with a full stop"),
                (first, "add a hook", "add a hook" * 8, "over 72 columns"),
                (first, "Subject:", "X-Subject:", "author, date or subject is missing"),
                (first, "Date: Fri, 20", "Date: someday", "cannot read the date"),
                (first, "Größe: ≤ 3 µs.\n\nTwo.\n", "", "no text before"),
                (first, "Fixes: 123456789abc", "Fixes: 123", "12-digit-id"),
                (first, "@@ -2,7 +2,7 @@", "@@ -2,7 +2,9 @@", "repair the diff")):
            with self.subTest(message):
                text = (self.repo / name).read_text()
                self.replace(name, old, new)
                self.assertIn(message, self.check(ok=False))
                self.put(name, text)
        self.replace(first, 'Fixes: 123456789abc ("net: x")', "The commit could not be verified.")
        self.check()
        self.assertEqual(set(good), set(self.snapshot()))
