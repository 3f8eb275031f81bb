#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Tests of series.py on a small synthetic kernel: python3 -m unittest lab/test_series.py"""

import io
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
COVER = "xsk: a fast path\n\nWhat the series is for.\n\nAnd how it was measured.\n"
MAIL = """\
From 0000000000000000000000000000000000000000 Mon Sep 17 00:00:00 2001
From: {author} <dev@example.org>
Date: Fri, 20 Nov 2026 10:00:00 +0100
Subject: [PATCH] {subject}

{body}

Signed-off-by: {author} <dev@example.org>
---
{rest}"""


def edit(text, line, new):
    """Return text with one line (counted from 1) replaced."""
    lines = text.splitlines(keepends=True)
    lines[line - 1] = new
    return "".join(lines)


def setUpModule():
    """Make the folder for what many tests begin with."""
    global KEPT
    folder = tempfile.TemporaryDirectory()
    unittest.addModuleCleanup(folder.cleanup)
    KEPT = Path(folder.name)


class SeriesTest(unittest.TestCase):
    """Each test has a repository, a base tarball and room for a tree, below a path with spaces."""

    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="series test ")
        self.addCleanup(folder.cleanup)
        self.top = Path(folder.name)
        self.repo, self.tree = self.top / "my repo", self.top / "out dir/linux"
        self.tar = self.top / "base 6.12.tar.xz"
        self.reuse("start", self.make_repository)

    def reuse(self, name, make):
        """Fill the test's folder by make(), the first time, or from a copy of what that made."""
        kept = KEPT / name
        if kept.exists():
            shutil.copytree(kept, self.top, dirs_exist_ok=True)
        else:
            make()
            shutil.copytree(self.top, kept)

    def make_repository(self):
        self.write_tar(BASE)
        self.put("patches/cover-letter", COVER)
        self.put("net/xdp/xsk_attach.c", "int attach;\n")
        self.put("tools/net/run.sh", "#!/bin/sh\n", mode=0o755)
        self.put("samples/demo.c", "int demo;\n")
        self.put("series", "# the series\n\n0001-net-core-hook.patch  net/xdp/xsk_attach.c\n"
                 "# user space\n0002-samples-demo.patch  samples/demo.c tools/net/run.sh\n"
                 "0003-xsk-use.patch\n# end\n")
        self.put_patch("0001-net-core-hook.patch", "net: core: Add a hook", 5, "net/core/dev.c",
                       author="Bjørn Ærlig", body="Größe: ≤ 3 µs.\n\nTwo paragraphs.",
                       notes="Base: 6.12\n\nUpstream: not sent\n  (indented)\n\n")
        self.put("patches/0002-samples-demo.patch", MAIL.format(
            author="A Dev", subject="samples: bpf: Add a demo – ünïcode", body="Why.", rest=""))
        self.put_patch("0003-xsk-use.patch", "xsk: Use the hook", 30, "net/core/dev.c")

    def write_tar(self, files):
        with tarfile.open(self.tar, "w:xz") as tar:
            for name, text in files.items():
                info = tarfile.TarInfo(f"linux-source-6.12/{name}")
                info.size, info.mtime, info.mode = len(text.encode()), 1700000000, 0o644
                tar.addfile(info, io.BytesIO(text.encode()))

    def put(self, name, text, mode=0o644):
        path = self.repo / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
        path.chmod(mode)

    def put_patch(self, name, subject, line, path, *, author="A Dev", body="Why.", notes=""):
        """Write a patch that changes one line of a file of the base, by way of git diff."""
        with tempfile.TemporaryDirectory() as tmp:
            old = Path(tmp, path)
            old.parent.mkdir(parents=True)
            old.write_text("".join(LINES))
            subprocess.run(["git", "init", "-q"], cwd=tmp, check=True)
            subprocess.run(["git", "add", "."], cwd=tmp, check=True)
            old.write_text(edit("".join(LINES), line, f"hooked by {name}\n"))
            diff = subprocess.run(["git", "diff"], cwd=tmp, check=True, capture_output=True,
                                  text=True).stdout
        self.put(f"patches/{name}",
                 MAIL.format(author=author, subject=subject, body=body, rest=notes + diff))

    def run_tool(self, *args, ok=True):
        done = subprocess.run([sys.executable, TOOL, *map(str, args)], capture_output=True,
                              text=True, check=False, cwd=self.top)
        self.stderr = done.stderr
        self.assertEqual(done.returncode, 0 if ok else 1, done.stderr)
        self.assertNotIn("Traceback", done.stderr)
        return done.stdout if ok else done.stderr

    def make_tree(self, *args, ok=True):
        return self.run_tool("tree", "--repo", self.repo, "--tree", self.tree,
                             *(args if "--base-dir" in args else ("--base-tar", self.tar, *args)),
                             ok=ok)

    def refresh(self, *args, ok=True):
        return self.run_tool("refresh", "--repo", self.repo, "--tree", self.tree, *args, ok=ok)

    def check(self, *args, ok=True):
        return self.run_tool("check", "--repo", self.repo, *args, ok=ok)

    def prefixes(self):
        return self.run_tool("prefixes", "--tree", self.tree).splitlines()

    def git(self, *args):
        return subprocess.run(["git", "-c", "user.name=D", "-c", "user.email=d@example.org",
                               *args], cwd=self.tree, check=True, capture_output=True,
                              text=True).stdout.strip()

    def commit(self, subject, **files):
        """Commit files (given with / as __ and . as _dot_) in the tree, as a developer would."""
        for key, text in files.items():
            path = self.tree / key.replace("__", "/").replace("_dot_", ".")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)
        self.git("add", "-A", "-f")
        self.git("commit", "-q", "-m", subject, "-m", "Because.", "-m",
                 "Signed-off-by: D <d@example.org>")

    def canonical(self):
        """Make the tree and let refresh bring the hand-made patches into its own form."""
        self.reuse("canonical", lambda: (self.make_tree(), self.refresh()))

    def snapshot(self):
        return {path.relative_to(self.repo): (path.read_bytes(), os.access(path, os.X_OK))
                for path in self.repo.rglob("*") if path.is_file()}

    # tree

    def test_tree_has_one_commit_per_entry(self):
        self.make_tree()
        subjects = [line.split(" ", 1)[1] for line in self.prefixes()]
        self.assertEqual(subjects, ["net: core: Add a hook", "samples: bpf: Add a demo – ünïcode",
                                    "xsk: Use the hook"])
        self.assertEqual(self.git("log", "-1", "--format=%an %aI %cI", "patched~2"),
                         "Bjørn Ærlig 2026-11-20T10:00:00+01:00 2026-11-20T10:00:00+01:00")
        self.assertIn("Größe: ≤ 3 µs.\n\nTwo paragraphs.\n\nSigned-off-by: Bjørn",
                      self.git("log", "-1", "--format=%b", "patched~2"))
        self.assertEqual(self.git("ls-files", "-s", "tools/net/run.sh").split()[0], "100755")
        self.assertEqual(self.git("status", "--porcelain", "--ignored"), "")
        self.assertEqual(self.git("show", "base:scripts/old.o"), "old")

    def test_ids_are_reproducible(self):
        self.make_tree()
        first = self.prefixes() + [self.git("rev-parse", "base")]
        shutil.rmtree(self.tree)
        self.make_tree()
        self.assertEqual(first, self.prefixes() + [self.git("rev-parse", "base")])

    def test_base_dir_plain_and_git(self):
        self.make_tree()
        first = self.prefixes()
        plain, clone = self.top / "plain dir", self.top / "git dir"
        shutil.copytree(self.tree, plain, ignore=shutil.ignore_patterns(".git"))
        for name in ("net/xdp/xsk_attach.c", "samples/demo.c", "tools/net/run.sh"):
            (plain / name).unlink()
        (plain / "net/core/dev.c").write_text(BASE["net/core/dev.c"])
        subprocess.run(["git", "clone", "-q", "-b", "base", self.tree, clone], check=True,
                       capture_output=True)
        for source in (plain, clone):
            shutil.rmtree(self.tree)
            self.make_tree("--base-dir", source)
            self.make_tree("--base-dir", source)
            self.assertEqual(first, self.prefixes())

    def test_base_worktree(self):
        work = self.top / "out dir/linux-base"
        self.make_tree("--base-worktree", work)
        self.make_tree("--base-worktree", work)
        self.assertEqual((work / "net/core/dev.c").read_text(), BASE["net/core/dev.c"])
        self.assertFalse((work / "samples/demo.c").exists())
        (work / "Makefile").write_text("edited\n")
        self.assertIn("must stay the plain base",
                      self.make_tree("--base-worktree", work, ok=False))

    def test_unchanged_files_keep_their_mtimes(self):
        self.make_tree()
        files = [path for path in self.tree.rglob("*")
                 if path.is_file() and ".git" not in path.parts]
        for path in files:
            os.utime(path, (1000, 1000))
        self.put("samples/demo.c", "int demo = 2;\n")
        self.make_tree()
        changed = [str(path.relative_to(self.tree)) for path in files
                   if path.stat().st_mtime != 1000]
        self.assertEqual(changed, ["samples/demo.c"])
        self.assertEqual((self.tree / "samples/demo.c").read_text(), "int demo = 2;\n")

    def test_new_base_keeps_mtimes_too(self):
        work = self.top / "base tree"
        self.make_tree("--base-worktree", work)
        os.utime(self.tree / "net/core/dev.c", (1000, 1000))
        self.write_tar(BASE | {"Makefile": "SUBLEVEL = 118\n"})
        self.assertEqual(self.make_tree("--base-worktree", work), "")
        self.assertEqual((self.tree / "Makefile").read_text(), "SUBLEVEL = 118\n")
        self.assertEqual((work / "Makefile").read_text(), "SUBLEVEL = 118\n")
        self.assertEqual((self.tree / "net/core/dev.c").stat().st_mtime, 1000)
        self.assertEqual(len(self.prefixes()), 3)

    def test_new_file_in_base_refused(self):
        self.write_tar(BASE | {"samples/demo.c": "upstream\n"})
        for text in (self.make_tree(ok=False), self.check("--tar", self.tar, ok=False)):
            self.assertIn("lists samples/demo.c as new, but the base has it", text)

    def test_patch_of_unlisted_file_refused(self):
        path = self.repo / "patches/0003-xsk-use.patch"
        path.write_text(path.read_text() + "diff --git a/net/new.c b/net/new.c\n"
                        "new file mode 100644\n--- /dev/null\n+++ b/net/new.c\n"
                        "@@ -0,0 +1 @@\n+new\n")
        self.assertIn("0003-xsk-use.patch touches net/new.c, which the base lacks",
                      self.make_tree(ok=False))

    def test_failing_patch_named_and_tree_kept(self):
        self.make_tree()
        before = self.prefixes()
        path = self.repo / "patches/0003-xsk-use.patch"
        path.write_text(path.read_text().replace("-line 30", "-line thirty"))
        text = self.make_tree(ok=False)
        self.assertRegex(text, r"patches/0003-xsk-use.patch does not apply .*net/core/dev.c:27")
        self.assertIn("--allow-drift", text)
        self.assertEqual(before, self.prefixes())
        self.assertEqual(self.git("status", "--porcelain"), "")
        self.assertIn("0003-xsk-use.patch", self.make_tree("--allow-drift", ok=False))

    def test_drift_needs_the_option_and_is_reported(self):
        drifted = BASE | {"net/core/dev.c": edit(BASE["net/core/dev.c"], 27, "moved on\n")}
        # A 3-way merge works only where git has the file that the patch was made for.
        for way, base in (("patch --fuzz=2", drifted),
                          ("git apply --3way", drifted | {"net/as_before.c": "".join(LINES)})):
            with self.subTest(way):
                self.write_tar(base)
                for text in (self.make_tree(ok=False), self.check("--tar", self.tar, ok=False)):
                    self.assertIn("0003-xsk-use.patch does not apply", text)
                self.make_tree("--allow-drift")
                self.assertIn(f"WARNING: patches/0003-xsk-use.patch DRIFTED, {way}", self.stderr)
                self.assertIn("moved on\nline 28\nline 29\nhooked by 0003",
                              (self.tree / "net/core/dev.c").read_text())
        self.refresh()
        self.check("--tar", self.tar)

    def test_developer_work_is_not_thrown_away(self):
        self.make_tree()
        (self.tree / "Makefile").write_text("edited\n")
        self.assertIn("uncommitted work; commit it", self.make_tree(ok=False))
        self.commit("kbuild: Edit", Makefile="edited\n")
        text = self.make_tree(ok=False)
        self.assertIn("kbuild: Edit", text)
        self.assertIn("series.py refresh", text)
        self.git("checkout", "-q", "--detach")
        self.commit("kbuild: More", Makefile="more\n")
        self.assertIn("differs from the series", self.make_tree(ok=False))
        self.git("branch", "-q", "-f", "patched", "patched~1")
        self.assertIn("HEAD of", self.make_tree(ok=False))
        self.make_tree("--force")
        self.assertEqual((self.tree / "Makefile").read_text(), BASE["Makefile"])
        self.assertEqual(self.git("symbolic-ref", "--short", "HEAD"), "patched")

    def test_detached_head_inside_the_series_is_fine(self):
        self.make_tree()
        self.git("checkout", "-q", "patched~1")
        self.make_tree()
        self.assertEqual(self.git("symbolic-ref", "--short", "HEAD"), "patched")
        self.assertEqual(self.git("status", "--porcelain"), "")

    def test_foreign_folder_and_broken_tarball_refused(self):
        self.tree.mkdir(parents=True)
        (self.tree / "mine").write_text("precious")
        self.assertIn("was not made by `series.py tree`", self.make_tree(ok=False))
        shutil.rmtree(self.tree)
        self.tar.write_bytes(self.tar.read_bytes()[:-40])
        self.assertIn("unpack base failed", self.make_tree(ok=False))
        self.assertEqual(list(self.tree.parent.iterdir()), [])

    # refresh

    def test_round_trip_is_a_no_op(self):
        self.canonical()
        before = self.snapshot()
        self.assertIn(b"# the series\n\n0001-net-core-hook.patch", before[Path("series")][0])
        stamps = {name: (self.repo / name).stat().st_mtime_ns for name in before}
        self.make_tree()
        self.refresh()
        shutil.rmtree(self.tree)
        self.make_tree()
        self.refresh()
        self.assertEqual(before, self.snapshot())
        self.assertEqual(stamps, {name: (self.repo / name).stat().st_mtime_ns for name in before})

    def test_patch_form(self):
        self.canonical()
        text = (self.repo / "patches/0001-net-core-hook.patch").read_text()
        self.assertTrue(text.startswith(MAIL.splitlines()[0] + "\nFrom: Bjørn Ærlig <dev@example"))
        self.assertIn("\n---\nBase: 6.12\n\nUpstream: not sent\n  (indented)\n\n"
                      " net/core/dev.c | 2 +-\n"
                      " 1 file changed, 1 insertion(+), 1 deletion(-)\n\ndiff --git", text)
        self.assertTrue(text.endswith(" line 8\n"))
        empty = (self.repo / "patches/0002-samples-demo.patch").read_text()
        self.assertTrue(empty.endswith("Signed-off-by: A Dev <dev@example.org>\n---\n"))

    def test_base_edit_becomes_a_patch(self):
        self.canonical()
        old = self.snapshot()
        self.commit("net: core: Edit the Makefile – and a very long subject that goes on and on",
                    Makefile=edit(BASE["Makefile"], 3, "edited\n"), net__xdp__more_dot_c="more\n")
        self.refresh()
        new = self.snapshot()
        name = "0004-net-core-edit-the-makefile-and-a-very-long.patch"
        self.assertEqual({str(path) for path in set(new) - set(old)},
                         {f"patches/{name}", "net/xdp/more.c"})
        self.assertEqual([path for path in old if new[path] != old[path]], [Path("series")])
        self.assertEqual(new[Path("series")][0].decode(), old[Path("series")][0].decode().replace(
            "# end", f"{name}  net/xdp/more.c\n# end"))
        self.make_tree()
        self.assertEqual(len(self.prefixes()), 4)

    def test_edit_of_a_new_file_folds(self):
        self.canonical()
        old = self.snapshot()
        self.commit("samples: Fix the demo", samples__demo_dot_c="int demo = 3;\n")
        self.refresh()
        self.assertIn("samples: Fix the demo: its changes of new files fold into "
                      "0002-samples-demo.patch", self.stderr)
        self.assertIn("nothing is left of it", self.stderr)
        new = self.snapshot()
        self.assertEqual([str(path) for path in old if new.get(path) != old[path]],
                         ["samples/demo.c"])
        self.assertEqual(set(new), set(old))
        self.make_tree()
        self.assertEqual(len(self.prefixes()), 3)
        self.assertEqual((self.tree / "samples/demo.c").read_text(), "int demo = 3;\n")

    def test_files_and_entries_that_go(self):
        self.canonical()
        self.git("rm", "-q", "tools/net/run.sh")
        self.git("commit", "-q", "-m", "drop")
        self.refresh()
        self.assertFalse((self.repo / "tools").exists())
        self.assertIn("0002-samples-demo.patch  samples/demo.c\n",
                      (self.repo / "series").read_text())
        self.git("reset", "-q", "--hard", "base")
        self.refresh()
        self.assertEqual((self.repo / "series").read_text(),
                         "# the series\n\n# user space\n# end\n")
        self.assertEqual([path.name for path in (self.repo / "patches").iterdir()],
                         ["cover-letter"])
        self.make_tree()

    def test_renamed_commit_keeps_its_notes(self):
        self.canonical()
        self.git("reset", "-q", "--hard", "patched~2")
        self.git("commit", "-q", "--amend", "-m", "net: core: Add a better hook", "-m", "Text.")
        self.refresh()
        text = (self.repo / "patches/0001-net-core-add-a-better-hook.patch").read_text()
        self.assertIn("---\nBase: 6.12\n\nUpstream: not sent\n  (indented)\n\n net/core", text)
        self.assertFalse((self.repo / "patches/0001-net-core-hook.patch").exists())

    def test_mode_of_a_new_file(self):
        self.canonical()
        (self.tree / "samples/demo.c").chmod(0o755)
        self.commit("mode")
        self.refresh()
        self.assertTrue(os.access(self.repo / "samples/demo.c", os.X_OK))

    def test_refresh_needs_commits(self):
        self.canonical()
        (self.tree / "net/new.c").write_text("new\n")
        self.assertIn("commit", self.refresh(ok=False))
        (self.tree / "net/new.c").unlink()
        (self.tree / "Makefile").write_text("edited\n")
        self.assertIn("uncommitted changes", self.refresh(ok=False))

    def test_refresh_keeps_edits_of_the_repository(self):
        self.canonical()
        self.put("samples/demo.c", "int edited_here;\n")
        text = self.refresh(ok=False)
        self.assertIn("edited after the tree was made (samples/demo.c)", text)
        self.refresh("--force")
        self.assertEqual((self.repo / "samples/demo.c").read_text(), "int demo;\n")

    def test_refresh_keeps_unlisted_files_of_the_repository(self):
        self.canonical()
        self.put("README.md", "ours\n")
        self.commit("readme", README_dot_md="theirs\n")
        self.assertIn("README.md differs from the tree's", self.refresh(ok=False))
        self.assertEqual((self.repo / "README.md").read_text(), "ours\n")

    def test_refresh_refuses_a_message_that_is_no_mail(self):
        self.canonical()
        before = self.snapshot()
        (self.tree / "Makefile").write_text("edited\n")
        self.git("commit", "-q", "-a", "-m", "kbuild: Edit", "-m", "before\n---\nlost")
        self.assertIn("does not survive as a mail", self.refresh(ok=False))
        self.assertEqual(before, self.snapshot())

    def test_user_configuration_changes_nothing(self):
        self.canonical()
        before = self.snapshot()
        self.git("config", "diff.noprefix", "true")
        self.git("config", "diff.context", "9")
        self.git("config", "diff.algorithm", "patience")
        self.git("config", "core.abbrev", "20")
        self.refresh()
        self.assertEqual(before, self.snapshot())

    # series, check

    def test_series(self):
        self.make_tree()
        out = self.top / "the mails"
        args = ("series", "--repo", self.repo, "--tree", self.tree, "--out", out)
        self.run_tool(*args)
        mails = sorted(out.iterdir())
        self.assertEqual([path.name for path in mails],
                         ["0000-cover-letter.patch", "0001-net-core-Add-a-hook.patch",
                          "0002-samples-bpf-Add-a-demo-n-code.patch",
                          "0003-xsk-Use-the-hook.patch"])
        cover, _, demo, _ = (path.read_text() for path in mails)
        self.assertIn("Subject: [PATCH net-next 0/3] xsk: a fast path\n", cover)
        self.assertIn("\n\nWhat the series is for.\n\nAnd how it was measured.\n", cover)
        self.assertIn("From: A Dev <dev@example.org>", cover)
        self.assertIn("+int demo;", demo)
        self.assertIn("is not empty", self.run_tool(*args, ok=False))
        (self.repo / "patches/cover-letter").unlink()
        self.assertIn("cover-letter must have", self.run_tool(*args[:-1], self.top / "x", ok=False))

    def test_check_accepts_every_kind_of_base(self):
        self.make_tree()
        plain = self.top / "plain"
        with tarfile.open(self.tar) as tar:
            tar.extractall(plain, filter="data")
        self.assertEqual(self.check(), "series: 3 entries, 0 problems\n")
        objects = sorted((self.tree / ".git").rglob("*"))
        for args in (("--tar", self.tar), ("--base-tree", self.tree),
                     ("--base-tree", plain / "linux-source-6.12")):
            self.check(*args)
        self.assertEqual(objects, sorted((self.tree / ".git").rglob("*")))

    def test_check_finds_each_problem(self):
        first = "patches/0001-net-core-hook.patch"
        good = self.snapshot()
        for name, old, new, message in (
                ("series", "0003-xsk-use.patch\n", "", "series lacks patches/0003-xsk-use.patch"),
                ("series", " samples/demo.c", "", "series lacks samples/demo.c"),
                ("series", "0003-xsk-use.patch", "0003-xsk-use.patch samples/demo.c",
                 "lists samples/demo.c twice"),
                ("series", "samples/demo.c", "samples/demo.c net/gone.c",
                 "lists net/gone.c, which is missing"),
                ("series", "samples/demo.c", "net/core/dev.c samples/demo.c", "net/core/dev.c"),
                ("series", "0003-xsk-use.patch", "0009-gone.patch", "0009-gone.patch is missing"),
                ("series", "samples/demo.c", "../outside", "outside the repository"),
                (first, "Add a hook", "Add a hook.", "ends with a full stop"),
                (first, "Add a hook", "Add a hook" * 8, "over 72 columns"),
                (first, "Subject:", "X-Subject:", "author, date or subject is missing"),
                (first, "Date: Fri, 20", "Date: someday", "cannot read the date"),
                (first, "Signed-off-by: Bj", "Cc: Bj", "no Signed-off-by"),
                (first, "Größe: ≤ 3 µs.\n\nTwo paragraphs.\n", "", "no text before"),
                (first, "@@ -2,7 +2,7 @@", "@@ -2,7 +2,9 @@", "repair the diff")):
            with self.subTest(message):
                text = (self.repo / name).read_text()
                self.assertIn(old, text)
                (self.repo / name).write_text(text.replace(old, new))
                self.assertIn(message, self.check(ok=False))
                (self.repo / name).write_text(text)
        self.assertEqual(good, self.snapshot())
        self.put("net/core/dev.c", "a copy\n")
        self.put("series", (self.repo / "series").read_text().replace(
            "samples/demo.c", "samples/demo.c net/core/dev.c"))
        self.assertIn("touches the new file net/core/dev.c", self.check(ok=False))

    def test_help(self):
        for command in ((), ("tree",), ("refresh",), ("series",), ("check",), ("prefixes",)):
            self.assertIn("usage: series.py", self.run_tool(*command, "--help"))


if __name__ == "__main__":
    unittest.main()
