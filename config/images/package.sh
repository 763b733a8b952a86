#!/bin/sh
# Prints the package of this workspace that has the binary given: config/images/package.sh BINARY
set -eu
[ $# = 1 ] || { echo "usage: $0 BINARY" >&2; exit 2; }
cd "$(dirname -- "$0")/../.."

# Cut at every brace, the metadata has a line for each package and, after it, one for each of its targets.
package=$(cargo metadata --locked --no-deps --format-version 1 | sed 's/{/\n{/g' | awk -v binary="$1" '
    /^[{]"name":"[^"]*","version":/ { split($0, part, "\""); package = part[4] }
    /^[{]"kind":\["bin"\]/ && index($0, "\"name\":\"" binary "\"") { print package; exit }')
[ -n "$package" ] || { printf 'images: no package of this workspace has a binary %s\n' "$1" >&2; exit 1; }
printf '%s\n' "$package"
