import type { ErrorRequestHandler } from 'express';

/** The open transaction of a request. */
export interface FailureWatcher {
  /** Called with the error of a handler that failed. */
  fail(error: unknown): void;
  /** The router (its `next`) that called the last handler whose failure would be reported. */
  seenIn: unknown;
  /** While an error handler is being called. */
  isHandlingError: boolean;
  /** The handlers behind it have failed, or have responded: what comes now is no part of it. */
  readonly isOver: boolean;
  /** There was a response. */
  readonly isAnswered: boolean;
  /** The error handlers were called in place of a handler that is still running. */
  readonly isTooLate: boolean;
  /** Whether `next(error)` must wait, and will be called, because it is still open which error the handlers get. */
  hold(next: (error?: unknown) => void, error: unknown): boolean;
}

const WATCHED = Symbol('ambit.watched');

interface Watched {
  /** Without a transaction, the router that called the last handler: one property instead of two, for speed. */
  [WATCHED]?: FailureWatcher | ((...args: never[]) => unknown) | undefined;
}

export function watchFailures(req: object, watcher: FailureWatcher): void {
  watcher.seenIn = (req as Watched)[WATCHED];
  (req as Watched)[WATCHED] = watcher;
}

export function watcherOf(req: object): FailureWatcher | undefined {
  const watched = (req as Watched)[WATCHED];
  return typeof watched === 'object' ? watched : undefined;
}

/** Called for every handler of every request. */
export function noteRouter(req: object, next: Watched[typeof WATCHED]): FailureWatcher | undefined {
  const watched = (req as Watched)[WATCHED];
  if (typeof watched === 'object') watched.seenIn = next;
  else (req as Watched)[WATCHED] = next;
  return typeof watched === 'object' ? watched : undefined;
}

/**
 * Not needed any more: `withTransaction()` learns by itself that a handler failed, on every version of Express. It does no
 * harm.
 *
 * @example
 * ```ts
 * import express from 'express';
 *
 * const app = express();
 * app.use(rollbackOnError);
 * ```
 */
export const rollbackOnError: ErrorRequestHandler = (error, req, _res, next) => {
  watcherOf(req)?.fail(error);
  next(error);
};
