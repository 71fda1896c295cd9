import { readdirSync, readFileSync } from 'node:fs';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { extname, join } from 'node:path';
import { type Browser, type BrowserContext, chromium, type Page } from 'playwright-core';
import { afterAll, beforeAll } from 'vitest';

export const folder = join(import.meta.dirname, '../../dist');
/** The addresses of all pages. */
export const addresses = readdirSync(folder, { recursive: true, encoding: 'utf8' })
  .filter((file) => file.endsWith('.html') && file !== '404.html')
  .map((file) => `/${file}`)
  .toSorted();

const TYPES: Readonly<Record<string, string>> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript',
  '.css': 'text/css',
  '.md': 'text/markdown; charset=utf-8',
  '.txt': 'text/plain; charset=utf-8',
  '.png': 'image/png',
  '.woff2': 'font/woff2',
};

/** The site behind a server for files, and a browser for the tests of a file. */
export function useSite(): {
  readonly url: string;
  open(address: string, options?: Parameters<Browser['newContext']>[0]): Promise<Visit>;
} {
  let browser: Browser;
  let url = '';
  const server = createServer((request, response) => {
    const { pathname } = new URL(request.url ?? '/', url);
    const file = pathname.endsWith('/') ? `${pathname}index.html` : decodeURIComponent(pathname);
    try {
      const body = readFileSync(join(folder, file));
      response.setHeader('content-type', TYPES[extname(file)] ?? 'application/octet-stream').end(body);
    } catch {
      response.writeHead(404).end();
    }
  });
  beforeAll(async () => {
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    browser = await chromium.launch({ executablePath: '/usr/bin/chromium', args: ['--disable-quic'] });
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
