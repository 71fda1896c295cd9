import { subscribe } from 'node:diagnostics_channel';
import type { ErrorRequestHandler, Request, RequestHandler } from 'express';
import { HttpError } from './errors.js';

const ON_FAILURE = Symbol('ambit.onFailure');
/** Where Express's router keeps the errors of a request that it knows of, to publish none of them twice. */
const KNOWN_ERRORS = Symbol.for('router.tracing.publishedErrors');
const NONE: readonly unknown[] = [];

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
/** Applications in which `rollbackOnError` hears of every failure first. */
const marking = new WeakSet<object>();
/** Handlers behind which a transaction is open. */
const opening = new WeakSet<object>();
let latest: object | undefined;
let listening = false;

/** Calls `onFailure` when a handler behind this response fails. */
export function watchFailure(res: object, onFailure: (error: unknown) => void): void {
  (res as Watched)[ON_FAILURE] = onFailure;
}

/** All that Express's router knows to have failed: what fails in `res.render()`, say, is handed to it unpublished. */
export function knownFailures(req: object): readonly unknown[] {
  const errors = (req as { [KNOWN_ERRORS]?: Iterable<unknown> })[KNOWN_ERRORS];
  return errors ? [...errors] : NONE;
}

/** Tells whoever watches this response that a handler failed. */
export function markFailed(res: object, error: unknown): void {
  (res as Watched)[ON_FAILURE]?.(error);
}

/**
 * For Express before 5.3, whose router does not tell when a handler fails: mount it right before your own error
 * handlers, also in a router, on a route or in a mounted application that has its own. Newer versions do not need it, and
 * it does no harm there.
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
  let way = goThrough(stackOf(app), { open: false, unseen: false });
  // A function of the application's opens it, anywhere.
  if (!way.open) way = goThrough(stackOf(app), { open: true, unseen: true });
  for (let around = app.parent; around; around = around.parent) way = goThrough(stackOf(around), way);
  if (way.unseen) throw new HttpError('AMBIT_HTTP_FAILURES_UNSEEN');
  marking.add(app);
}

/** Tells of a handler that it opens transactions. */
export function opensTransactions(handler: RequestHandler): RequestHandler {
  opening.add(handler);
  return handler;
}

type Handle = (...args: never[]) => unknown;

/** Handlers in the order in which Express asks them, which is that in which an error passes them. */
type Stack = readonly {
  readonly handle: Handle & { readonly stack?: Stack };
  readonly route?: { readonly stack: Stack } | undefined;
}[];

interface App {
  /** Express 4; there, asking for `router` throws. */
  readonly _router?: unknown;
  readonly router?: unknown;
  readonly parent?: App;
}

function stackOf(app: App): Stack {
  const { stack = [] } = (app._router ?? app.router ?? {}) as { stack?: Stack };
  return stack;
}

interface Way {
  /** Whether a transaction may be open. */
  readonly open: boolean;
  /** Whether an error in one may come that `rollbackOnError` has not seen. */
  readonly unseen: boolean;
}

/** What may leave these handlers, given what may come. Which of them have a path that leads elsewhere, it does not ask. */
function goThrough(stack: Stack, start: Way): Way {
  let { open, unseen } = start;
  for (const { handle, route } of stack) {
    const inner = route?.stack ?? handle.stack;
    if (handle === rollbackOnError) unseen = false;
    else if (handle.length === 4) {
      if (unseen) throw new HttpError('AMBIT_HTTP_FAILURES_UNSEEN');
    } else if (inner) {
      // An error passes it over.
      const way = goThrough(inner, { open, unseen: false });
      open = way.open;
      unseen ||= way.unseen;
    } else {
      open ||= opening.has(handle);
      unseen ||= open;
    }
  }
  return { open, unseen };
}
