import { type Browser, chromium } from 'playwright-core';

/** A browser takes its time, so its tests run where AMBIT_REQUIRE_CHROMIUM is 1, and are skipped for all to see elsewhere. */
export const chromiumUnwanted = process.env['AMBIT_REQUIRE_CHROMIUM'] !== '1';

/** Playwright knows the rest of what keeps it from talking to the network. */
export const launchChromium = (): Promise<Browser> =>
  chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--disable-quic'] });
