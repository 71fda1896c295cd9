#!/usr/bin/env bash
# Puts a NATS that knows `sync_interval` (2.10) into .cache/nats-server: the package of the next release of Debian, which is not installed.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

folder=$PWD/.cache/nats-server
[ -x "$folder/usr/sbin/nats-server" ] && exit 0
version=$(nats-server --version | sed -E 's/.*v([0-9]+\.[0-9]+).*/\1/')
[ "$(printf '2.10\n%s\n' "$version" | sort -V | head -n 1)" = 2.10 ] && exit 0

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$work/lists/partial" "$work/archives/partial"
mirror=$(apt-cache policy nats-server | sed -nE 's/.* ([a-z]+:\/\/[^ ]+) .*/\1/p' | head -n 1)
echo "deb $mirror trixie main" >"$work/sources.list"
options=(-qq -o "Dir::Etc::SourceList=$work/sources.list" -o Dir::Etc::SourceParts=- -o "Dir::State::Lists=$work/lists"
  -o "Dir::Cache=$work" -o "Dir::Cache::Archives=$work/archives" -o APT::Sandbox::User=root)
apt-get "${options[@]}" update
(cd "$work" && apt-get "${options[@]}" download nats-server)
mkdir -p "$folder"
dpkg-deb -x "$work"/nats-server_*.deb "$folder"
