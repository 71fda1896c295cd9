import { subscribe } from 'node:diagnostics_channel';
import type { ErrorRequestHandler, Request } from 'express';
import { HttpError } from './errors.js';

const ON_FAILURE = Symbol('ambit.onFailure');

interface Watched {
  [ON_FAILURE]?: (error: unknown) => void;
}

/** What Express's router publishes of each layer it runs. */
interface Layer {
  readonly req: { readonly app?: object };
  readonly res: object;
  readonly error?: unknown;
  readonly errorHandler?: boolean;
  readonly incomingError?: unknown;
}

/** Applications whose router publishes. */
const publishing = new WeakSet<object>();
/** Applications that mount `rollbackOnError`. */
const marking = new WeakSet<object>();
let latest: object | undefined;
let listening = false;

/** Calls `onFailure` when a handler behind this response fails. */
export function watchFailure(res: object, onFailure: (error: unknown) => void): void {
  (res as Watched)[ON_FAILURE] = onFailure;
}

/** Tells whoever watches this response that a handler failed. */
export function markFailed(res: object, error: unknown): void {
  (res as Watched)[ON_FAILURE]?.(error);
}

/**
 * For Express before 5.3, whose router does not tell when a handler fails: mount it before your own error handlers.
 * Newer versions do not need it, and it does no harm there.
 *
 * @example
 * ```ts
 * import express from 'express';
 *
 * const app = express();
 * app.use(rollbackOnError);
 * ```
 */
export const rollbackOnError: ErrorRequestHandler = (error, _req, res, next) => {
  markFailed(res, error);
  next(error);
};

/** Express 5.3 and newer publish every layer they run. Costs nothing to applications without transactions. */
export function listenToRouters(): void {
  if (listening) return;
  listening = true;
  // An error in matching a path is published by nobody, but the error handler it leads to is.
  subscribe('tracing:express.router.request:start', (message) => {
    const { req, res, errorHandler, incomingError } = message as Layer;
    if (req.app && req.app !== latest) publishing.add((latest = req.app));
    if (errorHandler) markFailed(res, incomingError);
  });
  subscribe('tracing:express.router.request:error', (message) => {
    const { res, error } = message as Layer;
    markFailed(res, error);
  });
}

/** Refuses to work where a failure would go unseen, and the work of a handler that failed be committed. */
export function checkFailuresAreSeen(req: Request): void {
  const app = req.app as unknown as App;
  if (publishing.has(app) || marking.has(app)) return;
  if (!isMountedIn(app)) throw new HttpError('AMBIT_HTTP_FAILURES_UNSEEN');
  marking.add(app);
}

type Handle = (...args: never[]) => unknown;

interface App {
  /** Express 4; there, asking for `router` throws. */
  readonly _router?: unknown;
  readonly router?: unknown;
  readonly parent?: App;
}

/** An error that an application does not handle goes on to the one it is mounted in. */
function isMountedIn(app: App | undefined): boolean {
  if (!app) return false;
  const { stack } = (app._router ?? app.router ?? {}) as { stack?: readonly { handle: Handle }[] };
  const first = stack?.find(({ handle }) => handle.length === 4);
  return first?.handle === rollbackOnError || (!first && isMountedIn(app.parent));
}
