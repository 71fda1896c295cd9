import { finished } from 'node:stream/promises';
import { type Transaction, TransactionError, type TransactionOptions, TransactionStart } from '@ambit/transaction';
import type { Request, RequestHandler, Response } from 'express';
import { HttpError } from './errors.js';
import { checkFailuresAreSeen, knownFailures, listenToRouters, opensTransactions, watchFailure } from './failure.js';
import { Gate } from './gate.js';
import { report } from './report.js';
import { scopeOf } from './request.js';
import { RequestLife } from './request-life.js';

export interface WithTransactionOptions extends Omit<TransactionOptions, 'onError' | 'signal'> {
  /** Told of failures that change no outcome. Default: a process warning. */
  readonly onError?: (error: TransactionError, req: Request) => void;
  /** Whether an answer of this status rolls back. Default: none does; only a failure does. */
  readonly rollbackOn?: (status: number) => boolean;
  /** Told of an answer that was dropped because another one came first. Default: `console.error`. */
  readonly onSecondAnswer?: (error: unknown, req: Request) => void;
}

/**
 * Runs the handlers behind it in a transaction, with its scope as `req.transactionScope`. Their first answer is held
 * back until COMMIT is answered. A handler that fails, and a client that leaves, roll back at once.
 *
 * @example
 * ```ts
 * import type { IContainer } from '@ambit/container';
 * import express from 'express';
 *
 * declare const container: IContainer;
 * const app = express();
 * app.use(containerMiddleware(container), express.json());
 * app.post('/api/orders', withTransaction({ isolation: 'serializable' }), async (req, res) => {
 *   const orders = req.transactionScope?.resolve<{ create(body: unknown): Promise<object> }>('IOrderRepository');
 *   res.status(201).json(await orders?.create(req.body));
 * });
 * ```
 */
export function withTransaction(options: WithTransactionOptions = {}): RequestHandler {
  listenToRouters();
  const { onError, ...others } = options;
  return opensTransactions(async function transaction(req, res, next) {
    try {
      await open(req, res, onError ? { ...others, onError: (error) => onError(error, req) } : others, next);
    } catch (error) {
      return next(error);
    }
    next();
  });
}

interface OpenOptions extends Omit<WithTransactionOptions, 'onError'>, Pick<TransactionOptions, 'onError'> {}

async function open(req: Request, res: Response, options: OpenOptions, next: (error: unknown) => void): Promise<void> {
  const scope = scopeOf(req, 'withTransaction()');
  if (req.transactionScope) throw new HttpError('AMBIT_HTTP_TRANSACTION_STARTED');
  checkFailuresAreSeen(req);
  const failedBefore = knownFailures(req);
  const { rollbackOn, onSecondAnswer } = options;
  const start = new TransactionStart(scope, options);
  lifeOf(req, res).onGone((reason) => abort(start, reason));
  const transaction = await start.begun;
  req.transactionScope = transaction.scope;

  let failure: { readonly error: unknown } | undefined;
  const decide = async (status: number): Promise<void> => {
    let rollsBack = true;
    try {
      rollsBack = failure !== undefined || (rollbackOn?.(status) ?? false);
    } finally {
      if (rollsBack) await transaction.rollback(failure?.error);
    }
    if (!rollsBack) await commit(transaction, status);
  };
  const fail = (error: unknown): void => {
    // The first answer decides: what fails after it changes nothing.
    if (!gate.forget()) return;
    failure ??= { error };
    void transaction.rollback(error);
  };
  const gate = new Gate(res, {
    onFirstAnswer: () => {
      for (const error of knownFailures(req)) if (!failedBefore.includes(error)) fail(error);
    },
    decide: async (status) => {
      try {
        await decide(status);
      } catch (error) {
        await readRest(req);
        throw error;
      }
    },
    onRefused: next,
    onSecondAnswer: () => {
      report(onSecondAnswer, new HttpError('AMBIT_HTTP_SECOND_ANSWER', `${req.method} ${req.originalUrl}`), req);
    },
  });
  watchFailure(res, fail);
}

/** A transaction that could not commit for a reason the handler knew, or could know, allows the answer to say so. */
const KNOWN_BEFORE: ReadonlySet<string> = new Set(['AMBIT_TX_ENDED', 'AMBIT_TX_FAILED']);

async function commit(transaction: Transaction, status: number): Promise<void> {
  try {
    await transaction.commit();
  } catch (error) {
    if (status >= 400 && error instanceof TransactionError && KNOWN_BEFORE.has(error.code)) return;
    throw error;
  }
}

/**
 * Express's own error handler sees that nothing was sent, then waits until the request is read, then answers. A second
 * answer of the handler in between would end the process, so the waiting is done before it, behind the gate; for the end
 * of an upload, too, unless its client leaves.
 */
async function readRest(req: Request): Promise<void> {
  if (!req.readable) return;
  req.resume();
  await finished(req).catch(() => undefined);
}

function lifeOf(req: Request, res: Response): RequestLife {
  // The life has ended already, or the application opened the scope by other means than our middleware.
  return RequestLife.of(req, res) ?? new RequestLife(req, res, () => undefined);
}

/** The client is gone, and nobody waits for the work any more. */
function abort(start: TransactionStart, reason: HttpError): void {
  const { transaction } = start;
  if (!transaction) void start.rollback(reason);
  else void transaction.rollback(new TransactionError('AMBIT_TX_ABORTED', reason.message, { cause: reason }));
}
