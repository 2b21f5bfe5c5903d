#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# What comes from the verb table: completion for three shells, a manual page for each verb.
# shellcheck disable=SC1091,SC2154,SC2016
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"

verbs=$("$wz" help | sed -n '/^verbs:/,/^options:/s/^  \([a-z-]*\) .*/\1/p')
[ "$(echo "$verbs" | wc -l)" -ge 20 ] || fail "verbs: $verbs"
for shell in bash zsh fish; do
	run 0 "$wz" completion $shell
	cp "$out" "$dir/$shell"
	for verb in $verbs; do
		grep -q -e "\"$verb\")" -e "'$verb')" -e "-a $verb " "$dir/$shell" || fail "$shell lacks $verb"
	done
	grep -q -e gpu-share "$dir/$shell" || fail "$shell lacks an option"
done
run 2 "$wz" completion tcsh
run 2 "$wz" completion
ok "every verb is in every completion"

bash -n "$dir/bash" || fail "bash"
complete_bash() { # WORDS...: what is offered for the last one
	PATH="$dir/bin:$PATH" bash -c '
		. "$1"; shift
		compopt() { :; }
		COMP_WORDS=("$@"); COMP_CWORD=$((${#COMP_WORDS[@]} - 1))
		_wz; printf "%s\n" "${COMPREPLY[@]}"' _ "$dir/bash" "$@"
}
mkdir "$dir/bin"
printf '#!/bin/sh\n[ "$1" = ps ] && printf "17\\n18\\n"\n[ "$1" = nodes ] && echo a100\nexit 0\n' >"$dir/bin/wz"
chmod +x "$dir/bin/wz"
complete_bash wz su >"$out"
prints submit
complete_bash wz trace g >"$out"
prints gen
complete_bash wz submit --gpu- >"$out"
prints --gpu-share
complete_bash wz cancel 1 >"$out"
prints 17
complete_bash wz drain --reason x a >"$out"
prints a100
complete_bash wz submit -- --g >"$out"
grep -q . "$out" && fail "after -- the command is the user's"
ok "bash completes verbs, options, jobs and nodes"

if command -v zsh >/dev/null; then
	zsh -n "$dir/zsh" || fail "zsh"
	ok "zsh reads it"
else
	skip "zsh reads it" "zsh is not here"
fi
if command -v fish >/dev/null; then
	fish -n "$dir/fish" || fail "fish"
	ok "fish reads it"
else
	skip "fish reads it" "fish is not here"
fi

pages=$(sed -n "/^verb_pages = \[/,/\]/p; /^man_pages/p" "$WZ_SOURCE_ROOT/man/meson.build" | grep -o "'[a-z-]*[.1]*'" | tr -d "'" | sed 's/^wz-//; s/\.1$//')
for verb in $verbs; do
	[ "$verb" = help ] || echo "$pages" | grep -qx "$verb" || fail "no page of $verb in man/meson.build"
done
if command -v scdoc >/dev/null; then
	for verb in $verbs; do
		"$wz" completion scd "$verb" | scdoc >"$dir/page" 2>"$err" || fail "page of $verb"
		[ -s "$dir/page" ] || fail "empty page of $verb"
	done
	ok "every verb has a page"
else
	skip "every verb has a page" "scdoc is not here"
fi
finish
