import { AsyncLocalStorage } from 'node:async_hooks';
import { randomBytes } from 'node:crypto';
import { channel } from 'node:diagnostics_channel';
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { IContainer } from '@ambit/container';
import { TransactionError } from '@ambit/transaction';
import { checkCount, checkFunction, checkTime, inFrontOfDrivers } from '@ambit/transaction/extension';
import { followRequests, listen } from './arrivals.js';
import { recordCalls, tapBody, tapWrites } from './calls.js';
import { pairsOf } from './data.js';
import { Folder } from './files.js';
import { tapChance } from './globals.js';
import { replays } from './in-progress.js';
import { recordDrivers } from './record-database.js';
import { Kept, OpenRecording } from './open-recording.js';
import type { Outcome, Recording } from './recording.js';
import { redact, type RedactOptions } from './redact.js';
import { testOf } from './test-file.js';

/** Which requests are kept, where, and what is replaced in them. */
export interface RecordOptions {
  /** A folder for the recordings, which only the owner of the process can read. It is made where it is missing. */
  readonly folder?: string;
  /** Called with each recording, in place of the folder. */
  readonly keep?: (recording: Recording) => unknown;
  /** Says whether a request is kept. Default: those with a status of 500 or more. */
  readonly when?: (outcome: Outcome) => boolean;
  /** Requests that take longer are kept as well. Default: none. */
  readonly slowMs?: number;
  /** Keeps the response, too, so that `ambit replay --all` can compare it. Default false. */
  readonly responses?: boolean;
  /** Further columns, headers, paths and patterns to replace. */
  readonly redact?: RedactOptions;
  /** Bytes of one recording at most; it says what is missing. Default 64 KB. */
  readonly maxBytes?: number;
  /** Files in the folder at most; further failures are not written. Default 100. */
  readonly maxFiles?: number;
}

/** Records until it is stopped: by `stop()`, at the end of the block of a `using`, or by the disposal of its container. */
export interface Recorder extends Disposable {
  /** The number of requests that were kept. */
  readonly kept: number;
  /** The number of requests that were not, because the folder was full or the disk slow. */
  readonly dropped: number;
  /**
   * Records the requests of a fetch handler, which no server of Node receives, as on Bun, Deno and in Workers.
   *
   * @param handler - the handler
   * @returns a handler to use in its place
   */
  fetch<A extends unknown[]>(
    handler: (request: Request, ...rest: A) => Response | Promise<Response>,
  ): (request: Request, ...rest: A) => Promise<Response>;
  /** Stops recording: nothing of it stays in the process. */
  stop(): void;
}

const KILOBYTE = 1024;
/** `{ request, recording, test, file }`, after a recording was kept. */
const recorded = channel('ambit:request:recorded');

/**
 * Records what the handlers of failing requests have read from outside: the request, rows, random values, responses of other servers.
 * `replay()` of `@ambit/replay/testing` runs the handler again with all of it, without a database. Secrets are replaced before anything is kept.
 *
 * @param container - of the application; its disposal stops the recorder
 * @param options - which requests are kept, where, and what is replaced in them
 * @returns the recorder
 * @throws `TransactionError` `AMBIT_OPTION`: neither a folder nor `keep` is given, or another option is invalid
 *
 * @example
 * ```ts
 * import { Container } from '@ambit/container';
 * import { record } from '@ambit/replay';
 *
 * const container = new Container({ tags: ['application'] });
 * record(container, { folder: 'recordings', redact: { columns: ['birthday'], paths: ['person.name'] } });
 * ```
 */
