import { Router } from 'express';
import { METRICS_PATH, METRICS_TYPE } from '../../http/metrics.js';

export function metricsRoutes(metrics: () => Promise<string>): Router {
  const router = Router({ caseSensitive: true, strict: true });
  router.get(METRICS_PATH, async (_req, res) => {
    res.type(METRICS_TYPE).send(await metrics());
  });
  return router;
}
