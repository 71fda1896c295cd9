import { readdirSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { launchChromium } from '@ambit/test-kit/chromium';
import type { Browser, BrowserContext, Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';
import { folder, siteServer } from '../../serve.mjs';

/** The addresses of all pages. */
export const addresses = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.html') && file !== '404.html')
  .map((file) => `/${file}`)
  .toSorted();

/** The site behind a server for files, and a browser for the tests of a file. */
export function useSite(): {
  readonly url: string;
  open(address: string, options?: Parameters<Browser['newContext']>[0]): Promise<Visit>;
} {
  let browser: Browser;
  let url = '';
  const server = siteServer();
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await launchChromium();
  });
  afterAll(async () => {
    await browser.close();
    server.close();
  });
  return {
    get url() {
      return url;
    },
    async open(address, options) {
      const visit = new Visit(await browser.newContext({ ...options }), url);
      await visit.goTo(address);
      return visit;
    },
  };
}

/** A page of the browser that notes what went wrong. */
export class Visit {
  readonly complaints: string[] = [];
  readonly elsewhere: string[] = [];
  readonly #context: BrowserContext;
  readonly #url: string;
  #page: Page | undefined;

  constructor(context: BrowserContext, url: string) {
    this.#context = context;
    this.#url = url;
  }

  get page(): Page {
    if (!this.#page) throw new Error('goTo() comes first');
    return this.#page;
  }

  async goTo(address: string): Promise<void> {
    const page = await this.#context.newPage();
    this.#page = page;
    page.on('pageerror', (error) => this.complaints.push(String(error)));
    page.on('console', (message) => message.type() === 'error' && this.complaints.push(message.text()));
    page.on('request', (request) => {
      if (!request.url().startsWith(this.#url) && !/^(data|blob):/.test(request.url()))
        this.elsewhere.push(request.url());
    });
    await page.goto(this.#url + address, { waitUntil: 'load' });
  }

  async [Symbol.asyncDispose](): Promise<void> {
    await this.#context.close();
  }
}
