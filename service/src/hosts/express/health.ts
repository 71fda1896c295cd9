import { withDeps } from '@ambit/express';
import { Router } from 'express';
import { Problem } from '../../problem.js';

export function healthRoutes(): Router {
  const router = Router({ caseSensitive: true, strict: true });

  router.get('/live', (_req, res) => {
    res.json({ status: 'live' });
  });

  router.get(
    '/ready',
    withDeps({ health: 'IHealth' }, async (_req, res, { health }) => {
      const readiness = await health.readiness();
      if (readiness !== 'ready') throw new Problem(503, `Not ready: ${readiness}`);
      res.json({ status: readiness });
    }),
  );

  return router;
}
