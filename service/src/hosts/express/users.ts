import { Readable } from 'node:stream';
import { pipeline } from 'node:stream/promises';
import { withDeps } from '@ambit/express';
import { type Request, type Response, Router } from 'express';
import { JSON_TYPE } from '../../http/response.js';
import { bodyCheck } from '../../http/validate.js';
import { discard, listUsers } from '../../users/list-users.js';
import { createUser, getUser } from '../../users/use-cases.js';
import { NewUser } from '../../users/user.js';
import { takeBody } from './middleware.js';

const checkNewUser = bodyCheck(NewUser);

export function userRoutes(): Router {
  const router = Router({ caseSensitive: true, strict: true });

  router.get(
    '/',
    withDeps({ users: 'IUserRepository', audit: 'IAuditLogger' }, async (req, res, services) => {
      const list = await listUsers(services, req.query);
      if (list instanceof Readable) await sendStream(req, res, list);
      else res.json(list);
    }),
  );

  router.get(
    '/:id',
    withDeps({ users: 'IUserRepository' }, async (req, res, { users }) => {
      res.json(await getUser(users, String(req.params['id'])));
    }),
  );

  router.post(
    '/',
    withDeps({ context: 'IRequestContext' }, async (req, res, { context: { requestId } }) => {
      const data = checkNewUser(takeBody(req));
      const key = req.headers['idempotency-key'];
      const { status, headers, body } = await createUser(req.container, key, data, { requestId });
      res.status(status).set(headers).json(body);
    }),
  );

  return router;
}

/** Sends a stream of JSON text. Rejects when the stream fails, but not when the client disconnects. */
async function sendStream({ method }: Request, res: Response, stream: Readable): Promise<void> {
  res.setHeader('content-type', JSON_TYPE);
  if (method === 'HEAD') {
    await discard(stream);
    res.end();
    return;
  }
  await pipeline(stream, res).catch((error: unknown) => {
    if ((error as NodeJS.ErrnoException).code !== 'ERR_STREAM_PREMATURE_CLOSE') throw error;
  });
}
