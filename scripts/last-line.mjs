// The last line of a test run: what failed, what passed, what was skipped, and why.
import { existsSync } from 'node:fs';
import { isListening } from '../service/chaos/support/program.mjs';

const POSTGRES = new URL(process.env['DATABASE_URL'] ?? 'postgres://postgres@127.0.0.1:5432/test');
const REDIS = new URL(process.env['REDIS_URL'] ?? 'redis://127.0.0.1:6379');
REDIS.port ||= '6379';
const MARIADB = new URL(process.env['MARIADB_URL'] ?? 'mariadb://root@127.0.0.1:3306');
MARIADB.port ||= '3306';

/** @typedef {{ what: string, why: string, names: RegExp, isThere: () => boolean | Promise<boolean> }} Reason */

/** The first that fits a test counts. @type {readonly Reason[]} */
const REASONS = [
  {
    what: 'in a browser',
    why: 'no Chromium',
    names: /chromium/i,
    isThere: () => existsSync('/usr/bin/chromium-headless-shell'),
  },
  {
    what: 'on Redis',
    why: `no server at ${REDIS.host}`,
    names: /redis|bullmq/i,
    isThere: () => isListening(REDIS),
  },
  {
    what: 'on MariaDB',
    why: `no server at ${MARIADB.host}`,
    names: /mariadb|mysql/i,
    isThere: () => isListening(MARIADB),
  },
  {
    what: 'on PostgreSQL',
    why: `no server at ${POSTGRES.host}`,
    names: /^(?!.*('SQLite'|\bseed\b))/i,
    isThere: () => isListening(POSTGRES),
  },
  { what: 'that do not apply', why: 'no SEED, or another database, host or version', names: /^/, isThere: () => false },
];

/** A reporter of Vitest, which leaves its exit code as it is. */
export class LastLine {
  /** @type {readonly string[]} */
  #left = [];

  /** @param {import('vitest/node').Vitest} vitest */
  onInit(vitest) {
    const chosen = vitest.projects.map(({ name }) => name);
    this.#left = ['programs', 'browser', 'hosts'].filter((name) => !chosen.includes(name));
  }

  /**
   * @param {readonly import('vitest/node').TestModule[]} modules
   * @param {readonly unknown[]} errors - those outside of every test
   */
  async onTestRunEnd(modules, errors) {
    const tests = { passed: 0, failed: 0, skipped: 0, pending: 0 };
    for (const module of modules) for (const test of module.children.allTests()) tests[test.result().state] += 1;
    // Tests fail there one by one; without one, the file itself has an error.
    const unread = modules.filter(
      (module) => module.state() === 'failed' && ![...module.children.allTests('failed')].length,
    );
    const parts = [
      count(tests.failed, 'failed'),
      count(unread.length, unread.length === 1 ? 'file with an error' : 'files with an error'),
      count(errors.length, errors.length === 1 ? 'error outside of tests' : 'errors outside of tests'),
      count(tests.pending, 'not finished'),
      `${tests.passed.toLocaleString('en')} passed`,
      count(tests.skipped, `skipped: ${await reasons(modules)}`) ?? 'nothing skipped',
    ];
    const left = this.#left.length > 0 ? `; \`npm run check -- ${this.#left.join(' ')}\` runs the rest` : '';
    console.log(`${parts.filter((part) => part !== undefined).join(', ')}${left}`);
  }
}

/** @param {number} number @param {string} what */
const count = (number, what) => (number === 0 ? undefined : `${number.toLocaleString('en')} ${what}`);

/** @param {readonly import('vitest/node').TestModule[]} modules */
async function reasons(modules) {
  const missing = [];
  for (const reason of REASONS) if (!(await reason.isThere())) missing.push({ ...reason, tests: 0 });
  for (const module of modules)
    for (const test of module.children.allTests('skipped')) {
      const name = `${module.moduleId} ${test.fullName}`;
      const reason = missing.find(({ names }) => names.test(name));
      if (reason) reason.tests += 1;
    }
  const counted = missing.filter(({ tests }) => tests > 0);
  return counted.map(({ what, why, tests }) => `${tests.toLocaleString('en')} ${what} (${why})`).join(', ');
}
