import { openScopes } from '@ambit/container/tools';
import { createHandler, withTransaction } from '@ambit/fetch';
import { ambitContainer } from '../containers.mjs';
import { serveFetch } from '../serve-fetch.mjs';

/** On whichever runtime it is started. */
export async function startFetch(pool) {
  const container = ambitContainer(pool);
  const placeOrder = withTransaction(async (request, scope) =>
    Response.json(await scope.resolve('IOrders').create(await request.json()), { status: 201 }),
  );
  const handler = createHandler(
    container,
    async (request, scope, context) => {
      scope.resolve('IContext');
      if (request.method === 'POST') return placeOrder(request, scope, context);
      return Response.json(await scope.resolve('IProducts').list());
    },
    { onError: () => Response.json({ error: 'failed' }, { status: 500 }) },
  );
  return { port: await serveFetch(handler), open: () => openScopes(container).length };
}
