import { Router } from 'express';
import { referenceAnswer } from '../../api/reference.js';
import { REFERENCE_PATHS } from '../../api/reference-paths.js';

export function referenceRoutes(): Router {
  const router = Router({ caseSensitive: true, strict: true });
  for (const path of REFERENCE_PATHS) {
    router.get(path, (req, res) => {
      const { status, headers, body } = referenceAnswer(path, req.headers);
      res.status(status).set(headers).end(body);
    });
  }
  return router;
}
