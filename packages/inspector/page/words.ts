import { isWork } from '../src/kinds.js';
import type { TroubleKind } from '../src/signs.js';
import type { Now, RequestSummary, Step, Trouble } from '../src/wire.js';

// The page's words, each from one snapshot, so that no sentence can contradict another.

/** `0.42 ms`, `12 ms`, `1.3 s`, `3 min` */
export function duration(milliseconds: number): string {
  if (milliseconds < 1) return `${milliseconds.toFixed(2)} ms`;
  if (milliseconds < 10) return `${milliseconds.toFixed(1)} ms`;
  if (milliseconds < 1000) return `${milliseconds.toFixed(0)} ms`;
  const seconds = milliseconds / 1000;
  if (seconds < 120) return `${seconds.toFixed(1)} s`;
  return seconds < 7200 ? `${(seconds / 60).toFixed(0)} min` : `${(seconds / 3600).toFixed(0)} h`;
}

export const count = (number: number): string => number.toLocaleString('en');
export const clock = (since1970: number): string => new Date(since1970).toLocaleTimeString('en-GB');
export const times = (number: number, one: string): string => `${count(number)} ${one}${number === 1 ? '' : 's'}`;

/** The last part of `application > request`. */
export const lastOf = (box: string): string => box.split(' > ').at(-1) ?? box;

export const depthOf = (box: string): number => box.split(' > ').length - 1;
/** The colour of a kind of scope, by its depth; there are four. */
export const colorOf = (box: string): string => `var(--lifetime-${depthOf(box) % 4})`;

export const troubleCount = (troubles: readonly Trouble[]): string =>
  troubles.length === 0 ? 'no trouble' : times(troubles.length, 'trouble');

export function troublesLine(troubles: readonly Trouble[], always = false): string {
  const all = troubles.reduce((sum, { count: number }) => sum + number, 0);
  if (all === 0) return always ? 'No trouble since the application started.' : 'No trouble since the recording began.';
  return `${times(troubles.length, 'trouble')}, by cause; they occurred ${times(all, 'time')}. The most harmful is first.`;
}

export function poolLine({ open, idle, waiting, max = open }: NonNullable<Now['pool']>): string {
  const callers = waiting > 0 ? `${times(waiting, 'caller')} waiting` : 'nobody is waiting';
  return `${count(open - idle)} in use of ${count(max)}, ${callers}.`;
}

/** The outcomes of transactions; those that were refused got no connection. */
export const transactionsLine = (outcomes: Now['transactions']): string =>
  Object.entries(outcomes)
    .filter(([outcome, number]) => outcome === 'open' || number > 0)
    .map(([outcome, number]) => `${count(number)} ${outcome}`)
    .join(', ');

/** A word about a request or one of its parts. */
export interface Mark {
  readonly text: string;
  readonly mood?: 'bad' | 'good' | 'warn' | undefined;
}

/** The status of the response, or the state of a request without one. */
export function stateMark({ state, method, status = 0 }: RequestSummary): Mark {
  if (state === 'open') return { text: 'open' };
  if (state === 'aborted') return { text: 'aborted', mood: 'bad' };
  if (isWork({ method })) return status >= 500 ? { text: 'failed', mood: 'bad' } : { text: 'done' };
  return { text: String(status), mood: status >= 500 ? 'bad' : status >= 400 ? 'warn' : undefined };
}

/** News, but no bad ones. */
const WARNINGS: ReadonlySet<TroubleKind> = new Set(['N+1', 'slow', 'slow call', 'pool', 'many rows']);

/** The marks of a request besides its status: its troubles, how its transaction came out, and its statements. */
export function marksOf({ troubles, outcome, failedAttempts, statements, rows, status = 0 }: RequestSummary): Mark[] {
  const word = outcome === 'refused' ? 'no connection' : outcome === 'unknown' ? 'commit unknown' : outcome;
  // To roll back and respond with a status of 4xx is what the application has decided.
  const isRefusal = outcome === 'rolled back' && status >= 400 && status < 500;
  const moodOfOutcome = outcome === 'committed' ? 'good' : isRefusal ? undefined : 'bad';
  const marks: (Mark | false)[] = [
    ...troubles
      .filter((kind) => kind !== 'aborted')
      .map((kind): Mark => ({ text: kind, mood: WARNINGS.has(kind) ? 'warn' : 'bad' })),
    word !== undefined && { text: word, mood: moodOfOutcome },
    failedAttempts > 0 && { text: times(failedAttempts, 'attempt'), mood: 'warn' },
    statements > 0 && { text: `${statements} SQL` },
    rows >= 1000 && { text: `${count(rows)} rows` },
  ];
  return marks.filter((mark) => mark !== false);
}

const STEPS_OF_WORK: Partial<Record<Step['kind'], string>> = { arrived: 'began', responded: 'ended', threw: 'failed' };

/** The name of a step in the waterfall, and what it was about; a statement has its text. */
export function wordsOf(step: Step, request: RequestSummary): readonly [name?: string, about?: string | undefined] {
  const { kind, box = '', key, path = [], method, host, status, found = kind } = step;
  if (kind === 'statement') return [];
  if (kind === 'scope') return [`${lastOf(box)} scope`];
  if (kind === 'call') return [kind, [method, host, status].filter(Boolean).join(' ')];
  if (kind === 'failed' && path.length > 1) return [kind, path.join(' → ')];
  const name = (isWork(request) ? STEPS_OF_WORK[kind] : undefined) ?? found;
  return [name, kind === 'responded' ? stateMark(request).text : key];
}
