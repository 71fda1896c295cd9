import type { KindNow, Now, PoolNow, RequestDetails, RequestSummary, Trouble } from '../src/wire.js';
import { count } from './format.js';

// What the page says in words, each from one snapshot, so that no sentence can contradict another.

export const times = (number: number, one: string, many = `${one}s`): string =>
  `${count(number)} ${number === 1 ? one : many}`;

/** The number that one looks for. */
export function troubleCount(troubles: readonly Trouble[]): string {
  return troubles.length === 0 ? 'no trouble' : times(troubles.length, 'trouble');
}

export function troublesLine(troubles: readonly Trouble[], { always }: { readonly always: boolean }): string {
  const all = troubles.reduce((sum, { count: number }) => sum + number, 0);
  if (all === 0) return always ? 'No trouble since the application started.' : 'No trouble since the recording began.';
  return `${times(troubles.length, 'trouble')}, by cause; they occurred ${times(all, 'time')}. The newest is first.`;
}

/** The most in the messages of the last seconds, as the server counted it at each check-out. */
export interface PoolPeak {
  readonly inUse: number;
  readonly waiting: number;
  readonly seconds: number;
}

export interface PoolLines {
  readonly now: string;
  readonly most: string;
}

export function poolLines({ open, idle, waiting, max, mostInUse, mostWaiting }: PoolNow, peak?: PoolPeak): PoolLines {
  const inUse = Math.max(0, open - idle);
  const limit = max === undefined ? `of ${count(Math.max(open, inUse))} open` : `of ${count(Math.max(max, inUse))}`;
  const mostUsed = Math.max(inUse, mostInUse, peak?.inUse ?? 0);
  const mostWaited = Math.max(waiting, mostWaiting, peak?.waiting ?? 0);
  const now = waiting > 0 ? `${times(waiting, 'caller')} waiting` : 'nobody is waiting';
  const period =
    peak && peak.seconds >= 1 ? ` in the last ${peak.seconds === 60 ? 'minute' : times(peak.seconds, 'second')}` : '';
  const waited = mostWaited > 0 ? `, and ${times(mostWaited, 'caller')} waited at once` : ', and nobody waited';
  // The first connection is waited for until it is open.
  const most =
    mostUsed > 0 ? `At most ${count(mostUsed)} in use` : mostWaited > 0 ? 'None was handed out yet' : 'None in use';
  return { now: `${count(inUse)} in use ${limit}, ${now}`, most: `${most}${period}${waited}.` };
}

/** The outcomes of transactions; those without a connection did not begin. */
export function transactionsLine({
  open,
  committed,
  'rolled back': back,
  unknown,
  refused,
}: Now['transactions']): string {
  const completed = committed + back + unknown;
  const outcomes = [
    `${count(committed)} committed`,
    `${count(back)} rolled back`,
    ...(unknown > 0 ? [`${count(unknown)} with an unknown outcome`] : []),
  ];
  const counted = completed === 0 ? 'none has completed' : `${count(completed)} completed: ${outcomes.join(', ')}`;
  const without = refused > 0 ? `; ${count(refused)} did not begin, without a connection` : '';
  return `${count(open)} open, ${counted}${without}`;
}

export function kindLine({ open, openedPerSecond, closedPerSecond }: Omit<KindNow, 'box'>): string {
  return `${count(open)} open, ${count(openedPerSecond)}/s opened, ${count(closedPerSecond)}/s closed`;
}

export interface ListNumbers {
  readonly shown: number;
  /** What this page knows of. */
  readonly listed: number;
  /** All that arrived since the recording began. */
  readonly arrived: number;
  readonly samplesPerSecond: number;
  readonly keep: number;
}

/** How many requests are shown of how many, and why not all. */
export function listLine({ shown, listed, arrived, samplesPerSecond, keep }: ListNumbers): string {
  const all = Math.max(arrived, listed, shown);
  if (shown === all) return times(all, 'request');
  const numbers = `${count(shown)} shown of ${count(all)}`;
  if (listed >= all) return numbers;
  return `${numbers}; without trouble ${count(samplesPerSecond)} a second are listed, and the newest ${count(keep)} kept`;
}

export function ratesLine({
  requestsPerSecond,
  recordedPerSecond,
}: Pick<Now, 'recordedPerSecond' | 'requestsPerSecond'>): string {
  const listed = Math.min(recordedPerSecond, requestsPerSecond);
  const all = `${times(requestsPerSecond, 'request')} in the last second`;
  return listed < requestsPerSecond
    ? `${all}, ${count(listed)} of them listed whatever happens; those with trouble always are`
    : all;
}

/** What became of the transactions of a request, where there is more to say than its mark does. */
export function outcomeLine({
  outcome,
  failedAttempts,
}: Pick<RequestDetails, 'failedAttempts' | 'outcome'>): string | undefined {
  const before =
    failedAttempts > 0 && outcome !== 'unknown'
      ? `${times(failedAttempts, 'transaction')} before it ${failedAttempts === 1 ? 'was' : 'were'} not committed`
      : '';
  if (outcome === 'committed') return before === '' ? undefined : `Its last transaction is committed; ${before}.`;
  const ends: Partial<Record<string, string>> = {
    'rolled back': 'Its last transaction was rolled back: nothing of that one is stored',
    refused: 'Its last transaction got no connection, and did not begin',
    unknown: 'Nobody knows whether its transaction is stored: the connection was lost during COMMIT',
  };
  const end = ends[outcome ?? ''];
  return end && `${end}${before === '' ? '' : `; ${before}`}.`;
}

/** The outcome of its last transaction, in a word or two. */
export function outcomeWord({ outcome }: Pick<RequestSummary, 'outcome'>): string | undefined {
  if (outcome === 'refused') return 'no connection';
  return outcome === 'unknown' ? 'commit unknown' : outcome;
}

/** Which route it was, as declared. Its path is never recorded, so of a 404 nothing is known. */
export function routeText(route: string): string {
  return route === '(no route)' ? 'no route' : route;
}
