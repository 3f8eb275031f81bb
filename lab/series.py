#!/usr/bin/env python3
# SPDX-License-Identifier: GPL-2.0
"""Turn the patch series of this repository into a git tree of the kernel, and back.

patches/ holds complete mails, `series` their order and sections, patches/cover the cover letter of
each section. In the tree, `patched` is the series on the tag `base`, and the branches section/NAME
end the sections. The kernel folders of the repository hold the files that the mails create.
"""

import argparse
import contextlib
import email
import email.utils
import fcntl
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
import textwrap
from pathlib import Path

import covers
from covers import Failure

KERNEL_FOLDERS = ("include", "net", "drivers", "Documentation", "tools", "samples")
NOTES = "refs/notes/series"  # the text between `---` and the diffstat
SUBJECT_MAX = 72
INTEL = "drivers/net/ethernet/intel/"
BPF = ("kernel/bpf/", "tools/testing/selftests/bpf/")
EDIT = "edit out/linux, commit there and `make refresh` (--force overwrites this file)"

# What a user or a calling git hook has configured must change neither commits nor diffs. The tree
# may belong to another user: root in the lab, the developer outside. No gc: a scratch repository
# has the tree's objects but not its branches.
GIT = ("git", "-c", "safe.directory=*", "-c", "gc.auto=0", "-c", "core.looseCompression=0")
# The identity makes a commit the same on every machine
ENV = {key: value for key, value in os.environ.items() if not key.startswith("GIT_")} | {
    "LC_ALL": "C.UTF-8", "GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1",
} | {f"GIT_{who}_{key}": value for who in ("AUTHOR", "COMMITTER") for key, value in (
    ("NAME", "base"), ("EMAIL", "base@localhost"), ("DATE", "2000-01-01T00:00:00Z"))}


def say(text):
    """Report progress or a remark on stderr."""
    print(f"series.py: {text}", file=sys.stderr, flush=True)


def run(cmd, **kwargs):
    """Run cmd, capture its output as text and leave its status to the caller."""
    return subprocess.run([*map(str, cmd)], capture_output=True, check=False, text=True,
                          **{"env": ENV, "input": ""} | kwargs)


class Git:
    """A git repository; calling it runs one git command and returns its output."""

    def __init__(self, path, **env):
        self.path, self.env = Path(path), {key: str(value) for key, value in env.items()}

    def run(self, *args, **kwargs):
        """Run a command whose failure is an answer."""
        return run([*GIT, *args], cwd=self.path, env=ENV | self.env, **kwargs)

    def __call__(self, *args, **kwargs):
        done = self.run(*args, **kwargs)
        if done.returncode:
            raise Failure(f"git {args[0]} in {self.path}: {done.stderr.strip()}; "
                          "repair the tree or remove it")
        return done.stdout.strip()


# The repository's side

def read_series(repo):
    """Return section -> names of its mails, in the order of `series`."""
    path, sections = repo / "series", {}
    if not path.is_file():
        raise Failure(f"{path} is missing; give --repo, or create an empty one to begin a series")
    for line in path.read_text().splitlines():
        if match := re.fullmatch(r"# section (\S+)", line):
            if match[1] in sections:
                raise Failure(f"series has the section {match[1]} twice; rename one")
            sections[match[1]] = []
        elif line.strip() and not line.startswith("#"):
            if not sections or "/" in line:
                raise Failure(f"series has {line} outside a section or outside patches/; correct it")
            sections[[*sections][-1]].append(line.strip())
    if empty := [name for name, mails in sections.items() if not mails]:
        raise Failure(f"series has no mail in the section {empty[0]}; remove that line")
    return sections


def mail_paths(repo, sections):
    """Return the paths of all mails, in order."""
    return [repo / "patches" / name for names in sections.values() for name in names]


def read_mail(path):
    """Return the headers of a mail, its message and what follows that."""
    if not path.is_file():
        raise Failure(f"patches/{path.name} is missing; restore it or take it out of series")
    head, _, rest = path.read_text().partition("\n\n")
    headers, (body, _, rest) = email.message_from_string(head), rest.partition("\n---\n")
    if not all(headers[key] for key in ("From", "Date", "Subject")):
        raise Failure(f"patches/{path.name}: author, date or subject is missing; add the header")
    try:
        email.utils.parsedate_to_datetime(headers["Date"])
    except ValueError as err:
        raise Failure(f"patches/{path.name}: cannot read the date {headers['Date']!r}; "
                      "write it as date -R does") from err
    return headers, body, rest


