import { openScopes } from '@ambit/container/tools';
import { containerMiddleware, resolve, withDeps, withTransaction } from '@ambit/express';
import express from 'express';
import { ambitContainer } from '../containers.mjs';
import { listen } from '../listen.mjs';

export const contestant = {
  title: 'ambit, Express',
  package: '@ambit/express',
  start(pool) {
    const container = ambitContainer(pool);
    this.open = () => openScopes(container).length;
    const app = express();
    app.use(containerMiddleware(container));
    app.use((req, res, next) => {
      resolve(req, 'IContext');
      next();
    });
    app.use(express.json());
    app.get(
      '/products',
      withDeps({ products: 'IProducts' }, async (req, res, { products }) => {
        res.json(await products.list());
      }),
    );
    app.post('/orders', withTransaction(), async (req, res) => {
      res.status(201).json(await req.transactionScope.resolve('IOrders').create(req.body));
    });
    return listen(app);
  },
};