export function record(container: IContainer, options: RecordOptions): Recorder {
  const { folder, keep, when = isFailure, slowMs = Infinity, responses = false, maxBytes = 64 * KILOBYTE } = options;
  check(options);
  const files = folder === undefined ? undefined : new Folder(folder, options.maxFiles ?? 100);
  const contexts = new AsyncLocalStorage<OpenRecording | undefined>();
  const current = (): OpenRecording | undefined => contexts.getStore();
  const counts = { kept: 0, dropped: 0 };

  const finish = (recording: OpenRecording, status: number | undefined, left: number | undefined): void => {
    if (recording.isOver) return;
    recording.isOver = true;
    const { error, milliseconds } = recording;
    // Nearly every request: no outcome is made for it.
    if (!options.when && status !== undefined && status < FAILURE && milliseconds < slowMs) return;
    const outcome: Outcome = {
      ...(status !== undefined && { status }),
      ...(error && { error }),
      milliseconds: Math.round(milliseconds * 10) / 10,
      ...(left !== undefined && { leftAfter: left }),
    };
    // A fault here, such as one of the application's when(), must not reach the request.
    try {
      if (when(outcome) || milliseconds >= slowMs) store(recording, outcome).catch(warn);
    } catch (error_) {
      warn(error_);
    }
  };
  const store = async (open: OpenRecording, outcome: Outcome): Promise<void> => {
    if (files?.isFull) return void (counts.dropped += 1);
    const id = randomBytes(3).toString('hex');
    const recording = redact(open.toRecording(id, outcome, responses), options.redact ?? {});
    const file = files ? await files.keep(recording) : await keep?.(recording);
    const isKept = files === undefined || file !== undefined;
    counts[isKept ? 'kept' : 'dropped'] += 1;
    if (!isKept || !recorded.hasSubscribers) return;
    const test = await testOf(recording);
    recorded.publish({ request: open.request, recording, test, ...(files && { file }) });
  };
  const warn = (error: unknown): void => {
    counts.dropped += 1;
    process.emitWarning(`A recording was not kept: ${String(error)}`, { type: 'ReplayWarning' });
  };

  const begin = (request: IncomingMessage, response: ServerResponse): OpenRecording | undefined => {
    if (replays.inProgress > 0) return undefined;
    const { method = '', url = '', rawHeaders } = request;
    const recording = new OpenRecording(request, { method, url, rawHeaders }, maxBytes);
    const { 'content-length': length = '0', 'transfer-encoding': coding } = request.headers;
    if (length !== '0' || coding !== undefined)
      tapBody(request, (recording.body = new Kept(recording, 'the body of the request')));
    if (responses) tapResponse(response, recording);
    response.once('close', () => {
      const isSent = response.writableFinished;
      finish(recording, isSent ? response.statusCode : undefined, isSent ? undefined : recording.begun);
    });
    return recording;
  };

  const stops = [
    followRequests(contexts, begin, (recording, error) => recording.failed(error)),
    listen({ 'ambit:transaction:acquired': () => noteForeignPool(current()) }),
    inFrontOfDrivers(recordDrivers(current)),
    recordCalls(current),
    tapChance((source, make) => {
      const value = make();
      current()?.addRandom(source(), value);
      return value;
    }),
  ];
  let isStopped = false;
  const stop = (): void => {
    if (isStopped) return;
    isStopped = true;
    for (const one of stops.toReversed()) one();
    contexts.disable();
  };
  container.defer?.(stop);

  return {
    get kept() {
      return counts.kept;
    },
    get dropped() {
      return counts.dropped;
    },
    fetch:
      (handler) =>
      async (request, ...rest) => {
        if (replays.inProgress > 0) return handler(request, ...rest);
        const { method, url, headers } = request;
        const recording = new OpenRecording(request, { method, url, rawHeaders: [...headers].flat() }, maxBytes);
        const copy = request.body ? request.clone() : undefined;
        return contexts.run(recording, async () => {
          if (copy) {
            recording.body = new Kept(recording, 'the body of the request');
            recording.body.add(new Uint8Array(await copy.arrayBuffer()));
          }
          const left = (): void => finish(recording, undefined, recording.begun);
          request.signal.addEventListener('abort', left);
          try {
            const response = await handler(request, ...rest);
            if (responses) {
              recording.responseHeaders = [...response.headers];
              const body = (recording.response = new Kept(recording, 'the body of the response'));
              if (response.body) body.add(new Uint8Array(await response.clone().arrayBuffer()));
            }
            finish(recording, response.status, undefined);
            return response;
          } catch (error) {
            recording.failed(error);
            finish(recording, 500, undefined);
            throw error;
          } finally {
            request.signal.removeEventListener('abort', left);
          }
        });
      },
    stop,
    [Symbol.dispose]: stop,
  };
}

const FAILURE = 500;
const isFailure = ({ status = 0 }: Outcome): boolean => status >= FAILURE;

function check(options: RecordOptions): void {
  checkFunction('keep', options.keep);
  checkFunction('when', options.when);
  checkTime('slowMs', options.slowMs);
  checkCount('maxBytes', options.maxBytes, 1);
  checkCount('maxFiles', options.maxFiles, 1);
  if ((options.folder === undefined) === (options.keep === undefined))
    throw new TransactionError('AMBIT_OPTION', 'record() needs either a folder or a function keep()');
}

/** A transaction has a connection, and no driver of ours has given one. */
function noteForeignPool(recording: OpenRecording | undefined): void {
  if (recording?.wires === 0)
    recording.note('all statements: the pool is not one of @ambit/transaction or @ambit/drivers');
}

function tapResponse(response: ServerResponse, recording: OpenRecording): void {
  tapWrites(response, (recording.response = new Kept(recording, 'the body of the response')));
  response.once('finish', () => (recording.responseHeaders = pairsOf(response.getHeaders())));
}
