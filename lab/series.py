#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Turn the patch series of this repository into a git tree of the kernel, and back.

One line of the file `series` is one commit: a mail in patches/ with the changes of existing files,
then the new files that the commit brings, which lie in the repository under their kernel path.
"""

import argparse
import contextlib
import email.utils
import hashlib
import json
import lzma
import os
import re
import shutil
import signal
import subprocess
import sys
import tarfile
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

KERNEL_FOLDERS = ("include", "net", "drivers", "Documentation", "tools", "samples")
MAIL_START = f"From {'0' * 40} Mon Sep 17 00:00:00 2001"
NOTES = "series"  # refs/notes/series: the text between `---` and the diffstat
NAME_MAX, SUBJECT_MAX = 60, 72


def identity(name, address, date):
    """Return the environment that makes a commit the same on every machine."""
    return {f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER")
            for key, value in (("NAME", name), ("EMAIL", address), ("DATE", date))}


# What a user or a calling git hook has configured must change neither commits nor diffs. The tree
# may belong to another user: root in the lab, the developer outside.
ENV = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | {
    "LC_ALL": "C.UTF-8", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
    "GIT_CONFIG_COUNT": "1", "GIT_CONFIG_KEY_0": "safe.directory", "GIT_CONFIG_VALUE_0": "*",
} | identity("base", "base@localhost", "2000-01-01T00:00:00Z")


class Failure(Exception):
    """What went wrong and, after a semicolon, the way out."""


def say(text):
    """Report progress or a remark on stderr."""
    print(f"series.py: {text}", file=sys.stderr, flush=True)


def run(cmd, **kwargs):
    """Run cmd, capture its output as bytes and leave its status to the caller."""
    try:
        return subprocess.run(cmd, capture_output=True, check=False, **{"env": ENV, **kwargs})
    except FileNotFoundError as err:
        raise Failure(f"{err.filename} is missing; install it or correct the path") from err


@contextlib.contextmanager
def step(what):
    """Show that a long step begins and how long it took; yield its start."""
    start = time.monotonic()
    say(f"{what} ...")
    yield start
    say(f"{what}: {time.monotonic() - start:.0f} s")


def long_run(what, cmd, **kwargs):
    """Run cmd, showing what it does and, on a terminal, for how long it has been at it."""
    with step(what) as start:
        proc = subprocess.Popen([*map(str, cmd)], stdin=subprocess.DEVNULL,
                                stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                                **{"env": ENV, **kwargs})
        err, tick = None, "\r{:4.0f} s\r" if sys.stderr.isatty() else ""
        try:
            while err is None:
                with contextlib.suppress(subprocess.TimeoutExpired):
                    err = proc.communicate(timeout=1)[1].decode(errors="replace").strip()
                text = tick.format(time.monotonic() - start)
                print(text, end="", file=sys.stderr, flush=True)
        finally:
            proc.kill()
        if proc.returncode:
            raise Failure(f"{what} failed: {err[-500:]}; check the source and the free space")


class Git:
    """A git repository; calling it runs one git command and returns its output as text."""

    def __init__(self, path, **env):
        self.path, self.env = Path(path), {key: str(value) for key, value in env.items()}

    def run(self, *args, data=None):
        """Run a command whose failure is an answer."""
        return run(["git", *map(str, args)], cwd=self.path, env=ENV | self.env, input=data)

    def raw(self, *args, data=None):
        """Run a command that must work and return its output as bytes."""
        done = self.run(*args, data=data)
        if done.returncode:
            cause = done.stderr.decode(errors="replace").strip()
            raise Failure(f"git {args[0]} in {self.path}: {cause}; repair the tree or remove it")
        return done.stdout

    def __call__(self, *args, data=None):
        return self.raw(*args, data=data).decode().strip()

    def paths(self, *args):
        """Return the NUL-separated output of a command as a list."""
        return [path for path in self.raw(*args).decode().split("\0") if path]

    def having(self, **env):
        """Return the same repository with more environment."""
        return Git(self.path, **self.env | env)


@dataclass(frozen=True)
class Patch:
    """The parts of a patch mail."""

    author: str
    address: str
    date: str
    subject: str
    body: str
    notes: str = ""
    diff: bytes = b""

    def mail(self):
        """Return the patch file: `diff` begins with the diffstat here."""
        head = [MAIL_START, f"From: {self.author} <{self.address}>", f"Date: {self.date}",
                f"Subject: [PATCH] {self.subject}", "", *([self.body] if self.body else []), "---"]
        if self.notes:
            head += [self.notes, *([""] if self.diff else [])]
        return "\n".join([*head, ""]).encode() + self.diff

    def message(self):
        """Return the commit message."""
        return f"{self.subject}\n\n{self.body}".strip().encode() + b"\n"

    def touched(self):
        """Return the paths in the diff."""
        if not self.diff:
            return []
        done = run(["git", "apply", "--numstat", "-z"], input=self.diff, cwd="/")
        if done.returncode:
            raise Failure(f"{done.stderr.decode(errors='replace').strip()}; repair the diff")
        return [line.split("\t", 2)[2] for line in done.stdout.decode().split("\0") if line]


@dataclass(frozen=True)
class Entry:
    """One line of `series`."""

    name: str
    files: tuple

    def read(self, repo):
        """Return the parsed patch."""
        path = repo / "patches" / self.name
        if not path.is_file():
            raise Failure(f"patches/{self.name} is missing; restore it or take it out of series")
        try:
            return parse_mail(path.read_bytes())
        except Failure as err:
            raise Failure(f"patches/{self.name}: {err}") from err


def split_notes(rest):
    """Split what follows the message into notes and diff; the diffstat is made anew."""
    start = re.search(rb"^diff --git ", rest, re.MULTILINE)
    diff = rest[start.start():] if start else b""
    head = rest[:start.start()] if start else rest
    stat = re.search(rb"^ \S.* \| +(\d|Bin)|^ \d+ files? changed|^-- $", head, re.MULTILINE)
    head = head[:stat.start()] if stat else head
    return head.removeprefix(b"---").decode().strip("\n"), diff


def parse_mail(data):
    """Parse a patch mail."""
    with tempfile.TemporaryDirectory() as tmp:
        done = run(["git", "mailinfo", "-b", "--no-scissors", "msg", "rest"], input=data, cwd=tmp)
        if done.returncode:
            raise Failure("not a mail; write it as git format-patch does")
        body, rest = Path(tmp, "msg").read_text(), Path(tmp, "rest").read_bytes()
    info = dict(line.split(": ", 1) for line in done.stdout.decode().splitlines() if ": " in line)
    fields = [info.get(key, "").strip() for key in ("Author", "Email", "Date", "Subject")]
    if not all(fields):
        raise Failure("author, date or subject is missing; add the From, Date, Subject headers")
    try:
        email.utils.parsedate_to_datetime(fields[2])
    except ValueError as err:
        raise Failure(f"cannot read the date {fields[2]!r}; write it as date -R does") from err
    return Patch(*fields, body.strip("\n"), *split_notes(rest))


def read_series(repo):
    """Return the entries of `series`."""
    path = repo / "series"
    if not path.is_file():
        raise Failure(f"{path} is missing; give --repo, or create an empty one to begin a series")
    lines = [line.split("#")[0].split() for line in path.read_text().splitlines()]
    entries = [Entry(words[0], tuple(words[1:])) for words in lines if words]
    for name in [word for entry in entries for word in (entry.name, *entry.files)]:
        if name.startswith("/") or ".." in PurePosixPath(name).parts:
            raise Failure(f"series names {name}, outside the repository; correct the line")
    return entries


def fingerprint(repo, entries):
    """Return path -> hash of all that the series consists of, to see later what was edited."""
    names = [name for e in entries for name in (f"patches/{e.name}", *e.files)]
    paths = [path for path in (repo / name for name in ["series", *names]) if path.is_file()]
    return {str(path.relative_to(repo)): hashlib.sha256(path.read_bytes()).hexdigest()
            + ("x" if os.access(path, os.X_OK) else "") for path in paths}


# Applying the series

def base_files(git, base):
    """Return the set of all paths in the base."""
    return set(git.paths("ls-tree", "-r", "-z", "--name-only", base))


def check_paths(entry, patch, known):
    """Refuse an entry that creates what exists, or changes a file that the base lacks."""
    for path in entry.files:
        if path in known:
            raise Failure(f"{entry.name} lists {path} as new, but the base has it; "
                          "make its change a patch")
    for path in patch.touched():
        if path not in known:
            raise Failure(f"patches/{entry.name} touches {path}, which the base lacks; "
                          "keep it whole in the repository and list it in series")


def apply_fuzzy(git, patch):
    """Apply with patch(1) to copies of the files and stage the result."""
    with tempfile.TemporaryDirectory() as tmp:
        paths = patch.touched()
        git.run("checkout-index", "-q", f"--prefix={tmp}/", "--", *paths)
        cmd = ["patch", "-p1", "--fuzz=2", "--no-backup-if-mismatch", "--force", "--silent"]
        if run(cmd, cwd=tmp, input=patch.diff).returncode:
            return False
        git.having(GIT_WORK_TREE=tmp)("add", "-A", "-f", "--", *paths)
    return True


def apply_patch(git, name, patch, before, allow_drift):
    """Apply a patch to the index."""
    command = ("apply", "--cached", "--whitespace=nowarn")
    done = git.run(*command, "-", data=patch.diff)
    if not done.returncode:
        return
    cause = done.stderr.decode(errors="replace").strip().replace("\n", ", ")
    ways = {"git apply --3way":
            lambda: not git.run(*command, "--3way", "-", data=patch.diff).returncode,
            "patch --fuzz=2": lambda: apply_fuzzy(git, patch)}
    for way, works in ways.items() if allow_drift else ():
        git("read-tree", before)  # a failed merge leaves its conflicts in the index
        if works():
            say(f"WARNING: patches/{name} DRIFTED, {way} was needed ({cause}); "
                "read the result, then run `series.py refresh`")
            return
    hint = "rebase it" if allow_drift else "rebase it, or try --allow-drift"
    raise Failure(f"patches/{name} does not apply ({cause}); {hint}")


def add_files(git, repo, entry):
    """Stage the new files of an entry."""
    for path in entry.files:
        if not (repo / path).is_file():
            raise Failure(f"{entry.name} lists {path}, which is missing; restore or unlist it")
        blob = git("hash-object", "-w", "--no-filters", repo / path)
        mode = "100755" if os.access(repo / path, os.X_OK) else "100644"
        git("update-index", "--add", "--cacheinfo", f"{mode},{blob},{path}")


def build(git, repo, base, *, allow_drift=False):
    """Commit the series on top of base without touching the work tree; return [(patch, id)]."""
    known, made = base_files(git, base), []
    with tempfile.TemporaryDirectory() as tmp:
        index = git.having(GIT_INDEX_FILE=Path(tmp, "index"), GIT_DIR=(git.path / ".git").resolve())
        index("read-tree", base)
        tip, tree = base, git("rev-parse", f"{base}^{{tree}}")
        for entry in read_series(repo):
            patch = entry.read(repo)
            check_paths(entry, patch, known)
            if patch.diff:
                apply_patch(index, entry.name, patch, tree, allow_drift)
            add_files(index, repo, entry)
            tree = index("write-tree")
            author = identity(patch.author, patch.address, patch.date)
            tip = git.having(**author)("commit-tree", tree, "-p", tip, data=patch.message())
            made.append((patch, tip))
    return made


# tree

def base_identity(args):
    """Return a short text that changes when the source of the base does."""
    if args.base_tar:
        with args.base_tar.open("rb") as tar:
            return "sha256:" + hashlib.file_digest(tar, "sha256").hexdigest()
    if (args.base_dir / ".git").exists():
        return "tree:" + Git(args.base_dir)("rev-parse", "HEAD^{tree}")
    digest = hashlib.sha256()
    for folder, subfolders, names in os.walk(args.base_dir):
        subfolders.sort()
        for path in (Path(folder, name) for name in sorted(names)):
            stat = path.lstat()
            digest.update(f"{path} {stat.st_mode} {stat.st_size} {stat.st_mtime_ns}\n".encode())
    return "stat:" + digest.hexdigest()


def export(git, commit, dest, paths=("-a",)):
    """Write files of a commit to dest, past the index and work tree of the repository."""
    with tempfile.TemporaryDirectory() as tmp:
        index = git.having(GIT_INDEX_FILE=Path(tmp, "index"))
        index("read-tree", commit)
        index("checkout-index", "-q", f"--prefix={dest}/", *paths)


def unpack_base(args, dest):
    """Put the files of the base into dest."""
    if args.base_tar:
        cmd = ["tar", "xf", args.base_tar, "-C", dest, "--strip-components=1"]
        return long_run("unpack base", cmd)
    if not (args.base_dir / ".git").exists():
        return long_run("copy base", ["cp", "-a", f"{args.base_dir}/.", dest])
    git = Git(args.base_dir)
    if git("status", "--porcelain", "-uno"):
        say(f"note: uncommitted changes in {args.base_dir} are not part of the base")
    return export(git, "HEAD", dest)


def show_new_files(folder):
    """Drop the rule of Debian's source that hides every file outside debian/ from git."""
    path = folder / ".gitignore"
    text = path.read_text() if path.is_file() else ""
    if (open_text := re.sub(r"^/\*\n(!.*\n)*", "", text, flags=re.MULTILINE)) != text:
        path.write_text(open_text)
        say("note: .gitignore of the base hides all new files; the tree goes without that rule")


