#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The package: built, what is in it, and (as root, with debootstrap and a network) installed where nothing else is.
# shellcheck disable=SC1091,SC2154
. "$WZ_SOURCE_ROOT/tests/cli/lib.sh"

if ! command -v dpkg-deb >/dev/null; then
	skip "the package" "dpkg-deb is not here"
	finish
fi
cd "$WZ_SOURCE_ROOT" || exit 99
deb=$(WZ_BUILD_DEB=${WZ_BUILD_DEB:-$dir/build} tools/build-deb "$dir" 2>"$err") || fail "build-deb"
run 0 dpkg-deb --info "$deb"
prints "Package: whalezen"
prints "libsqlite3-0"
run 0 dpkg-deb --contents "$deb"
for path in ./usr/bin/wz ./usr/libexec/whalezen/wz-shim ./lib/systemd/system/whalezen.service ./usr/lib/sysusers.d/whalezen.conf \
	./usr/share/man/man1/wz.1.gz ./usr/share/bash-completion/completions/wz ./etc/whalezen/whalezen.yaml \
	./usr/share/doc/whalezen/copyright; do
	case $path in ./lib/*) path=./usr${path#.} ;; esac
	grep -qF " $path" "$out" || fail "lacks $path"
done
grep -qE 'root/root' "$out" || fail "belongs to somebody"
grep -q libwhalezen "$out" && fail "the library is of another package"
ok "built, and everything is in it"

mkdir "$dir/x"
dpkg-deb -x "$deb" "$dir/x"
run 0 "$dir/x/usr/bin/wz" --version
run 0 "$dir/x/usr/bin/wz" serve --check-config --config "$dir/x/etc/whalezen/whalezen.yaml"
ok "what is in it runs, and its configuration is well formed"

if command -v lintian >/dev/null; then
	lintian --suppress-tags initial-upload-closes-no-bugs,no-manual-page "$deb" >"$out" 2>&1
	sed 's/^/# /' "$out"
	grep -q '^E:' "$out" && fail "lintian has errors"
	ok "lintian finds no error"
else
	skip "lintian finds no error" "lintian is not here"
fi

if [ "$(id -u)" = 0 ] && command -v debootstrap >/dev/null && [ -n "${WZ_TEST_CHROOT-}" ]; then
	needs=$(dpkg-deb -f "$deb" Depends | sed 's/([^)]*)//g; s/|[^,]*//g; s/ //g')
	if debootstrap --variant=minbase --include="$needs" "$(. /etc/os-release && echo "$VERSION_CODENAME")" "$dir/root" >"$out" 2>"$err"; then
		cp "$deb" "$dir/root/tmp/w.deb"
		run 0 chroot "$dir/root" dpkg -i /tmp/w.deb
		run 0 chroot "$dir/root" wz --version
		run 0 chroot "$dir/root" getent group whalezen
		run 0 chroot "$dir/root" dpkg -P whalezen
		[ ! -e "$dir/root/usr/bin/wz" ] || fail "left behind"
		ok "installed, and removed, in an empty Debian"
	else
		skip "installed in an empty Debian" "debootstrap failed: no network?"
	fi
else
	skip "installed in an empty Debian" "needs root, debootstrap and WZ_TEST_CHROOT=1 (it downloads a Debian)"
fi
finish