def note_of(rest):
    """Return the text between the `---` of a mail and its diffstat."""
    stat = r"^ \S.* \| +(?:\d|Bin)|^ \d+ files? changed|^diff --git "
    note = re.split(stat, rest, maxsplit=1, flags=re.MULTILINE)[0].strip("\n")
    return textwrap.dedent(note.removeprefix("Notes (series):\n")).strip()


def touched(path):
    """Return the paths in the diff of a mail."""
    done = run(["git", "apply", "--numstat", "-z", path], cwd="/")
    if done.returncode:
        raise Failure(f"patches/{path.name}: {done.stderr.strip()}; repair the diff, "
                      "or drop an empty commit from the tree")
    return [line.split("\t", 2)[2] for line in done.stdout.split("\0") if line]


def fingerprint(repo):
    """Return path -> hash of `series` and the mails, to see later what was edited."""
    paths = [path for path in (repo / "series", *repo.glob("patches/*.patch")) if path.is_file()]
    return {str(path.relative_to(repo)): hashlib.sha256(path.read_bytes()).hexdigest()
            for path in paths}


def write_file(path, data):
    """Write a file, unless it has these contents already."""
    if not path.is_file() or path.read_bytes() != data:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)


# From mails to commits and back

@contextlib.contextmanager
def scratch(of=None, *, path=None, **env):
    """Make a repository for a while: without configuration, perhaps with the objects of another."""
    path = path or Path(tempfile.mkdtemp())
    if of:
        env["GIT_OBJECT_DIRECTORY"] = of.path / ".git/objects"
    try:
        shutil.rmtree(path, ignore_errors=True)  # what a killed run left
        path.mkdir(parents=True)
        git = Git(path, **env)
        git("init", "-q", "-b", "patched", "--template=")
        yield git
    finally:
        shutil.rmtree(path, ignore_errors=True)


def apply_mails(git, base, mails, *, allow_drift=False):
    """Run git am on base, checking out only what the mails touch; return commits and drifted."""
    paths, drifted = {path for mail in mails for path in touched(mail)}, False
    git("sparse-checkout", "set", "--no-cone", "--stdin",
        input="".join(f"/{path}\n" for path in sorted(paths)))
    git("checkout", "-q", "--detach", base)
    command = ("am", "-q", "--committer-date-is-author-date", "--whitespace=nowarn")
    while mails and (done := git.run(*command, *mails)).returncode:
        cause = done.stderr.strip().split("\nhint:")[0].replace("\n", ", ")
        number = int((git.path / ".git/rebase-apply/next").read_text()) - 1
        for way in ("--3way", "-C1") if allow_drift else ():
            git("am", "--quit")
            git("reset", "-q", "--hard")
            if not git.run(*command, way, mails[number]).returncode:
                say(f"WARNING: patches/{mails[number].name} DRIFTED, git am {way} was needed "
                    f"({cause}); read the result, then run `series.py refresh`")
                drifted = True
                break
        else:
            hint = "rebase it" if allow_drift else "rebase it, or try --allow-drift"
            raise Failure(f"patches/{mails[number].name} does not apply ({cause}); {hint}")
        mails = mails[number + 1:]
    return git("rev-list", "--reverse", f"{base}..HEAD").split(), drifted


def format_mails(git, first, last, out, *options):
    """Write the commits after first, up to last, as mails; return their paths."""
    first, last = git("rev-parse", f"{first}^{{commit}}", f"{last}^{{commit}}").split()
    name, address, date = git("log", "-1", "--format=%an%x00%ae%x00%aI", last).split("\0")
    notes = git.run("rev-parse", "-q", "--verify", NOTES).stdout.strip()
    with scratch(git, GIT_COMMITTER_NAME=name, GIT_COMMITTER_EMAIL=address,
                 GIT_COMMITTER_DATE=date) as repo:
        repo("read-tree", last)  # .gitattributes, which say how to find the function of a hunk
        if notes:
            repo("update-ref", NOTES, notes)
            options = (*options, f"--notes={NOTES}")
        return [Path(path) for path in repo(
            "format-patch", "--zero-commit", "--no-signature", "--no-renames", "--abbrev=12",
            "--stat=72", *options, "-o", out, f"{first}..{last}").splitlines()]