def import_base(args, partial, git_dir, index):
    """Unpack the base into the folder partial and return it as a commit without parent."""
    unpack_base(args, partial)
    show_new_files(partial)
    git = Git(partial, GIT_DIR=git_dir, GIT_WORK_TREE=partial, GIT_INDEX_FILE=index)
    long_run("add base to git", ["git", "add", "-A", "-f", "."], cwd=partial, env=ENV | git.env)
    return git("commit-tree", "-m", "base", git("write-tree"))


@contextlib.contextmanager
def partial_folder(tree):
    """Make the folder beside the tree in which a base is unpacked, so that tree is whole or not."""
    partial = tree.with_name(f"{tree.name}.partial")
    shutil.rmtree(partial, ignore_errors=True)
    partial.mkdir(parents=True)
    try:
        yield partial
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def create_tree(args, source):
    """Make the tree with the base only."""
    with partial_folder(args.tree) as partial:
        git = Git(partial)
        git("init", "-q", "-b", "patched")
        for key, value in (("core.looseCompression", 0), ("gc.auto", 0),
                           ("notes.rewriteRef", f"refs/notes/{NOTES}")):
            git("config", key, value)
        base = import_base(args, partial, partial / ".git", partial / ".git/index")
        git("update-ref", "refs/heads/patched", base)
        git("tag", "base", base)
        save_state(git, base=source, tip=base, files={})
        partial.rename(args.tree)


