import { AsyncLocalStorage } from 'node:async_hooks';
import { readFile } from 'node:fs/promises';
import { TransactionError } from '@ambit/transaction';
import { inFrontOfDrivers } from '@ambit/transaction/extension';
import { followRequests, listen } from '../arrivals.js';
import { tapChance } from '../chance.js';
import { unpackedBytes } from '../data.js';
import { lineOf } from '../line.js';
import type { Failure, Recording } from '../recording.js';
import { Client, type Received, type ReplayableApplication } from './application.js';
import { replayCalls } from './calls.js';
import { replaceDate, replaceTimeZone } from './clock.js';
import { replayDrivers } from './database.js';
import { Replaying } from './replaying.js';

/** What a replay does besides. */
export interface ReplayOptions {
  /**
   * Gives rows, or how many rows were changed, for a statement that the recording does not have: a handler that was corrected goes on where the
   * recorded one had failed. Default: such a statement is a divergence.
   */
  readonly beyond?: (sql: string, params: readonly unknown[]) => readonly object[] | number | undefined;
}

/** What came of a replayed request. */
export interface Replayed {
  /** The status of the response; undefined where the client leaves, as it did in the recording. */
  readonly status: number | undefined;
  /** Its headers, in lower case. */
  readonly headers: Readonly<Record<string, string>>;
  /** The body of the response: parsed where it is JSON, otherwise its text. */
  readonly body: unknown;
  /** What the handler failed with, where the host says so. */
  readonly error: Failure | undefined;
  /** The first statement or call that the recording does not have: what was wanted, what the recording has, and the line that asked. */
  readonly divergence: string | undefined;
  /** How the status, the error or the response differs from the recorded one; responses are in recordings with `responses: true`. */
  readonly difference: string | undefined;
  /** The recording that was replayed. */
  readonly recording: Recording;
  /** How many of the recorded statements and calls were asked for. */
  readonly steps: { readonly recorded: number; readonly replayed: number };
  /** The statements beyond the recording, such as COMMIT in place of the recorded ROLLBACK. */
  readonly beyond: readonly string[];
}

let last: Promise<unknown> = Promise.resolve();

/**
 * Sends a recorded request to the application, which reads the recorded rows, times, random values and responses of other servers. No pool connects
 * to a database. One replay runs at a time in a process.
 *
 * @param application - the application, or a function without parameters that gives it: what that function starts finds no database either
 * @param recording - the file, or what it has
 * @param options - statements that the recording does not have
 * @returns the response, what the handler failed with, and the first difference from the recording
 * @throws `TransactionError` `AMBIT_OPTION`: the file is no recording, or there is no application
 *
 * @example
 * ```ts
 * import { createServer } from 'node:http';
 * import { replay } from '@ambit/replay/testing';
 *
 * const app = createServer((_, response) => void response.writeHead(201).end());
 * async function isFixed(): Promise<boolean> {
 *   const { status, divergence } = await replay(app, 'test/replays/7f3a1c.json');
 *   return divergence === undefined && status === 201;
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
  recording: Recording,
  { beyond = () => undefined }: ReplayOptions,
): Promise<Replayed> {
  const contexts = new AsyncLocalStorage<Replaying | undefined>();
  const current = (): Replaying | undefined => contexts.getStore();
  const replaying = new Replaying(recording);
  const client = new Client();
  const stops = [
    inFrontOfDrivers(replayDrivers(current, beyond)),
    followRequests(
      contexts,
      (request) => (client.isOf(request) ? replaying : undefined),
      (one, error) => one.failed(error),
    ),
    listen({ 'ambit:statement:sent': () => notePlace(current()) }),
    replaceTimeZone(recording.timeZone),
    replaceDate(() => current()?.now()),
    tapChance((source, make) => current()?.nextRandom(source) ?? make()),
    await replayCalls(current),
  ];
  try {
    const received = await client.send(application, replaying, contexts);
    replaying.finish();
    // What the handler has left behind may still send statements, and so may the disposal of the request.
    for (let quiet = 0; quiet < 5; quiet = replaying.isBusy ? 0 : quiet + 1) await new Promise(setImmediate);
    return resultOf(replaying, received);
  } finally {
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
    body: parsed(text),
    error,
    divergence,
    difference: differenceOf(replaying, status, text),
    recording,
    steps: { recorded: recording.steps.filter(({ kind }) => kind !== 'random').length, replayed: statements.used },
    beyond,
  };
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text) as unknown;
  } catch {
    return text;
  }
}

/** What is another than in the recording, but for what the handler makes by itself. */
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
  return firstDifference(parsed(unpackedBytes(response.body).toString('utf8')), parsed(text), 'body', isSame);
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
