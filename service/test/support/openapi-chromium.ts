import { type Browser, chromium } from 'playwright-core';

/** A browser is slow, so its tests run where AMBIT_REQUIRE_CHROMIUM is 1, and are reported as skipped elsewhere. */
export const chromiumUnwanted = process.env['AMBIT_REQUIRE_CHROMIUM'] !== '1';

/** Playwright adds further options that prevent network access. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--disable-quic'] });
