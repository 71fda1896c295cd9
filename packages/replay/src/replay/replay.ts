import { AsyncLocalStorage } from 'node:async_hooks';
import { readFile } from 'node:fs/promises';
import { TransactionError } from '@ambit/transaction';
import { followRequests, listen } from '../arrivals.js';
import { parsed, unpackedBytes } from '../data.js';
import { lineOf } from '../errors.js';
import { replaceDate, replaceTimeZone, tapChance } from '../globals.js';
import type { Failure, Recording } from '../recording.js';
import { Client, type Received, type ReplayableApplication } from './application.js';
import { replayCalls } from './calls.js';
import { takePools } from './database.js';
import { Replaying } from './replaying.js';

/** Options of a replay. */
export interface ReplayOptions {
  /**
   * Gives rows, or how many rows were changed, for a statement that the recording does not have: a handler that was corrected goes on where the
   * recorded one had failed. Rows are objects, or arrays of cells where a statement has `rowMode: 'array'`, as those of Drizzle. Default: such a
   * statement is a divergence.
   */
  readonly beyond?: (sql: string, params: readonly unknown[]) => readonly object[] | number | undefined;
  /** Changes the request before it is sent, such as a token to sign again: signatures are in no recording. Default: as recorded. */
  readonly request?: (request: Recording['request']) => Recording['request'];
}

