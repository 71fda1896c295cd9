import { openScopes } from '@ambit/container/tools';
import { containerMiddleware, requireTransactionScope, resolve, withDeps, withTransaction } from '@ambit/express';
import { ambitContainer } from '../containers.mjs';
import { listen } from '../listen.mjs';

/** On either major version: Express 4 sees only those promises reject that `withDeps()` returns. */
export async function startExpress(express, pool) {
  const container = ambitContainer(pool);
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
  app.post(
    '/orders',
    withTransaction(),
    withDeps({}, async (req, res) => {
      res.status(201).json(await requireTransactionScope(req).resolve('IOrders').create(req.body));
    }),
  );
  return { port: await listen(app), open: () => openScopes(container).length };
}
