import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { Container } from '@ambit/container';
import { afterEach } from 'vitest';
import {
  type Finding,
  type TransactionCheck,
  transactionCheck,
  type TransactionCheckOptions,
} from '../../src/check/index.js';
import type { Clock, IConnection } from '../../src/index.js';
import { systemClock } from '../../src/extension.js';
import { FakePool } from '../../src/testing/index.js';

/** An application with a checked pool without a database. */
export interface CheckedApp {
  readonly app: Container;
  readonly raw: FakePool;
  readonly pool: FakePool;
  readonly check: TransactionCheck;
  readonly clock: SteppedClock;
  readonly reported: Finding[];
}

/** Time that passes only when a test says so. */
class SteppedClock implements Clock {
  readonly setTimer = systemClock.setTimer.bind(systemClock);
  readonly random = systemClock.random.bind(systemClock);
  #now = 0;

  now(): number {
    return this.#now;
  }

  advance(ms: number): void {
    this.#now += ms;
  }
}

/** Makes such applications, whose checks stop after each test of the file. */
export function useCheckedApps(): (options?: TransactionCheckOptions) => CheckedApp {
  const checks: TransactionCheck[] = [];
  afterEach(() => {
    for (const check of checks.splice(0)) check.stop();
  });
  return (options) => {
    const t = checkedApp(options);
    checks.push(t.check);
    return t;
  };
}

function checkedApp(options: TransactionCheckOptions = {}): CheckedApp {
  const clock = new SteppedClock();
  const reported: Finding[] = [];
  const check = transactionCheck({ clock, report: (finding) => void reported.push(finding), ...options });
  const raw = new FakePool();
  const pool = check.pool(raw);
  const app = new Container({ tags: ['application'] });
  app.register('IDatabasePool', () => pool);
  return { app, raw, pool, check, clock, reported };
}

export const connectionOf = (scope: { resolve<T>(key: string): T }): IConnection => scope.resolve('IConnection');

export const kindsOf = ({ check }: Pick<CheckedApp, 'check'>): string[] => check.findings.map(({ kind }) => kind);

/** `file:line` of the line that ends with the comment `// <mark>`. */
export function lineOf(file: string, mark: string): string {
  const lines = readFileSync(file, 'utf8').split('\n');
  return `${relative(process.cwd(), file)}:${lines.findIndex((line) => line.endsWith(`// ${mark}`)) + 1}`;
}

export const placeOf = ({ place }: Pick<Finding, 'place'>): string | undefined =>
  place && `${place.file}:${place.line}`;
