import { channel } from 'node:diagnostics_channel';
import type { IncomingMessage } from 'node:http';
import type { HeldResponse } from '@ambit/http/node';

/*
 * The private parts of Express that this package uses; no other file does. Express 4.22, 5.1 (router 2.2) and 5.3 (router 2.3) are tested.
 *
 * | field                                                | why nothing public does it                                                             | where it is missing                                                             |
 * | ---------------------------------------------------- | -------------------------------------------------------------------------------------- | ------------------------------------------------------------------------------- |
 * | `handleRequest`, `handleError` of layers             | no version before 5.3 reports that a handler failed, and 5.3 not all failures          | a warning, once; routes with a transaction roll back and respond with 500       |
 * | `req.next`                                           | names the router in charge, and none behind all handlers, where Express itself responds | the same, for each response                                                     |
 * | `stack` of a router, `router` and `_router` of an app | the layers are reached by them                                                         | the same                                                                        |
 */
const CALLS_HANDLER = ['handleRequest', 'handle_request'] as const;
const CALLS_ERROR_HANDLER = ['handleError', 'handle_error'] as const;

const OBSERVED = Symbol('ambit.observed');

/** `{ error }`, after a handler failed or passed an error on. */
const handlerFailed = channel('ambit:handler:failed');

type Next = (error?: unknown) => void;
type CallHandler = (this: Layer, req: RoutedRequest, res: object, next: Next) => unknown;
type CallErrorHandler = (this: Layer, error: unknown, req: RoutedRequest, res: object, next: Next) => unknown;

interface LayerPrototype
  extends
    Partial<Record<(typeof CALLS_HANDLER)[number], CallHandler>>,
    Partial<Record<(typeof CALLS_ERROR_HANDLER)[number], CallErrorHandler>> {
  [OBSERVED]?: true;
}

interface Layer {
  /** A router, if it has layers of its own. */
  readonly handle: { readonly stack?: readonly Layer[] };
}

interface App {
  /** The router of Express 4, where reading `router` throws. */
  readonly _router?: { readonly stack: readonly Layer[] };
  readonly router?: { readonly stack: readonly Layer[] };
  readonly parent?: App;
  [OBSERVED]?: true;
}

interface RoutedRequest {
  readonly app?: App;
  readonly next?: Next;
}

let areUsed = false;

/** Costs nothing to applications without transactions that nobody observes. */
export function useTransactions(): void {
  areUsed = true;
}

/** Called as early as possible, so that routers of other copies of Express are observed before a request enters them. */
export function enter(req: IncomingMessage): void {
  if (areUsed || handlerFailed.hasSubscribers) observeRouters(req);
}

/** From now on the routers of this request's application, and all that are mounted in them, report failed handlers. */
export function observeRouters(req: object): void {
  let { app } = req as RoutedRequest;
  for (; app && !app[OBSERVED]; app = app.parent) {
    observe((app._router ?? app.router)?.stack);
    app[OBSERVED] = true;
  }
}

/**
 * Tells if the response that is being sent comes from a handler whose failure we would have seen. It does not where another
 * copy of Express was called by a function, or is mounted as an application, and behind all routers.
 */
export function wouldSeeFailure(req: object): boolean {
  const { next } = req as RoutedRequest;
  return next !== undefined && next === watchOf(req)?.seenIn;
}

/** Each copy of Express has layers of its own, which share a prototype. */
function observe(stack: readonly Layer[] | undefined): void {
  if (!stack?.[0]) return;
  const prototype = Object.getPrototypeOf(stack[0]) as LayerPrototype;
  if (prototype[OBSERVED]) return;
  prototype[OBSERVED] = true;
  for (const name of CALLS_HANDLER) {
    if (prototype[name]) prototype[name] = observeHandlers(prototype[name]);
  }
  for (const name of CALLS_ERROR_HANDLER) {
    if (prototype[name]) prototype[name] = reportFailures(prototype[name]);
  }
  if (CALLS_HANDLER.some((name) => prototype[name])) return;
  const what =
    'This version of Express does not say which handlers fail: routes with withTransaction() roll back and respond with 500';
  process.emitWarning(what, { code: 'AMBIT_HTTP_FAILURES_UNSEEN' });
}

function observeHandlers(call: CallHandler): CallHandler {
  return function (req, res, next) {
    // A router may be of another copy.
    if (this.handle.stack) observe(this.handle.stack);
    // Noted for every handler of every request, so without a call: the router is in charge of it.
    const watched = (req as Watched)[WATCHED];
    const held = typeof watched === 'object' ? watched.held : undefined;
    if (typeof watched === 'object') watched.seenIn = req.next;
    else (req as Watched)[WATCHED] = req.next;
    const goOn = held && !held.isReplaced ? nextInTime(held, next) : next;
    return call.call(this, req, res, handlerFailed.hasSubscribers ? published(goOn) : goOn);
  };
}

function published(next: Next): Next {
  return (error) => {
    // `next('router')` and `next('route')` are no failures.
    if (error instanceof Error) handlerFailed.publish({ error });
    next(error);
  };
}

/**
 * After the transaction was replaced by an error response, a late failure must not reach Express's final handler, which would destroy
 * the socket. It would do so, too, where a head counts as sent: `fail()` takes that back before `next()`.
 */
function nextInTime(held: HeldResponse, next: Next): Next {
  return (error) => {
    if (error && held.isOfDisconnect(error)) return;
    if (held.isReplaced) return held.reportLate(error);
    if (held.hold(next, error)) return;
    if (held.isError(error)) held.fail(error);
    next(error);
  };
}

function reportFailures(call: CallErrorHandler): CallErrorHandler {
  return function (error, req, res, next) {
    const held = heldResponseOf(req);
    if (!held) return call.call(this, error, req, res, next);
    held.fail(error);
    const goOn: Next = (failure) => {
      if (!held.isTooLate || !held.hasResponse) next(failure);
    };
    return held.runErrorHandler(() => call.call(this, error, req, res, goOn));
  };
}

const WATCHED = Symbol('ambit.watched');

/** The open transaction of a request. */
interface Watch {
  readonly held: HeldResponse;
  /** The router (its `next`) that called the last handler whose failure would be reported. */
  seenIn: unknown;
}

interface Watched {
  /** Without a transaction, the router that called the last handler: one property instead of two, for speed. */
  [WATCHED]?: Watch | ((...args: never[]) => unknown) | undefined;
}

function watchOf(req: object): Watch | undefined {
  const watched = (req as Watched)[WATCHED];
  return typeof watched === 'object' ? watched : undefined;
}

/** From now on failures of the request's handlers roll back. */
export function watchFailures(req: object, held: HeldResponse): void {
  (req as Watched)[WATCHED] = { held, seenIn: (req as Watched)[WATCHED] };
}

export function heldResponseOf(req: object): HeldResponse | undefined {
  return watchOf(req)?.held;
}

/** Express's own methods, such as `res.render()`, pass their failures to `req.next`; from now on only as long as `isOpen` says. */
export function guardNext(req: object, isOpen: () => boolean): void {
  const routed = req as { next?: Next | undefined };
  const { next } = routed;
  routed.next = (failure) => {
    if (isOpen()) next?.(failure);
  };
}