def new_files(git, base, tip, repo):
    """Return the work tree repo with an index of just the files that the series creates."""
    index = Git(repo, GIT_DIR=git.path / ".git", GIT_WORK_TREE=repo,
                GIT_INDEX_FILE=git.path / ".git/index.new-files")
    index("read-tree", "--empty")
    added = git("diff-tree", "-r", "--no-renames", "--diff-filter=A", base, tip)
    index("update-index", "--index-info",
          input=re.sub(r"^:\d+ (\d+) \w+ (\w+) A", r"\1 \2", added, flags=re.MULTILINE))
    return index


def stale_files(index):
    """Return the paths in the kernel folders that are not what new_files() gave."""
    return sorted(index("ls-files", "-m", "-o", "--", *KERNEL_FOLDERS).splitlines())


def section_branches(git):
    """Return section -> commit of its branch."""
    return dict(line.split() for line in git(
        "for-each-ref", "--format=%(refname:lstrip=3) %(objectname)", "refs/heads/section"
    ).splitlines())


def split_commits(git):
    """Return section -> its commits, by the section branches; the last one ends with `patched`."""
    commits, ends = git("rev-list", "--reverse", "base..patched").split(), section_branches(git)
    if stray := [name for name, commit in ends.items() if commit not in commits]:
        raise Failure(f"the branch section/{stray[0]} is not on the line from base to patched; move "
                      f"it to its last commit: `git branch -f section/{stray[0]} COMMIT`")
    sections, start = {}, 0
    for end, name in sorted((commits.index(commit) + 1, name) for name, commit in ends.items()):
        if end == start:
            raise Failure(f"section/{name} has no commit of its own; move or delete the branch")
        sections[name], start = commits[start:end], end
    if commits and not sections:
        raise Failure("no branch section/NAME ends at a commit of the series; create them")
    if sections:
        sections[name] += commits[start:]
    return sections


# tree

def base_identity(args):
    """Return a short text that changes when the source of the base does."""
    if args.base_tar:
        with args.base_tar.open("rb") as tar:
            return "sha256:" + hashlib.file_digest(tar, "sha256").hexdigest()
    if (args.base_dir / ".git").exists():
        return "tree:" + Git(args.base_dir)("rev-parse", "HEAD^{tree}")
    listing = run(["ls", "-lAR", "--full-time", args.base_dir]).stdout
    return "stat:" + hashlib.sha256(listing.encode()).hexdigest()


def unpack_base(args, dest):
    """Put the files of the base into dest."""
    if args.base_dir and (args.base_dir / ".git").exists():
        if Git(args.base_dir)("status", "--porcelain", "-uno"):
            say(f"note: uncommitted changes in {args.base_dir} are not part of the base")
        with tempfile.TemporaryDirectory() as tmp:
            index = Git(args.base_dir, GIT_INDEX_FILE=Path(tmp, "index"))
            index("read-tree", "HEAD")
            index("checkout-index", "-a", f"--prefix={dest}/")
        return
    done = run(["cp", "-a", f"{args.base_dir}/.", dest] if args.base_dir else
               ["tar", "xf", args.base_tar, "-C", dest, "--strip-components=1"])
    if done.returncode:
        raise Failure(f"unpack base failed: {done.stderr.strip()[-500:]}; "
                      "check the source and the free space")


def show_new_files(folder):
    """Drop the rule of Debian's source that hides every file outside debian/ from git."""
    path = folder / ".gitignore"
    text = path.read_text() if path.is_file() else ""
    if (open_text := re.sub(r"^/\*\n(!.*\n)*", "", text, flags=re.MULTILINE)) != text:
        path.write_text(open_text)
        say("note: .gitignore of the base hides all new files; the tree goes without that rule")


@contextlib.contextmanager
def imported_base(args, of=None):
    """Commit the base in a repository beside the tree, so that the tree is whole or not there."""
    with scratch(of, path=args.tree.with_name(f"{args.tree.name}.partial")) as git:
        say("unpack base")
        unpack_base(args, git.path)
        show_new_files(git.path)
        say("add base to git")
        git("add", "-A", "-f", ".")
        git("commit", "-q", "-m", "base")
        yield git


def create_tree(args, source):
    """Make the tree with the base only."""
    with imported_base(args) as git:
        git("config", "gc.auto", 0)
        git("config", "notes.rewriteRef", NOTES)
        git("config", "rebase.updateRefs", "true")
        git("tag", "base")
        save_state(git, base=source, tip=git("rev-parse", "base"), files={}, drifted=False,
                   sections={})
        git.path.rename(args.tree)


