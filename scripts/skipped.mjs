// The last line of a test run: what was skipped, and why.
import { existsSync } from 'node:fs';
import { isListening } from '../service/chaos/support/program.mjs';

const POSTGRES = new URL(process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test');
const REDIS = new URL(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
REDIS.port ||= '6379';

/** @typedef {{ what: string, why: string, names: RegExp, isThere: () => boolean | Promise<boolean> }} Reason */

/** The first that fits a test counts. @type {readonly Reason[]} */
const REASONS = [
  { what: 'in a browser', why: 'no Chromium', names: /chromium/i, isThere: () => existsSync('/usr/bin/chromium') },
  {
    what: 'on Redis',
    why: `no server at ${REDIS.host}`,
    names: /redis|bullmq/i,
    isThere: () => isListening(REDIS),
  },
  {
    what: 'on PostgreSQL',
    why: `no server at ${POSTGRES.host}`,
    names: /^(?!.*('SQLite'|\bseed\b))/i,
    isThere: () => isListening(POSTGRES),
  },
  { what: 'that do not apply', why: 'no SEED, or another database, host or version', names: /^/, isThere: () => false },
];

export class Skipped {
  /** @type {readonly string[]} */
  #left = [];

  /** @param {import('vitest/node').Vitest} vitest */
  onInit(vitest) {
    const chosen = vitest.projects.map(({ name }) => name);
    this.#left = ['programs', 'browser', 'hosts'].filter((name) => !chosen.includes(name));
  }

  /** @param {readonly import('vitest/node').TestModule[]} modules */
  async onTestRunEnd(modules) {
    const missing = [];
    for (const reason of REASONS) if (!(await reason.isThere())) missing.push({ ...reason, tests: 0 });
    for (const module of modules)
      for (const test of module.children.allTests('skipped')) {
        const name = `${module.moduleId} ${test.fullName}`;
        const reason = missing.find(({ names }) => names.test(name));
        if (reason) reason.tests += 1;
      }
    const skipped = missing
      .filter(({ tests }) => tests > 0)
      .map(({ what, why, tests }) => `${tests} tests ${what} (${why})`);
    const left = this.#left.length > 0 ? `; \`npm run check -- ${this.#left.join(' ')}\` runs the rest` : '';
    console.log(`skipped: ${skipped.join(', ') || 'nothing'}${left}`);
  }
}
