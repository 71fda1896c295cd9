import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Debian's package `chromium-headless-shell`, which `tools/ensure.sh` installs: a third faster than the browser with windows. */
const PATH = '/usr/bin/chromium-headless-shell';

/** Without Chromium its tests are skipped; where AMBIT_REQUIRE_CHROMIUM is 1 they fail instead. */
export const chromiumUnwanted = process.env['AMBIT_REQUIRE_CHROMIUM'] !== '1' && !existsSync(PATH);

/** Playwright knows the rest of what keeps it from talking to the network. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: PATH, args: ['--disable-quic'] });
