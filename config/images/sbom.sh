#!/bin/sh
# Prints the software bill of materials of an image, as CycloneDX JSON: what is linked into its one binary, and what of
# it needs what. From the same resolution as the build: no build or test dependencies, no macros, no other platform's.
#
#   config/images/sbom.sh BINARY [DIGEST-OF-THE-IMAGE]
set -eu

[ $# = 1 ] || [ $# = 2 ] || { echo "usage: $0 BINARY [sha256:DIGEST]" >&2; exit 2; }
here=$(CDPATH='' cd -- "$(dirname -- "$0")" && pwd)
package=$("$here/package.sh" "$1")
cd "$here/../.."
triple=$(uname -m | sed 's/^arm64$/aarch64/')-unknown-linux-musl

tree=$(cargo tree --locked --package "$package" --edges normal,no-proc-macro --target "$triple" \
    --charset ascii --prefix depth --format '|{p}|{l}|{r}|')
rust=$(rustc --version | cut -d' ' -f2)
printf '%s\n' "$tree" | awk -F'|' -v image="$1" -v digest="${2:-}" -v triple="$triple" -v rust="$rust" '
    function text(value) { gsub(/\\/, "\\\\", value); gsub(/"/, "\\\"", value); return "\"" value "\"" }

    # Cargo.lock: what crates.io says that the source archives are.
    FILENAME == "Cargo.lock" {
        if (split($0, part, "\"") < 3) next
        if (/^name = /) name = part[2]
        if (/^version = /) version = part[2]
        if (/^checksum = /) checksum[name " " version] = part[2]
        next
    }

    # The tree: depth|name vVERSION (folder, for ours)|licence|repository|(*) where the subtree was shown before
    {
        split($2, part, " ")
        name = part[1]; version = substr(part[2], 2); crate = name " " version
        purl = version; gsub(/\+/, "%2B", purl)
        reference[crate] = (crate in checksum ? "pkg:cargo/" : "workspace:") name "@" purl
        at[$1 + 0] = crate
        if ($1 + 0 > 0) {
            parent = at[$1 - 1]
            if (!((parent, crate) in edge)) {
                edge[parent, crate]
                needs[parent] = needs[parent] (needs[parent] == "" ? "" : ",") text(reference[crate])
            }
        } else top = crate
        if (crate in seen) next
        seen[crate]; order[++count] = crate
        licence = $3; gsub(/ *\/ */, " OR ", licence)
        entry = "\"bom-ref\":" text(reference[crate]) ",\"name\":" text(name) ",\"version\":" text(version)
        if (crate in checksum) entry = entry ",\"hashes\":[{\"alg\":\"SHA-256\",\"content\":" text(checksum[crate]) "}]"
        if (licence != "") entry = entry ",\"licenses\":[{\"expression\":" text(licence) "}]"
        if (crate in checksum) entry = entry ",\"purl\":" text(reference[crate])
        if ($4 != "") entry = entry ",\"externalReferences\":[{\"type\":\"vcs\",\"url\":" text($4) "}]"
        component[crate] = "{\"type\":\"library\"," entry "}"
        if (crate == top) ours = licence
    }

    END {
        split(top, part, " ")
        self = "image:" image "@" part[2]
        std = "rust:std@" rust
        print "{\"bomFormat\":\"CycloneDX\",\"specVersion\":\"1.5\",\"version\":1,"
        printf "\"metadata\":{\"component\":{\"type\":\"container\",\"bom-ref\":%s,", text(self)
        printf "\"name\":%s,\"version\":%s", text(image), text(part[2])
        if (digest != "") printf ",\"hashes\":[{\"alg\":\"SHA-256\",\"content\":%s}]", text(substr(digest, 8))
        print ",\"licenses\":[{\"expression\":" text(ours) "}]}},"
        print "\"components\":["
        printf "{\"type\":\"library\",\"bom-ref\":%s,\"name\":\"std\",\"version\":%s,", text(std), text(rust)
        printf "\"description\":%s,", text("Rust standard library for " triple ", musl libc included")
        print "\"licenses\":[{\"expression\":\"(MIT OR Apache-2.0) AND MIT\"}]},"
        for (i = 1; i <= count; i++) print component[order[i]] (i < count ? "," : "")
        print "],"
        print "\"dependencies\":["
        print "{\"ref\":" text(self) ",\"dependsOn\":[" text(reference[top]) "," text(std) "]},"
        for (i = 1; i <= count; i++) {
            crate = order[i]
            print "{\"ref\":" text(reference[crate]) ",\"dependsOn\":[" needs[crate] "]}" (i < count ? "," : "")
        }
        print "]}"
    }
' Cargo.lock -
