#!/usr/bin/env bash
# Makes sure that Chromium is where the tests look for it. Meant for CI machines: as root, it installs Debian's package.
set -euo pipefail

[ -x /usr/bin/chromium-headless-shell ] && exit 0
apt-get update -qq
DEBIAN_FRONTEND=noninteractive apt-get install -qqy --no-install-recommends chromium-headless-shell fonts-dejavu-core >/dev/null