def save_state(git, **state):
    """Record base source, tip and section branches, and the repository's mails that they are."""
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
    if section_branches(git) != state["sections"]:
        raise Failure(f"section branches of {git.path} were moved; run `series.py refresh`, {drop}")


def adopt(git, repo, root, made, *, force=False, **state):
    """Make the tree what the repository's mails were made to be, and record that."""
    series, tip = read_series(repo), [root, *made][-1]
    ends = {name: made[last - 1] for name, (_, last) in covers.ranges(series).items()}
    git("checkout", "-q", *(["-f"] if force else []), "-B", "patched", tip)
    git("tag", "-f", "base", root)
    for name, commit in (dict.fromkeys(section_branches(git)) | ends).items():
        ref = f"refs/heads/section/{name}"
        git("update-ref", *([ref, commit] if commit else ["-d", ref]))
    git("update-ref", "-d", NOTES)
    for path, commit in zip(mail_paths(repo, series), made, strict=True):
        if note := note_of(read_mail(path)[2]):
            git("notes", f"--ref={NOTES}", "add", "-m", note, commit)
    save_state(git, tip=tip, sections=ends, files=fingerprint(repo), **state)


def update_base_worktree(git, path):
    """Bring the work tree of the unpatched base up to date."""
    if not path.exists():
        say("check out base")
        git("worktree", "add", "-q", "-f", "--detach", path, "base")
    if Git(path)("status", "--porcelain", "-uno"):
        raise Failure(f"{path} must stay the plain base but was edited; undo that or remove it")
    Git(path)("checkout", "-q", "--detach", "base")


def cmd_tree(args):
    """Make or update the tree; files whose contents stay the same keep their mtimes."""
    source = base_identity(args)
    if not args.tree.exists() or not any(args.tree.iterdir()):
        create_tree(args, source)
    git, state = open_tree(args.tree)
    if not args.force:
        refuse_loss(git, state)
    fresh = state["base"] == source and state["files"] == fingerprint(args.repo)
    if fresh and not args.force and not state["drifted"]:
        git("checkout", "-q", "patched")
        say(f"{args.tree}: nothing has changed")
    else:
        update_tree(args, git, state, source)
    if args.base_worktree:
        update_base_worktree(git, args.base_worktree)
    if stale := stale_files(new_files(git, "base", "patched", args.repo)):
        raise Failure(f"{stale[0]} of the repository is not what the mails create, which the tree "
                      f"has; {EDIT}")


def update_tree(args, git, state, source):
    """Apply the mails and have the tree follow them."""
    mails = mail_paths(args.repo, read_series(args.repo))
    for path in mails:
        read_mail(path)
    base = git("rev-parse", "base^{commit}")
    if state["base"] != source:
        say(f"the base has changed from {state['base']} to {source}")
        with imported_base(args, git) as repo:
            base = repo("rev-parse", "HEAD")
    with scratch(git) as repo:
        made, drifted = apply_mails(repo, base, mails, allow_drift=args.allow_drift)
    adopt(git, args.repo, base, made, force=args.force, base=source, drifted=drifted)
    say(f"{args.tree}: base and {len(made)} commits")


# refresh

def check_refresh(git, state, args):
    """Refuse to lose work in the tree that is not committed, or work done in the repository."""
    if git("status", "--porcelain"):
        raise Failure(f"{git.path} has uncommitted changes or new files; commit or remove them "
                      "(`git status` names them)")
    if git("rev-parse", "HEAD") != git("rev-parse", "patched"):
        raise Failure(f"{git.path} is not on its branch `patched`; finish there, `git checkout` it")
    if git("rev-list", "--merges", "base..patched") or git("merge-base", "base", "patched") != git(
            "rev-parse", "base^{commit}"):
        raise Failure("`patched` is not a straight line from `base`; rebase it on `base`")
    edited = {path for path, _ in fingerprint(args.repo).items() ^ state["files"].items()}
    edited |= {*stale_files(new_files(git, "base", state["tip"], args.repo))}
    if edited and not args.force:
        listed = ", ".join(sorted(edited)[:5]) + (" and others" if len(edited) > 5 else "")
        raise Failure(f"the repository was edited after the tree was made ({listed}); take changed "
                      "mails into the tree with `series.py tree`, changed files by hand, or "
                      "overwrite them with --force")