def save_state(git, **state):
    """Record base source, last tip that agreed with the repository and the repository's files."""
    (git.path / ".git/series.json").write_text(json.dumps(state))


def open_tree(tree):
    """Return the tree and its recorded state."""
    try:
        return Git(tree), json.loads((tree / ".git/series.json").read_text())
    except (OSError, ValueError) as err:
        raise Failure(f"{tree} was not made by `series.py tree`; run that, or give another --tree"
                      ) from err


def refuse_loss(git, state):
    """Refuse to go on if the tree holds work that the repository lacks."""
    drop = "or drop it with --force"
    if git("status", "--porcelain", "-uno"):
        raise Failure(f"{git.path} has uncommitted work; commit it and run `series.py refresh`, "
                      f"{drop}")
    if git("rev-parse", "patched") != state["tip"]:
        commits = git("log", "--format=%h %s", f"{state['tip']}..patched").replace("\n", ", ")
        raise Failure(f"{git.path} differs from the series (commits: {commits or 'removed'}); "
                      f"run `series.py refresh`, {drop}")
    if git.run("merge-base", "--is-ancestor", "HEAD", "patched").returncode:
        raise Failure(f"HEAD of {git.path} has commits outside `patched`; bring them there, {drop}")


def update_base_worktree(git, path):
    """Bring the work tree of the unpatched base up to date."""
    if not path.exists():
        cmd = ["git", "worktree", "add", "-q", "-f", "--detach", path, "base"]
        long_run("check out base", cmd, cwd=git.path)
    elif Git(path)("status", "--porcelain", "-uno"):
        raise Failure(f"{path} must stay the plain base but was edited; undo that or remove it")
    else:
        Git(path)("checkout", "-q", "--detach", "base")


