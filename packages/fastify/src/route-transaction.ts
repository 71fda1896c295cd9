import type { IContainer } from '@ambit/container';
import {
  checkFunctions,
  checkTimes,
  clearRepresentation,
  CurrentScope,
  invalidOption,
  isServerError,
} from '@ambit/http/host';
import { inOwnContext, type TransactionSettings } from '@ambit/transaction';
import type {
  DoneFuncWithErrOrRes,
  FastifyInstance,
  FastifyReply,
  FastifyRequest,
  onSendHookHandler,
  preHandlerHookHandler,
} from 'fastify';
import { ACTIVE_REQUEST, type FastifyActiveRequest, UNSEEN_ROUTES } from './active-request.js';
import { checkSendable, discard, ignoreErrors, keepsUntilRead } from './payload.js';
import { FailedRequest } from './failed-request.js';
import { goOnAfter } from './go-on-after.js';
import type { RequestTransaction } from './request-transaction.js';
import type { RouteTransactionOptions, TransactionPluginOptions } from './request.js';

/** What the transaction of a request is begun with. */
type SettingsOf = (request: FastifyRequest) => TransactionSettings;

/** Routes with `config: { transaction: ... }` run in a transaction that begins behind all their other hooks. */
export function addRouteTransactions(
  server: FastifyInstance,
  settingsFor: (options: TransactionPluginOptions) => SettingsOf,
): void {
  const made = new WeakMap<RouteTransactionOptions, SettingsOf>();
  const settingsOf = (options: RouteTransactionOptions): SettingsOf => {
    const known = made.get(options);
    if (known) return known;
    const { rollbackOn: _, ...terms } = options;
    const settings = settingsFor(terms);
    made.set(options, settings);
    return settings;
  };
  const begin: preHandlerHookHandler = (request, _reply, done) => {
    const options = optionsOf(request.routeOptions.config.transaction);
    const active = request[ACTIVE_REQUEST];
    if (!options || !active) return done();
    active.routeTransaction = options;
    const begun = (scope: IContainer): void => {
      CurrentScope.of(request.raw)?.enter(scope);
      CurrentScope.run(request.raw, () => done());
    };
    const failed = (error: unknown): void => done(error as Error);
    inOwnContext(() => void active.begin(settingsOf(options)(request)).then(begun, failed));
  };
  // Behind the hooks of the plugins and of the route, which may replace the payload.
  const commit: onSendHookHandler = (request, reply, payload, done) => {
    const active = request[ACTIVE_REQUEST];
    const transaction = active?.routeTransaction && active.transaction;
    if (active && transaction) commitFirst({ active, reply, payload: keepsUntilRead(payload), transaction }, done);
    else done();
  };
  server.addHook('onRoute', (route) => {
    const options = optionsOf(route.config?.transaction);
    if (!options) return;
    server[UNSEEN_ROUTES].delete(route);
    checkTimes(options, 'acquireTimeoutMs', 'timeoutMs', 'endTimeoutMs', 'cancelAfterMs');
    checkFunctions(options, 'rollbackOn', 'onError');
    settingsOf(options);
    const before = listOf(route.preHandler);
    // The HEAD route that Fastify adds to one of GET has the hooks of that.
    if (before.includes(begin)) return;
    route.preHandler = [...before, begin];
    route.onSend = [...listOf(route.onSend), commit];
  });
}

function listOf<Hook>(hooks: Hook | Hook[] = []): readonly Hook[] {
  return Array.isArray(hooks) ? hooks : [hooks];
}

const DEFAULTS: RouteTransactionOptions = {};

function optionsOf(transaction: unknown): RouteTransactionOptions | undefined {
  if (transaction === true) return DEFAULTS;
  if (transaction === undefined || transaction === false) return undefined;
  if (typeof transaction === 'object' && transaction !== null) return transaction;
  throw invalidOption(`config.transaction of a route must be true, false or an object, not ${typeof transaction}`);
}

interface ReadyResponse {
  readonly active: FastifyActiveRequest;
  readonly reply: FastifyReply;
  readonly payload: unknown;
  readonly transaction: RequestTransaction;
}

/** Calls what Fastify waits for: with the error, or with the payload to send. */
export function settle(done: DoneFuncWithErrOrRes, payload: unknown, failure: Error | undefined): void {
  if (failure) done(failure);
  else done(null, payload);
}

/** The response waits for COMMIT, or for ROLLBACK where its status asks for that; an error is sent in its place where COMMIT fails. */
function commitFirst({ active, reply, payload, transaction }: ReadyResponse, done: DoneFuncWithErrOrRes): void {
  let failure: Error | undefined;
  ignoreErrors(payload);
  const decided = reply.statusCode;
  const close = async (): Promise<void> => {
    const status = payload instanceof Response ? payload.status : decided;
    const { rollbackOn = isServerError } = active.routeTransaction ?? {};
    try {
      if (rollbackOn(status)) await transaction.rollback(undefined);
      else {
        await checkSendable(reply, payload);
        await transaction.complete(status);
      }
    } catch (error) {
      failure = error as Error;
      await transaction.rollback(error);
      active.failed ??= new FailedRequest(error);
      clearRepresentation(reply);
      discard(payload);
    }
    active.forget(transaction);
    CurrentScope.of(reply.request.raw)?.leave();
  };
  const goOn = (thrown?: Error): void => {
    // What decided between COMMIT and ROLLBACK is what the client gets, whatever else the handler has set meanwhile.
    if (!(thrown ?? failure) && reply.statusCode !== decided) reply.code(decided);
    settle(done, payload, thrown ?? failure);
  };
  goOnAfter(close(), reply, goOn, { payload });
}
