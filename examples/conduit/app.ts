import { containerMiddleware } from '@ambit/express';
import express, { type Express } from 'express';
import { ApiError, sendError } from './errors.ts';
import { api } from './routes.ts';

/** @param scopes - the application container, or in tests a function that finds the sandbox of a request */
export function createApp(scopes: Parameters<typeof containerMiddleware>[0]): Express {
  const app = express();
  app.use(
    containerMiddleware(scopes, {
      register: (scope, { headers }) => scope.register('authorization', () => headers.authorization ?? ''),
    }),
    express.json(),
  );
  app.use('/api', api);
  app.use(() => {
    throw new ApiError(404, { address: ['not found'] });
  });
  return app.use(sendError);
}