def cmd_tree(args):
    """Make or update the tree; files whose contents stay the same keep their mtimes."""
    source = base_identity(args)
    if not args.tree.exists() or not any(args.tree.iterdir()):
        create_tree(args, source)
    git, state = open_tree(args.tree)
    if not args.force:
        refuse_loss(git, state)
    base = git("rev-parse", "base^{commit}")
    if state["base"] != source:
        say(f"the base has changed from {state['base']} to {source}")
        with partial_folder(args.tree) as partial, tempfile.TemporaryDirectory() as tmp:
            base = import_base(args, partial, args.tree / ".git", Path(tmp, "index"))
    made = build(git, args.repo, base, allow_drift=args.allow_drift)
    tip = made[-1][1] if made else base
    git("checkout", "-q", *(["-f"] if args.force else []), "-B", "patched", tip)
    git("tag", "-f", "base", base)
    git("update-ref", "-d", f"refs/notes/{NOTES}")
    for patch, commit in made:
        if patch.notes:
            blob = git("hash-object", "-w", "--stdin", data=patch.notes.encode())
            git("notes", f"--ref={NOTES}", "add", "-C", blob, commit)
    save_state(git, base=source, tip=tip, files=fingerprint(args.repo, read_series(args.repo)))
    if args.base_worktree:
        update_base_worktree(git, args.base_worktree)
    say(f"{args.tree}: base and {len(made)} commits")


