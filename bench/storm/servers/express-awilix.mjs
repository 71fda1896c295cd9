import { scopePerRequest } from 'awilix-express';
import express from 'express';
import { awilixContainer } from '../containers.mjs';
import { listen } from '../listen.mjs';
import { inTransaction, Orders } from '../service.mjs';

export async function start(pool) {
  const app = express();
  app.use(scopePerRequest(awilixContainer()));
  app.use((req, res, next) => {
    req.container.resolve('context');
    next();
  });
  app.use(express.json());
  app.get('/products', async (req, res) => {
    res.json(await req.container.resolve('products').list());
  });
  app.post('/orders', async (req, res) => {
    res.status(201).json(await inTransaction(pool, (connection) => new Orders(connection).create(req.body)));
  });
  return { port: await listen(app) };
}