def remake(git, mails):
    """Return base and the commits that the mails give on it; they must be those of the tree."""
    base, tip = git("rev-parse", "base^{commit}", "patched").split()
    with scratch(git) as repo:
        made, _ = apply_mails(repo, base, mails)
        logs = [repo("log", "--reverse", "-z", "--date=raw", "--format=%T %an %ae %ad%n%B",
                     f"{base}..{end}").split("\0") for end in (tip, "HEAD")]
    for want, have in zip(*logs, strict=True):
        if want != have:
            raise Failure(f"the commit \"{want.splitlines()[1]}\" does not survive as a mail; "
                          "reword lines of its message that begin with `---`, `diff -`, `From:` "
                          "or `Subject:`")
    return base, made


def cmd_refresh(args):
    """Write the commits of the tree as mails, with the files and covers that follow from them."""
    (git, state), repo = open_tree(args.tree), args.repo
    check_refresh(git, state, args)
    sections, new = split_commits(git), new_files(git, "base", "patched", repo)
    created = new("ls-files", "-s").splitlines()
    for mode, _, _, path in (line.split(maxsplit=3) for line in created):
        if path.split("/")[0] not in KERNEL_FOLDERS or mode not in ("100644", "100755"):
            raise Failure(f"{path} is no plain file in {', '.join(KERNEL_FOLDERS)}; move it, or "
                          "add to KERNEL_FOLDERS of lab/series.py")
    with tempfile.TemporaryDirectory() as tmp:
        mails = format_mails(git, "base", "patched", tmp, "-N", "--no-encode-email-headers")
        base, made = remake(git, mails)
        for path in set(repo.glob("patches/*.patch")) - {repo / "patches" / p.name for p in mails}:
            path.unlink()
        for path in mails:
            write_file(repo / "patches" / path.name, path.read_bytes())
    names = iter(path.name for path in mails)
    text = "# By `make refresh`, from out/linux; a section ends at the branch section/NAME there.\n"
    for name, commits in sections.items():
        text += f"\n# section {name}\n" + "".join(f"{next(names)}\n" for _ in commits)
    write_file(repo / "series", text.encode())
    new("update-index", "-q", "--refresh")  # files that stay the same keep their mtimes
    new("checkout-index", "-f", "-a")
    new("clean", "-q", "-f", "-d", "-x", "--", *KERNEL_FOLDERS)
    adopt(git, repo, base, made, base=state["base"], drifted=False)
    for name in sections:
        text = covers.render(repo, name, sections)
        write_file(repo / "patches/cover" / name, text.encode())
    say(f"{len(mails)} mails, {len(created)} new files")


# series, check

def prefix(section, paths):
    """Return the list and tree that a patch is for."""
    if section == "fixes":
        return "iwl-net" if all(path.startswith(INTEL) for path in paths) else "net"
    return "bpf-next" if 2 * sum(path.startswith(BPF) for path in paths) > len(paths) else "net-next"


def cmd_series(args):
    """Write each section as mails with a cover letter, ready to be sent."""
    git = open_tree(args.tree)[0]
    if args.out.exists() and any(args.out.iterdir()):
        raise Failure(f"{args.out} is not empty; give an empty or new folder")
    listed = read_series(args.repo)
    for name, commits in split_commits(git).items():
        if name not in listed:
            raise Failure(f"the section {name} of the tree is not in `series`; refresh it")
        letter = re.sub("^# .*\n", "", covers.render(args.repo, name, listed), flags=re.MULTILINE)
        subject, _, text = letter.partition("\n\n")
        cover, *mails = format_mails(git, f"{commits[0]}^", commits[-1], args.out / name,
                                     "--cover-letter", "--numbered", "--thread=shallow")
        cover.write_text(cover.read_text().replace("*** SUBJECT HERE ***", subject).replace(
            "*** BLURB HERE ***", text.strip()))
        for path in (cover, *mails):
            tree = prefix(name, touched(path) if path != cover else [""])
            path.write_text(path.read_text().replace("Subject: [PATCH", f"Subject: [PATCH {tree}", 1))
            print(path)