# refresh

def read_commit(git, commit, paths):
    """Return a commit as a patch that is limited to the given paths."""
    keys = "%an%x00%ae%x00%aD%x00%s%x00%b%x00%N"
    fields = git("show", "-s", f"--notes={NOTES}", f"--format={keys}", commit).split("\0")
    diff = git.raw("diff-tree", "-p", "--stat=72", "--summary", "--no-renames", "--abbrev=12",
                   f"{commit}^", commit, "--", *paths) if paths else b""
    patch = Patch(*fields[:4], fields[4].strip("\n"), fields[5].strip("\n"), diff)
    again = parse_mail(patch.mail())
    if again != replace(patch, diff=again.diff):
        raise Failure(f"the message of {commit[:12]} ({patch.subject}) does not survive as a mail; "
                      "reword lines in it that begin with `---`, `diff -`, `From:` or `Subject:`")
    return patch


def pick_name(subject, number, old, taken):
    """Keep the file name of an unchanged subject, else make one."""
    for name in old.get(subject, ()):
        if name not in taken:
            return name
    slug = re.sub(r"[^a-z0-9]+", "-", subject.lower()).strip("-")
    room = NAME_MAX - len("0000-.patch")
    slug = slug if len(slug) <= room else slug[:room + 1].rpartition("-")[0]
    while (name := f"{number:04}-{slug}.patch") in taken:
        number += 1
    return name


def collect(git, old_names):
    """Return [(entry, patch)] for the commits of the tree, and the new files of its tip."""
    known, raw = base_files(git, "base"), ("diff-tree", "-r", "-z", "--no-renames")
    tip = git.paths(*raw, "--diff-filter=A", "base", "patched")
    new = {path: info.split()[1] for info, path in zip(tip[::2], tip[1::2], strict=True)}
    entries, owner = [], {}
    for commit in git("rev-list", "--reverse", "base..patched").split():
        changed = git.paths(*raw, "--name-only", f"{commit}^", commit)
        patch = read_commit(git, commit, [path for path in changed if path in known])
        folded = sorted({owner[path] for path in changed if path in owner})
        if folded:
            say(f"{patch.subject}: its changes of new files fold into {', '.join(folded)}")
        brings = tuple(path for path in changed if path in new and path not in owner)
        if not patch.diff and not brings:
            say(f"{patch.subject}: nothing is left of it, it gets no entry")
            continue
        name = pick_name(patch.subject, len(entries) + 1, old_names, {e.name for e, _ in entries})
        entries.append((Entry(name, brings), patch))
        owner.update(dict.fromkeys(brings, name))
    return entries, new


