import type { AddressInfo } from 'node:net';
import { containerMiddleware, drain, withDeps, withTransaction } from '@ambit/express';
import express, { type NextFunction, type Request, type Response } from 'express';
import { openApplication, tryOut, type Order } from './orders.js';

const container = await openApplication();
const app = express();
app.use(containerMiddleware(container), express.json());
app.post('/orders', withTransaction(), async (req, res) => {
  const { product } = req.body as Order;
  const order: Order | undefined = await req.transactionScope?.resolve('IOrderRepository').create(product);
  if (product === 'broken') throw new Error('after the INSERT');
  res.status(201).json(order);
});
app.get(
  '/orders',
  withDeps({ orders: 'IOrderList' }, async (_req, res, { orders }) => {
    const all: Order[] = await orders.all();
    res.json(all);
  }),
);
app.use((_error: unknown, _req: Request, res: Response, _next: NextFunction) => {
  res.status(500).json({ error: 'Internal Server Error' });
});

const server = app.listen(0, '127.0.0.1');
await new Promise((resolve) => server.once('listening', resolve));
await tryOut((server.address() as AddressInfo).port);
await drain(server);
await container.dispose();