def mail_problems(path, section):
    """Yield what is wrong with one mail."""
    headers, body, _ = read_mail(path)
    subject = re.sub(r"^\[.*?\] |\n", "", headers["Subject"])
    if len(subject) > SUBJECT_MAX or subject.endswith("."):
        yield f"subject is over {SUBJECT_MAX} columns or ends with a full stop; reword it"
    if not re.sub(r"^[A-Z][\w-]+: .*$", "", body, flags=re.MULTILINE).strip():
        yield "no text before the Signed-off-by; say why the patch is needed"
    if section == "fixes" and not re.search(
            r'^Fixes: [0-9a-f]{12} \(".+"\)$|could not be verified', body, re.MULTILINE):
        yield 'no `Fixes: 12-digit-id ("subject")`; add it, or say that it could not be verified'


def file_problems(repo, sections):
    """Yield what series, mails and cover letters disagree on."""
    listed = [path.name for path in mail_paths(repo, sections)]
    mails = sorted(path.name for path in repo.glob("patches/*.patch"))
    if listed != mails:
        odd = sorted({*listed} ^ {*mails}) or [a for a, b in zip(listed, mails) if a != b] or listed
        yield f"series is not the list of the mails, sorted: {odd[0]}; correct it or `make refresh`"
    for path in repo.glob("patches/cover/*"):
        if path.name not in sections:
            yield f"patches/cover/{path.name} is of no section of `series`; remove it"
    for name in sections:
        if covers.render(repo, name, sections) != (repo / "patches/cover" / name).read_text():
            yield f"patches/cover/{name} is stale: ranges or figures changed; `make refresh`"


def check_applies(args, mails):
    """Run git am in a repository of the base's files that the mails touch; check the new files."""
    paths = {path for mail in mails for path in touched(mail)}
    with scratch() as git:
        with tarfile.open(args.tar) as tar:
            for member in tar:
                member.name = member.name.partition("/")[2]
                if member.name in paths and member.isfile():
                    tar.extract(member, git.path, filter="data")
        git("add", "-A", "-f", ".")
        git("commit", "-q", "--allow-empty", "-m", "base")
        base = git("rev-parse", "HEAD")
        apply_mails(git, base, mails)
        for path in stale_files(new_files(git, base, "HEAD", args.repo)):
            yield f"{path} is not what the mails create; {EDIT}"


def cmd_check(args):
    """Report every problem of the series that can be found without a build."""
    sections, problems = read_series(args.repo), []

    def collect(found, where=""):
        try:
            problems.extend(f"{where}{text}" for text in found)
        except Failure as err:
            problems.append(str(err))

    collect(file_problems(args.repo, sections))
    for name, mails in sections.items():
        for path in (args.repo / "patches" / mail for mail in mails):
            collect(mail_problems(path, name), f"patches/{path.name}: ")
    mails = mail_paths(args.repo, sections)
    if not problems and args.tar:
        collect(check_applies(args, mails))
    for problem in problems:
        say(problem)
    print(f"series: {len(mails)} mails, {len(problems)} problems")
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

    sub = add("tree", cmd_tree, "make or update the git tree: base, then a commit per mail")
    base = sub.add_mutually_exclusive_group(required=True)
    base.add_argument("--base-tar", type=Path, metavar="TARBALL", help="base as a tarball")
    base.add_argument("--base-dir", type=Path, metavar="DIR", help="base as folder or git tree")
    sub.add_argument("--base-worktree", type=Path, metavar="DIR", help="check out the base here")
    sub.add_argument("--allow-drift", action="store_true", help="accept 3-way merges and fuzz")
    sub.add_argument("--force", action="store_true", help="drop what the tree alone has")
    sub = add("refresh", cmd_refresh, "write the commits of the tree back into the repository")
    sub.add_argument("--force", action="store_true", help="overwrite edits in the repository")
    sub = add("series", cmd_series, "write each section as mails with its cover letter")
    sub.add_argument("--out", type=Path, required=True, metavar="DIR", help="empty or new folder")
    sub = add("check", cmd_check, "check the series; with a base, also that it applies", tree=False)
    sub.add_argument("--tar", type=Path, metavar="TARBALL", help="base as a tarball")
    return parser.parse_args()


def main():
    """Run one subcommand."""
    args = parse_args()
    signal.signal(signal.SIGTERM, signal.default_int_handler)  # leave nothing behind then either
    for name, value in vars(args).items():  # git runs in other folders
        if isinstance(value, Path):
            setattr(args, name, value.absolute())
    try:
        if "tree" in args:  # groups of tests run side by side
            args.tree.parent.mkdir(parents=True, exist_ok=True)
            lock = args.tree.with_name("tree.lock").open("w")
            fcntl.flock(lock, fcntl.LOCK_EX)
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
