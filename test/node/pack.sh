#!/bin/sh
# Packs a program of this machine, with the libraries that it is linked to, as an image of the test's own:
#
#   pack.sh PROGRAM REFERENCE ARCHIVE
#
# The program is /bin/NAME in it. The archive has the format of `docker save`, of which ctr needs no more than this. The
# images that ship come from config/images/build.sh.
set -eu
[ $# = 3 ] || { echo "usage: $0 PROGRAM REFERENCE ARCHIVE" >&2; exit 2; }
program=$1 reference=$2 archive=$3
name=${program##*/}
work=$(mktemp -d "$archive.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM

mkdir -p "$work/root/bin"
install -m 0755 "$program" "$work/root/bin/$name"
# A static program has none.
for library in $(ldd "$program" 2>/dev/null | grep -o '/[^ ]*' || true); do
    mkdir -p "$work/root${library%/*}"
    cp -L "$library" "$work/root$library"
done
tar --create --file="$work/layer.tar" --directory="$work/root" --owner=0 --group=0 .
case $(uname -m) in
x86_64) architecture=amd64 ;;
*) architecture=arm64 ;;
esac
digest=$(sha256sum "$work/layer.tar" | cut -d' ' -f1)
printf '{"architecture":"%s","os":"linux","config":{"Entrypoint":["/bin/%s"],"User":"65534:65534"},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
    $architecture "$name" "$digest" >"$work/config.json"
printf '[{"Config":"config.json","RepoTags":["%s"],"Layers":["layer.tar"]}]' "$reference" >"$work/manifest.json"
tar --create --file="$archive" --directory="$work" manifest.json config.json layer.tar