def series_text(old, entries):
    """Write `series` with the comments, and the lines of unchanged entries, that it has."""
    todo = {entry.name: entry for entry in entries}
    above, pending, lines = {}, [], {}
    for line in old.splitlines():
        words = line.split("#")[0].split()
        if words and words[0] in todo:
            above[words[0]], pending = pending, []
            if set(words[1:]) == set(todo[words[0]].files):
                lines[words[0]] = line
        elif not words:
            pending.append(line)
    out = []
    for entry in entries:
        line = f"{entry.name}  {' '.join(entry.files)}".rstrip()
        out += [*above.get(entry.name, []), lines.get(entry.name, line)]
    return "".join(f"{line}\n" for line in [*out, *pending])


def write_file(path, data, executable=False):
    """Write a file, unless it is so already."""
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    if os.access(path, os.X_OK) != executable:
        path.chmod(0o755 if executable else 0o644)


def check_refresh(git, state, args, old):
    """Refuse to lose work in the tree that is not committed, or work done in the repository."""
    if git("status", "--porcelain"):
        raise Failure(f"{git.path} has uncommitted changes or new files; commit or remove them "
                      "(`git status` names them)")
    if git("rev-parse", "HEAD") != git("rev-parse", "patched"):
        raise Failure(f"{git.path} is not on its branch `patched`; finish there, `git checkout` it")
    if git("rev-list", "--merges", "base..patched") or git("merge-base", "base", "patched") != git(
            "rev-parse", "base^{commit}"):
        raise Failure("`patched` is not a straight line from `base`; rebase it on `base`")
    now = fingerprint(args.repo, old).items() ^ state["files"].items()
    if now and not args.force:
        raise Failure(f"the repository was edited after the tree was made "
                      f"({', '.join(sorted({path for path, _ in now}))}); take that into the tree "
                      "with `series.py tree`, or overwrite it with --force")


def check_new_files(args, new, old_files, contents):
    """Refuse new files that the repository cannot hold, or that would replace another file."""
    for path, mode in new.items():
        if mode not in ("100644", "100755") or re.search(r"[\s#]", path):
            raise Failure(f"{path} is no plain file with a plain name; the series cannot hold it")
        here = args.repo / path
        same = here.is_file() and here.read_bytes() == contents[path]
        if path not in old_files and here.exists() and not same and not args.force:
            raise Failure(f"{here} differs from the tree's and no entry lists it; "
                          "move it away, or overwrite it with --force")


def cmd_refresh(args):
    """Write the commits of the tree back into patches, new files and series."""
    (git, state), old, repo = open_tree(args.tree), read_series(args.repo), args.repo
    check_refresh(git, state, args, old)
    old_names = {}
    for entry in old:
        with contextlib.suppress(Failure):  # a patch that is gone or broken lends no name
            old_names.setdefault(entry.read(repo).subject, []).append(entry.name)
    entries, new = collect(git, old_names)
    old_files = {path for entry in old for path in entry.files}
    contents = {path: git.raw("cat-file", "blob", f"patched:{path}") for path in new}
    check_new_files(args, new, old_files, contents)
    for entry, patch in entries:
        write_file(repo / "patches" / entry.name, patch.mail())
    for path, data in contents.items():
        write_file(repo / path, data, new[path] == "100755")
    gone = {f"patches/{e.name}" for e in old} - {f"patches/{e.name}" for e, _ in entries}
    for path in gone | old_files - set(new):
        (repo / path).unlink(missing_ok=True)
        with contextlib.suppress(OSError):
            os.removedirs((repo / path).parent)
    text = series_text((repo / "series").read_text(), [entry for entry, _ in entries])
    write_file(repo / "series", text.encode())
    made = build(git, repo, git("rev-parse", "base^{commit}"))
    tip = made[-1][1] if made else "base"
    if git("rev-parse", f"{tip}^{{tree}}") != git("rev-parse", "patched^{tree}"):
        raise Failure("what was written does not give the tree again; compare `git diff patched "
                      f"{tip}` in {git.path} and keep that tree")
    files = fingerprint(repo, [entry for entry, _ in entries])
    save_state(git, base=state["base"], tip=git("rev-parse", "patched"), files=files)
    say(f"{len(entries)} entries, {len(new)} new files")


