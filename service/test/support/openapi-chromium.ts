import { type Browser, chromium } from 'playwright-core';

const executablePath = '/usr/bin/chromium';

/** A browser takes its time, so its tests run where AMBIT_REQUIRE_CHROMIUM is 1, and are skipped for all to see elsewhere. */
export const chromiumUnwanted = process.env['AMBIT_REQUIRE_CHROMIUM'] !== '1';

/** With a fresh folder of its own, and without talk of its own to the network. */
export function launchChromium(): Promise<Browser> {
  return chromium.launch({
    executablePath,
    args: [
      '--headless',
      '--no-sandbox',
      '--disable-gpu',
      '--disable-quic',
      '--no-first-run',
      '--disable-background-networking',
      '--disable-component-update',
      '--disable-sync',
    ],
  });
}
