#!/usr/bin/env bash
# Installs what the lock of each folder has, unless it is there already: tools/locked.sh bench test/versions/express
set -euo pipefail
for folder; do
  lock=$folder/package-lock.json installed=$folder/node_modules/.installed-lock.json
  cmp --silent "$lock" "$installed" && continue
  npm ci --silent --prefix "$folder" --ignore-scripts --no-audit --no-fund
  cp "$lock" "$installed"
done