# series, prefixes, check

def cmd_series(args):
    """Write the mails with a cover letter."""
    git, cover = open_tree(args.tree)[0], args.repo / "patches/cover-letter"
    text = cover.read_text() if cover.is_file() else ""
    if not re.match(r"\S.*\n\n\S", text):
        raise Failure(f"{cover} must have a subject line, a blank line and text; write it")
    if args.out.exists() and any(args.out.iterdir()):
        raise Failure(f"{args.out} is not empty; give an empty or new folder")
    names = git("show", "-s", "--format=%an%x00%ae%x00%cI", "patched").split("\0")
    done = git.having(**identity(*names)).raw(
        "-c", f"branch.patched.description={text}", "format-patch", "--cover-letter",
        "--cover-from-description=subject", "--subject-prefix=PATCH net-next", "--numbered",
        "--thread=shallow", "--zero-commit", "--no-signature", "--no-renames", "-o",
        args.out.resolve(), "base..patched")
    sys.stdout.buffer.write(done)


def cmd_prefixes(args):
    """Print id and subject of each commit, in order."""
    print(open_tree(args.tree)[0]("log", "--reverse", "--format=%H %s", "base..patched"))


def patch_problems(entry, patch, entries):
    """Yield what is wrong with one patch."""
    if len(entry.name) > NAME_MAX or not re.fullmatch(r"\d{4}-[\w.-]+\.patch", entry.name):
        yield f"file name is not NNNN-<what>.patch of {NAME_MAX} characters at most; rename it"
    if len(patch.subject) > SUBJECT_MAX or patch.subject.endswith("."):
        yield f"subject is over {SUBJECT_MAX} columns or ends with a full stop; reword it"
    if not re.search(r"^Signed-off-by: \S.*<\S+@\S+>$", patch.body, re.MULTILINE):
        yield "no Signed-off-by; add yours"
    if not re.sub(r"^[A-Z][\w-]+: .*$", "", patch.body, flags=re.MULTILINE).strip():
        yield "no text before the Signed-off-by; say why the patch is needed"
    if not patch.diff and not entry.files:
        yield "neither a diff nor new files; remove the entry"
    for path in sorted({path for e in entries for path in e.files} & set(patch.touched())):
        yield f"touches the new file {path}; change that file instead"


def file_problems(repo, entries):
    """Yield what series, patches and kernel folders disagree on."""
    patches = [entry.name for entry in entries]
    listed = [path for entry in entries for path in entry.files]
    for name in sorted({name for name in patches + listed if (patches + listed).count(name) > 1}):
        yield f"series lists {name} twice; list it once"
    for path in sorted((repo / "patches").glob("*.patch")):
        if path.name not in patches:
            yield f"series lacks patches/{path.name}; list or remove it"
    for path in listed:
        if not (repo / path).is_file():
            yield f"series lists {path}, which is missing; restore or unlist it"
    for path in sorted(path for top in KERNEL_FOLDERS for path in (repo / top).rglob("*")):
        if not path.is_dir() and str(path.relative_to(repo)) not in listed:
            yield f"series lacks {path.relative_to(repo)}; list it with the entry that brings it"


