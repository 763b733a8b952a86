#!/bin/sh
# Writes the image that containerd makes pods from, localhost/pause:1, as FOLDER/pause.tar: pause.sh FOLDER
#
# In the format of `docker save`, of which ctr needs no more than this. It is for the test alone: the images that are
# installed come from config/images/build.sh.
set -eu
[ $# = 1 ] || { echo "usage: $0 FOLDER" >&2; exit 2; }
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
mkdir -p "$1"
work=$(mktemp -d "$1/.pause.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM

musl-gcc -static -Os -Wall -Werror -o "$work/pause" "$here/pause.c"
tar --create --file="$work/layer.tar" --directory="$work" --owner=0 --group=0 pause
case $(uname -m) in
x86_64) architecture=amd64 ;;
*) architecture=arm64 ;;
esac
digest=$(sha256sum "$work/layer.tar" | cut -d' ' -f1)
printf '{"architecture":"%s","os":"linux","config":{"Entrypoint":["/pause"],"User":"65535:65535"},"rootfs":{"type":"layers","diff_ids":["sha256:%s"]}}' \
    $architecture "$digest" >"$work/config.json"
printf '[{"Config":"config.json","RepoTags":["localhost/pause:1"],"Layers":["layer.tar"]}]' >"$work/manifest.json"
tar --create --file="$work/pause.tar" --directory="$work" manifest.json config.json layer.tar
mv -f "$work/pause.tar" "$1/pause.tar"
