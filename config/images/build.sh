#!/bin/sh
# Writes container images without any container engine, from one static binary each:
#
#   config/images/build.sh [BINARY...]        # all three that config/default names, if none is named
#
# target/images/NAME.tar is an OCI image archive with one layer and in it one file, /NAME, the entrypoint; it runs as
# user 65532. target/images/NAME.cdx.json lists what is linked into it (CycloneDX). The same sources give the same
# bytes. The image is called $REGISTRY/NAME:VERSION, with localhost where REGISTRY is not set; the archive's digest
# depends on that, the image's own digest, which is printed, does not. IMAGES names another folder than target/images,
# PROFILE another profile than `release`.
set -eu

fail() { printf 'images: %s\n' "$*" >&2; exit 1; }

here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
root=$(CDPATH='' cd -- "$here/../.." && pwd)
target=${CARGO_TARGET_DIR:-$root/target}
case $target in /*) ;; *) target=$root/$target ;; esac
images=${IMAGES:-$target/images}

[ $# -gt 0 ] || set -- resource-broker resource-broker-operator resource-graphs
registry=${REGISTRY:-localhost}
registry=${registry%/}

tar --version 2>/dev/null | grep -q 'GNU tar' || fail 'GNU tar is missing: apt-get install tar'
command -v sha256sum >/dev/null || fail 'sha256sum is missing: apt-get install coreutils'
case $(uname -m) in
    x86_64) architecture=amd64 ;;
    *) architecture=arm64 ;; # compile.sh refuses the others
esac
version=$(sed -n '/^\[workspace.package\]/,/^\[/s/^version = "\(.*\)"$/\1/p' "$root/Cargo.toml")
[ -n "$version" ] || fail "$root/Cargo.toml: [workspace.package] has no version"

mkdir -p "$images"
work=$(mktemp -d "$images/.build.XXXXXX")
trap 'rm -rf -- "$work"' EXIT
trap 'exit 130' INT TERM

# Nothing of when, where and by whom an archive is written gets into it.
archive() { # FOLDER ARCHIVE FILE...
    folder=$1 output=$2
    shift 2
    tar --create --file="$output" --directory="$folder" --format=ustar --sort=name --mtime=@0 \
        --owner=0 --group=0 --numeric-owner --mode='u=rwX,go=rX' "$@"
}

# Moves a file into the layout, under its digest, and prints its descriptor, to which ANNOTATIONS may be added.
blob() { # FILE MEDIA-TYPE [ANNOTATIONS]
    digest=$(sha256sum "$1" | cut -d' ' -f1)
    size=$(wc -c <"$1" | tr -d ' ')
    mv -f "$1" "$layout/blobs/sha256/$digest"
    printf '{"mediaType":"%s","digest":"sha256:%s","size":%s%s}' "$2" "$digest" "$size" "${3:-}"
}

for name in "$@"; do
    binary=$("$here/compile.sh" "$name")
    layout=$work/$name
    mkdir -p "$layout/blobs/sha256" "$layout.root"
    reference=$registry/$name:$version

    install -m 0755 "$binary" "$layout.root/$name"
    archive "$layout.root" "$work/layer" "$name"
    layer_digest=$(sha256sum "$work/layer" | cut -d' ' -f1)
    layer=$(blob "$work/layer" application/vnd.oci.image.layer.v1.tar)

    printf '%s' '{"architecture":"'$architecture'","os":"linux",' \
        '"config":{"User":"65532:65532","WorkingDir":"/","Entrypoint":["/'"$name"'"],"Labels":{' \
        '"org.opencontainers.image.title":"'"$name"'","org.opencontainers.image.version":"'"$version"'",' \
        '"org.opencontainers.image.licenses":"Apache-2.0"}},' \
        '"rootfs":{"type":"layers","diff_ids":["sha256:'"$layer_digest"'"]},' \
        '"history":[{"created_by":"config/images/build.sh"}]}' >"$work/config"
    config=$(blob "$work/config" application/vnd.oci.image.config.v1+json)

    manifest=application/vnd.oci.image.manifest.v1+json
    printf '%s' '{"schemaVersion":2,"mediaType":"'$manifest'",' \
        '"config":'"$config"',"layers":['"$layer"']}' >"$work/manifest"
    # containerd reads the first name, podman and skopeo the second.
    image=$(blob "$work/manifest" $manifest ',"annotations":{"io.containerd.image.name":"'"$reference"'",'"\
"'"org.opencontainers.image.ref.name":"'"$reference"'"},"platform":{"architecture":"'$architecture'","os":"linux"}')
    printf '%s' '{"schemaVersion":2,"mediaType":"application/vnd.oci.image.index.v1+json","manifests":['"$image"']}' \
        >"$layout/index.json"
    printf '%s' '{"imageLayoutVersion":"1.0.0"}' >"$layout/oci-layout"
    archive "$layout" "$work/$name.tar" oci-layout index.json blobs

    digest=$(printf '%s' "$image" | grep -o 'sha256:[0-9a-f]*')
    "$here/sbom.sh" "$name" "$digest" >"$work/$name.cdx.json"
    # What did not change keeps its time, for make and for people.
    for file in "$name.tar" "$name.cdx.json"; do
        cmp -s "$work/$file" "$images/$file" || mv -f "$work/$file" "$images/$file"
    done
    printf '%s %s %s\n' "$reference" "$digest" "$images/$name.tar"
done
