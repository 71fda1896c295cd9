import { channel } from 'node:diagnostics_channel';
import type { Container } from '@ambit/container';
import type { Browser, BrowserContext, Locator, Page } from 'playwright-core';
import { afterAll, afterEach, beforeAll, beforeEach, vi } from 'vitest';
import type { InspectorOptions } from '../../src/index.js';
import { createApp, placeOrder, SCOPES } from './app.js';
import { launchChromium } from '@ambit/test-kit/chromium';
import { hosts, type Routes, type RunningApp } from './hosts.js';

const [host] = hosts;
const STATEMENT_MS = 0.5;
/** For a machine that is busy with other things: more than any one wait of a test. */
const TIMEOUT_MS = 120_000;

/** What each view shows of requests. */
const CONTENT = { Now: '#now .trouble', Requests: '#requests .request', Graph: '.service', Totals: 'tbody tr' };

/** Publishes what a pool publishes for a statement outside of a transaction. */
function sendOutside(sql: string): void {
  const statement = {};
  channel('ambit:statement:sent').publish({ statement });
  // It takes the time that it reports, because steps are listed in the order in which they began.
  const start = performance.now();
  while (performance.now() - start < STATEMENT_MS);
  channel('ambit:statement:outside').publish({ sql, milliseconds: STATEMENT_MS, statement });
}

/** An application for each test, and Chromium to look at it. */
export class BrowserApp {
  container!: Container;
  app!: RunningApp;
  page!: Page;
  context!: BrowserContext;
  /** Errors on the console. */
  complaints: string[] = [];
  /** The origins of all requests of the page. */
  addresses = new Set<string>();

  readonly #routes: Routes = {
    '/users': (scope) => (scope.resolve('IUsers') ? 200 : 500),
    '/orders': async (scope) => {
      await placeOrder(scope, 'committed');
      return 201;
    },
    '/sold-out': async (scope) => {
      await placeOrder(scope, 'rolled back');
      return 409;
    },
    '/checked': async (scope) => {
      await placeOrder(scope, 'committed');
      channel('ambit:transaction:finding').publish({
        kind: 'outside-statement',
        place: { file: 'src/audit.ts', line: 12 },
        key: 'IAuditLogger',
        sql: 'INSERT INTO audit VALUES ($1)',
      });
      return 200;
    },
    '/many': () => {
      for (let i = 0; i < 12; i++) sendOutside('SELECT name FROM "products" WHERE id = $1');
      sendOutside('SELECT 1');
      return 200;
    },
    '/wide': () => {
      sendOutside(`SELECT ${Array.from({ length: 60 }, (_, i) => `column_${i}`).join(', ')} FROM wide`);
      return 200;
    },
    '/missing': (scope) => (scope.resolve('IMissing' as string) ? 200 : 500),
    '/never': () => undefined,
    '/forgetful': () => {
      this.container.createScope({ tags: ['job'] });
      return 200;
    },
  };

  async begin(browser: Browser): Promise<void> {
    this.container = createApp();
    this.complaints = [];
    this.addresses = new Set();
    this.context = await browser.newContext({ viewport: { width: 1280, height: 720 } });
    this.page = await this.context.newPage();
    await this.page.addInitScript(`globalThis.silences = 0;
      new MutationObserver(() => {
        if (document.querySelector('[data-state="no response"]')) globalThis.silences++;
      }).observe(document, { subtree: true, attributes: true, attributeFilter: ['data-state'] });`);
    this.page.on('pageerror', (error) => this.complaints.push(String(error)));
    this.page.on('console', (message) => message.type() === 'error' && this.complaints.push(message.text()));
    this.page.on('request', (request) => this.addresses.add(new URL(request.url()).origin));
  }

  async start(options: Partial<InspectorOptions> = {}, port = 0): Promise<void> {
    this.app = await host!.start({ container: this.container, scopes: SCOPES, ...options }, this.#routes, port);
  }

  /** Opens a view of the page, which has the state of the server then. */
  async open(view = '#/graph'): Promise<void> {
    await this.page.goto(`${this.app.url}/inspector/${view}`);
    await this.page.locator('[data-state=live]').waitFor();
    if (view === '#/graph') await this.page.locator('.service').first().waitFor();
  }

  /** Goes to each view in turn, when it shows what it has of requests that were sent before. */
  async *views(): AsyncGenerator<string> {
    for (const [name, content] of Object.entries(CONTENT)) {
      await this.page.getByRole('navigation', { name: 'Views' }).getByRole('link', { name }).click();
      await this.page.locator(content).first().waitFor();
      yield name;
    }
  }

  /** As if another tab were in front of it, which a browser without windows has not. */
  async hide(page: Page, hidden: boolean): Promise<void> {
    await page.evaluate(`Object.defineProperty(document, 'hidden', { value: ${hidden}, configurable: true });
      document.dispatchEvent(new Event('visibilitychange'));`);
  }

  /** How often the page has said that the server does not respond. */
  silences(): Promise<number> {
    return this.page.evaluate('globalThis.silences');
  }

  ask(path: string): Promise<Response> {
    return fetch(this.app.url + path);
  }

  row(text: string): Locator {
    return this.page.locator('.request', { hasText: text }).first();
  }
}

export function useBrowserApp(): BrowserApp {
  vi.setConfig({ testTimeout: TIMEOUT_MS, hookTimeout: TIMEOUT_MS });
  const used = new BrowserApp();
  let browser: Browser;
  beforeAll(async () => {
    browser = await launchChromium();
  });
  afterAll(() => browser?.close());
  beforeEach(() => used.begin(browser));
  afterEach(async () => {
    await used.context.close();
    await used.app.close();
  });
  return used;
}
