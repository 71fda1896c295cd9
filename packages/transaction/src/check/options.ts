import { type Clock, systemClock } from '../clock.js';
import { TransactionError } from '../errors.js';
import { checkBoolean, checkClock, checkFunction, checkTime, shown } from '../options.js';
import type { Finding, FindingKind } from './finding.js';

/** Findings that are not reported: those that agree with all that is given. */
export interface Allowed {
  /** Findings of this kind only. Default: of every kind. */
  readonly kind?: FindingKind;
  /** A file or the end of its path, with or without a line: `src/audit.ts`, `audit.ts:12`. */
  readonly place?: string;
  /** A part of the target: `:6379`, `https://cache.example.org`. */
  readonly target?: string;
}

/** The options of `transactionCheck()`: its reaction to a finding, its limits, and its exceptions. */
export interface TransactionCheckOptions {
  /** Checks anything at all. Default: unless `NODE_ENV` is `production`. */
  readonly enabled?: boolean;
  /**
   * `throw` also refuses what is found: the statement, the request for a connection and the request of `node:http` fail with a
   * `TransactionCheckError`. A `fetch()`, other effects and a gap cannot be refused, so the COMMIT is. Default `report`.
   */
  readonly mode?: 'report' | 'throw';
  /** Called with each finding once, when it is found first. Default: a process warning. */
  readonly report?: (finding: Finding) => void;
  /** The milliseconds that an open transaction may be without a statement. Default 200 ms; `Infinity` for no limit. */
  readonly gapMs?: number;
  /** The number of times that the same statement may run in one transaction or request. Default 10; `Infinity` for no limit. */
  readonly repeats?: number;
  /** The number of statements that one request may run, by its route: `{ 'POST /orders/:id': 7, '*': 30 }`. Default: no limit. */
  readonly budgets?: Readonly<Record<string, number>>;
  /** Findings that are not reported. */
  readonly allow?: readonly Allowed[];
  /** Time, for tests. Default: `systemClock`. */
  readonly clock?: Clock;
}

export type CheckSettings = Required<TransactionCheckOptions>;

const KINDS: Readonly<Record<FindingKind, true>> = {
  'outside-statement': true,
  'second-connection': true,
  'connection-write': true,
  'file-write': true,
  'child-process': true,
  'http-request': true,
  gap: true,
  'repeated-statement': true,
  'too-many-statements': true,
  'error-committed': true,
  'error-rolled-back': true,
};

export function settingsOf(options: TransactionCheckOptions): CheckSettings {
  const { enabled = process.env['NODE_ENV'] !== 'production', mode = 'report', report = warn } = options;
  const { gapMs = 200, repeats = 10, budgets = {}, allow = [], clock = systemClock } = options;
  checkBoolean('enabled', enabled);
  checkFunction('report', report);
  checkTime('gapMs', gapMs);
  checkClock(clock);
  if (mode !== 'report' && mode !== 'throw') throw invalid(`mode must be 'report' or 'throw', not ${shown(mode)}`);
  if (typeof repeats !== 'number' || !(repeats >= 1)) throw invalid(`repeats must be 1 or more, not ${shown(repeats)}`);
  for (const [route, most] of Object.entries(budgets))
    if (typeof most !== 'number' || !(most >= 0))
      throw invalid(`The budget of ${route} must be a number, not ${shown(most)}`);
  for (const entry of allow) checkAllowed(entry);
  return { enabled, mode, report, gapMs, repeats, budgets, allow, clock };
}

/** An entry that names nothing would allow everything. */
function checkAllowed({ kind, place, target }: Allowed): void {
  if (kind !== undefined && !Object.hasOwn(KINDS, kind))
    throw invalid(`kind in allow must be one of ${Object.keys(KINDS).join(', ')}, not ${shown(kind)}`);
  if (kind === undefined && ![place, target].some((text) => typeof text === 'string' && text !== ''))
    throw invalid('Each entry of allow must have a kind, a place or a target');
}

function invalid(detail: string): TransactionError {
  return new TransactionError('AMBIT_OPTION', detail);
}

function warn({ message }: Finding): void {
  process.emitWarning(message, { type: 'TransactionCheckWarning', code: 'AMBIT_TX_CHECK' });
}
