import type { IContainer } from '@ambit/container';
import { withTransaction } from '@ambit/express';
import { type Request, type RequestHandler, Router } from 'express';
import { bodyCheck } from '../../http/validate.js';
import type { IdempotentRequest } from '../../idempotency/idempotent-request.js';
import { NewOrder } from '../../orders/order.js';
import { idempotentOrder, lockKey, placeOrder } from '../../orders/use-cases.js';
import type { HostOptions } from '../host.js';
import { logError } from './errors.js';
import { takeBody } from './middleware.js';

const checkNewOrder = bodyCheck(NewOrder);

/** `withTransaction()` commits when the handler calls `res.json()`, and sends the response after COMMIT. */
export function orderRoutes({ logger, transaction }: HostOptions): Router {
  const router = Router({ caseSensitive: true, strict: true });
  const onError = logError(logger, 'The transaction failed to close');
  const onSecondResponse = logError(logger, 'A second response was dropped');

  router.post('/', checkOrder, withTransaction({ ...transaction, onError, onSecondResponse }), async (req, res) => {
    const { status, headers, body } = await placeOrder(
      req.transactionScope as IContainer,
      idempotentOrderIn(req),
      orderIn(req),
    );
    res.status(status).set(headers).json(body);
  });

  return router;
}

/** Everything that can be refused is refused before a connection is acquired. */
const checkOrder: RequestHandler = (req, _res, next) => {
  req.body = checkNewOrder(takeBody(req));
  lockKey(req.container, idempotentOrderIn(req));
  next();
};

const orderIn = (req: Request): NewOrder => req.body as NewOrder;

const idempotentOrderIn = (req: Request): IdempotentRequest | undefined =>
  idempotentOrder(req.headers['idempotency-key'], orderIn(req));
