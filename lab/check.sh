#!/bin/bash
# SPDX-License-Identifier: GPL-2.0
# lab/check.sh: what can be found without building a kernel: does the series apply,
# checkpatch --strict, scripts, Python tests, format, spelling. Runs all, then fails if
# one failed.

# shellcheck source=lab/lib.sh
source "$(dirname "$0")/lib.sh"
help_if_asked "$@"
in_lab "$@"
cd "$REPO"
export PYTHONDONTWRITEBYTECODE=1

failed=()

# check NAME TEXT CMD...: a step that does not end the run.
check() {
	step "check-$1" "$2" "${@:3}" || failed+=("$1")
}

# Our files NAME...: as find names them, without the output folder.
files() {
	find . -path ./out -prune -o -path ./.git -prune -o -type f "$@" -printf '%P\n'
}

# checkpatch comes with the base.
get_checkpatch() {
	[[ ! -e $checkpatch/checkpatch.pl ]] || return 0
	rm -rf "$checkpatch.new"
	mkdir "$checkpatch.new"
	tar -C "$checkpatch.new" --strip-components=2 --wildcards -xf "$tarball" \
		'*/scripts/checkpatch.pl' '*/scripts/spelling.txt' \
		'*/scripts/const_structs.checkpatch'
	mv "$checkpatch.new" "$checkpatch"
}

# MAINTAINERS is not among our files, and the history with the commits of `Fixes:` is not here.
run_checkpatch() {
	perl "$checkpatch/checkpatch.pl" --strict --no-tree --no-summary --quiet \
		--ignore FILE_PATH_CHANGES,UNKNOWN_COMMIT_ID "$@"
}

# checkpatch takes a patch that git tracks for a source file, hence the copies; they go without the
# tracepoints, which are checked below. Functions of the base return ENOTSUPP, which new code converts;
# how to call a makefile is said in its first comment.
check_patches() {
	local patch
	for patch; do
		awk '/^diff --git / { skip = / b\/include\/trace\// } !skip' "$patch" >"/tmp/${patch##*/}"
	done
	export -f run_checkpatch
	export checkpatch
	# shellcheck disable=SC2016 # expanded by the inner shell
	printf '%s\n' "${@/#patches//tmp}" | xargs -n 8 -P "$(nproc)" bash -c \
		'run_checkpatch --ignore ENOTSUPP,EMBEDDED_FILENAME "$@"' --
}

found=$("$LAB/fetch.sh")
read -r tarball version _ <<<"$found"
checkpatch=$CACHE/base/checkpatch-$version
get_checkpatch
mapfile -t patches < <(files -path './patches/*.patch')
mapfile -t sources < <(files -name '*.[ch]' -not -path './include/trace/*')
mapfile -t traces < <(files -path './include/trace/*.h')
mapfile -t scripts < <(files -name '*.sh' && printf '%s\n' .ci/run lab/guest/nicctl bench/run)
mapfile -t pythons < <(files -name '*.py')

check series "the series applies" python3 lab/series.py check --repo "$REPO" --tar "$tarball"
((${#patches[@]} == 0)) || check patches "checkpatch on patches" check_patches "${patches[@]}"
((${#sources[@]} == 0)) || check sources "checkpatch on new files" run_checkpatch -f "${sources[@]}"
# All of them have the shape of include/trace/events/*.h, which checkpatch rejects.
((${#traces[@]} == 0)) || check traces "checkpatch on tracepoints" run_checkpatch \
	--ignore OPEN_ENDED_LINE,PARENTHESIS_ALIGNMENT -f "${traces[@]}"
check shell "shellcheck" shellcheck -x "${scripts[@]}"
check python "Python compiles" python3 -c \
	'import sys; [compile(open(name).read(), name, "exec") for name in sys.argv[1:]]' "${pythons[@]}"
check unittest "Python tests" python3 -m unittest discover -s lab -p 'test_*.py'
check unittest-bench "Python tests of the benchmark" \
	python3 -m unittest discover -s bench -p 'test_*.py'
check rustfmt "rustfmt" cargo fmt --check --manifest-path nicsim/Cargo.toml
check rustfmt-clients "rustfmt of the Rust client" \
	cargo fmt --check --manifest-path lab/clients-rust/Cargo.toml
check man "man pages" python3 lab/man.py
check words "banned words" python3 lab/words.py
check spelling "spelling" codespell --skip './out,./.git' \
	--ignore-words-list te,xdpf,verfy
((${#failed[@]} == 0)) || die "failed: ${failed[*]}"
say "all checks passed"