/** The result of a replay. */
export interface Replayed {
  /** The status of the response; undefined where the client leaves, as it did in the recording. */
  readonly status: number | undefined;
  /** Its headers, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body of the response: parsed where it is JSON, otherwise its text. */
  readonly body: unknown;
  /** The failure: the status and the error with its line, such as `500: TypeError: ..., at src/orders.ts:44`. */
  readonly failure: string | undefined;
  /** The error of the handler, where the host reports one. */
  readonly error: Failure | undefined;
  /** The first statement or call that the recording does not have: what was wanted, what the recording has, and the line that asked. */
  readonly divergence: string | undefined;
  /** The first difference of the status, the error or the response; responses are in recordings with `responses: true`. */
  readonly difference: string | undefined;
  /** The recording that was replayed. */
  readonly recording: Recording;
  /** The number of recorded statements and calls, and of those that were asked for again. */
  readonly steps: { readonly recorded: number; readonly replayed: number };
  /** The statements beyond the recording, such as COMMIT in place of the recorded ROLLBACK. */
  readonly beyond: readonly string[];
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Sends a recorded request to the application, which reads the recorded rows, times, random values and responses of other servers. A pool that is
 * made or used meanwhile connects to no database, and refuses work for the rest of the process. One replay runs at a time in a process.
 *
 * @param application - the application, or a function without parameters that gives it: what that function starts finds no database either, and
 *   what it gives is closed afterwards if it has a `close()`, as those of Fastify and NestJS have
 * @param recording - the file, or what it has
 * @param options - statements that the recording does not have
 * @returns the response, what the handler failed with, and the first difference from the recording
 * @throws `TransactionError` `AMBIT_OPTION`: the file is no recording, or there is no application, or one that was closed
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { replay } from '@ambit/replay/testing';
 *
 * const app = createServer((_, response) => void response.writeHead(201).end());
 * async function isFixed(): Promise<boolean> {
 *   const { failure, divergence } = await replay(app, 'test/replays/7f3a1c.json');
 *   return divergence === undefined && failure === undefined;
 * }
 * ```
 */
export function replay(
  application: ReplayableApplication,
  recording: string | URL | Recording,
  options: ReplayOptions = {},
): Promise<Replayed> {
  const replaying = last.then(async () => replayAlone(application, await read(recording), options));
  last = replaying.catch(() => undefined);
  return replaying;
}

async function read(recording: string | URL | Recording): Promise<Recording> {
  const isFile = typeof recording === 'string' || recording instanceof URL;
  const found = isFile ? (JSON.parse(await readFile(recording, 'utf8')) as Recording) : recording;
  if (found.format === 1) return found;
  throw new TransactionError('AMBIT_OPTION', 'replay() needs a recording of @ambit/replay');
}

async function replayAlone(
  application: ReplayableApplication,
  recorded: Recording,
  { beyond = () => undefined, request: changed = (one) => one }: ReplayOptions,
): Promise<Replayed> {
  const recording = { ...recorded, request: changed(recorded.request) };
  const contexts = new AsyncLocalStorage<Replaying | undefined>();
  const current = (): Replaying | undefined => contexts.getStore();
  const replaying = new Replaying(recording, beyond);
  const client = new Client();
  const stops = [
    takePools(current),
    followRequests(
      contexts,
      (request) => (client.isOf(request) ? replaying : undefined),
      (one, error) => one.failed(error),
    ),
    listen({ 'ambit:statement:sent': () => notePlace(current()) }),
    replaceTimeZone(recording.timeZone),
    replaceDate(() => current()?.now()),
    tapChance((source, make) => current()?.nextRandom(source()) ?? make()),
    await replayCalls(current),
  ];
  try {
    const received = await client.send(application, replaying, contexts);
    replaying.finish();
    // Promises that the handler did not await may still send statements, and so may the disposal of the request.
    for (let quiet = 0; quiet < 5; quiet = replaying.isBusy ? 0 : quiet + 1) await new Promise(setImmediate);
    return resultOf(replaying, received);
  } finally {
    await client.close();
    for (const stop of stops.toReversed()) stop();
    contexts.disable();
  }
}

function notePlace(replaying: Replaying | undefined): void {
  if (replaying) replaying.place = lineOf(String(new Error('of this line').stack)) ?? replaying.place;
}

function resultOf(replaying: Replaying, { status, headers, body }: Received): Replayed {
  const { recording, statements, error, divergence, beyond } = replaying;
  const text = body.toString('utf8');
  return {
    status,
    headers,
    body: parsed(text) ?? text,
    error,
    failure: failureOf(status, error),
    divergence,
    difference: differenceOf(replaying, status, text),
    recording,
    steps: { recorded: recording.steps.filter(({ kind }) => kind !== 'random').length, replayed: statements.used },
    beyond,
  };
}

const FAILED = 500;

function failureOf(status: number | undefined, error: Failure | undefined): string | undefined {
  if (status !== undefined && status < FAILED) return undefined;
  const { name, message, line } = error ?? { name: 'The host reports no error', message: '' };
  return [`${status ?? 'no response'}: ${name}`, message && `: ${message}`, line && `, at ${line}`].join('');
}

/** The first difference from the recording. Values that the handler makes by itself may differ. */
function differenceOf(
  { recording, statements, error }: Replaying,
  status: number | undefined,
  text: string,
): string | undefined {
  const { outcome, response } = recording;
  if (status !== outcome.status) return `the status is ${status}, the recording has ${outcome.status}`;
  const isSame = (one: unknown, other: unknown): boolean =>
    statements.bindings.match(one, other, { at: outcome.milliseconds }) !== undefined;
  const [recorded, now] = [outcome.error, error].map((one) => (one ? `${one.name}: ${one.message}` : 'nothing'));
  if (!isSame(recorded, now)) return `it fails with ${now}, the recording has ${recorded}`;
  if (!response) return undefined;
  const before = unpackedBytes(response.body).toString('utf8');
  return firstDifference(parsed(before) ?? before, parsed(text) ?? text, 'body', isSame);
}

function firstDifference(
  recorded: unknown,
  now: unknown,
  path: string,
  isSame: (recorded: unknown, now: unknown) => boolean,
): string | undefined {
  if (isSame(recorded, now)) return undefined;
  if (typeof recorded === 'object' && recorded !== null && typeof now === 'object' && now !== null) {
    const names = new Set([...Object.keys(recorded), ...Object.keys(now)]);
    for (const name of names) {
      const [one, other] = [recorded, now].map((each) => (each as Record<string, unknown>)[name]);
      const found = firstDifference(one, other, `${path}.${name}`, isSame);
      if (found !== undefined) return found;
    }
  }
  const shown = (value: unknown): string => (JSON.stringify(value) ?? 'nothing').slice(0, 100);
  return `${path} is ${shown(now)}, the recording has ${shown(recorded)}`;
}