def extract(args, paths, dest):
    """Write those of the paths that the base has to dest."""
    if args.tar:
        with step("look into the tarball"), tarfile.open(args.tar) as tar:
            for member in tar:
                path = member.name.partition("/")[2]
                if path in paths and member.isfile():
                    data = tar.extractfile(member).read()
                    write_file(dest / path, data, bool(member.mode & 0o100))
    elif (args.base_tree / ".git").exists():
        git = Git(args.base_tree)
        base = "HEAD" if git.run("rev-parse", "-q", "--verify", "base").returncode else "base"
        export(git, base, dest, ["--", *sorted(paths & base_files(git, base))])
    else:
        for path in (path for path in paths if (args.base_tree / path).is_file()):
            source = args.base_tree / path
            write_file(dest / path, source.read_bytes(), os.access(source, os.X_OK))


def check_applies(args, entries):
    """Apply the series to a repository that holds only the files it is about."""
    paths = {path for e in entries for path in (*e.files, *e.read(args.repo).touched())}
    with tempfile.TemporaryDirectory() as tmp:
        dest, git = Path(tmp), Git(tmp)
        extract(args, paths, dest)
        git("init", "-q")
        git("add", "-A", "-f", ".")
        build(git, args.repo, git("commit-tree", "-m", "base", git("write-tree")))


def cmd_check(args):
    """Report every problem of the series that can be found without a build."""
    entries = read_series(args.repo)
    problems = list(file_problems(args.repo, entries))
    for entry in entries:
        try:
            texts = patch_problems(entry, entry.read(args.repo), entries)
            problems += [f"patches/{entry.name}: {text}" for text in texts]
        except Failure as err:
            problems.append(str(err))
    for problem in problems:
        say(problem)
    if not problems and (args.tar or args.base_tree):
        check_applies(args, entries)
    print(f"series: {len(entries)} entries, {len(problems)} problems")
    return 1 if problems else 0


def parse_args():
    """Describe the command line."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    commands = parser.add_subparsers(dest="command", required=True)

    def add(name, function, text, *, tree=True):
        sub = commands.add_parser(name, help=text, description=text)
        sub.set_defaults(function=function)
        sub.add_argument("--repo", type=Path, default="/src", help="repository (%(default)s)")
        if tree:
            sub.add_argument("--tree", type=Path, default="/out/linux", help="tree (%(default)s)")
        return sub

    sub = add("tree", cmd_tree, "make or update the git tree: base, then a commit per entry")
    base = sub.add_mutually_exclusive_group(required=True)
    base.add_argument("--base-tar", type=Path, metavar="TARBALL", help="base as a tarball")
    base.add_argument("--base-dir", type=Path, metavar="DIR", help="base as folder or git tree")
    sub.add_argument("--base-worktree", type=Path, metavar="DIR", help="check out the base here")
    sub.add_argument("--allow-drift", action="store_true", help="accept 3-way merges and fuzz")
    sub.add_argument("--force", action="store_true", help="drop what the tree alone has")
    sub = add("refresh", cmd_refresh, "write the commits of the tree back into the repository")
    sub.add_argument("--force", action="store_true", help="overwrite edits in the repository")
    sub = add("series", cmd_series, "write the mails; cover letter from patches/cover-letter")
    sub.add_argument("--out", type=Path, required=True, metavar="DIR", help="empty or new folder")
    add("prefixes", cmd_prefixes, "print id and subject of each commit")
    sub = add("check", cmd_check, "check the series; with a base, also that it applies", tree=False)
    base = sub.add_mutually_exclusive_group()
    base.add_argument("--base-tree", type=Path, metavar="DIR", help="base as folder or git tree "
                      "(its tag base, else HEAD)")
    base.add_argument("--tar", type=Path, metavar="TARBALL", help="base as a tarball")
    return parser.parse_args()


def main():
    """Run one subcommand."""
    args = parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # leave nothing behind then either
    for name, value in vars(args).items():  # git runs in other folders
        if isinstance(value, Path):
            setattr(args, name, value.absolute())
    try:
        return args.function(args)
    except Failure as err:
        say(err)
    except (OSError, tarfile.TarError, lzma.LZMAError, EOFError) as err:
        say(f"{err}; check the path and the file")
    except KeyboardInterrupt:
        return 130
    return 1


if __name__ == "__main__":
    sys.exit(main())
