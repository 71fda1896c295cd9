import type { IContainer } from '@ambit/container';
import { withTransaction } from '@ambit/express';
import { type Request, type RequestHandler, Router } from 'express';
import { readIdempotencyKey } from '../../http/idempotency-key.js';
import { bodyCheck } from '../../http/validate.js';
import type { Once } from '../../idempotency/once.js';
import { NewOrder } from '../../orders/order.js';
import { holdKey, onceForOrder, placeOrder } from '../../orders/use-cases.js';
import type { HostOptions } from '../host.js';
import { logLate } from './log-late.js';
import { sendAnswer } from './send-answer.js';

const checkNewOrder = bodyCheck(NewOrder);

/** The commit happens when the JSON response is produced: `withTransaction()` holds the answer back until it is done. */
export function orderRoutes({ logger, transaction }: HostOptions): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const onError = logLate(logger, 'The transaction failed to close');
  const onSecondAnswer = logLate(logger, 'A second answer was dropped');

  router.post('/', checkOrder, withTransaction({ ...transaction, onError, onSecondAnswer }), async (req, res) => {
    sendAnswer(res, await placeOrder(req.transactionScope as IContainer, askedOnce(req), orderIn(req)));
  });

  return router;
}

/** Whatever can be refused is refused before a connection is taken. */
const checkOrder: RequestHandler = (req, _res, next) => {
  checkNewOrder(req.body);
  holdKey(req.container, askedOnce(req));
  next();
};

const orderIn = (req: Request): NewOrder => req.body as NewOrder;

const askedOnce = (req: Request): Once | undefined =>
  onceForOrder(readIdempotencyKey(req.headers['idempotency-key']), orderIn(req));
