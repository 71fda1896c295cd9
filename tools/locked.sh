#!/usr/bin/env bash
# Installs what the lock of each folder has, unless it is there already: tools/locked.sh bench test/versions/express
set -euo pipefail
for folder; do
  [ "$folder/node_modules/.package-lock.json" -nt "$folder/package-lock.json" ] ||
    npm ci --silent --prefix "$folder" --ignore-scripts --no-audit --no-fund
done
