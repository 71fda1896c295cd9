import { withDeps } from '@ambit/express';
import { Router } from 'express';
import { readIdempotencyKey } from '../../http/idempotency-key.js';
import { readPage } from '../../http/page.js';
import { bodyCheck } from '../../http/validate.js';
import { listUsers } from '../../users/list-users.js';
import { createUser, createUserOnce, getUser, onceForUser } from '../../users/use-cases.js';
import { NewUser } from '../../users/user.js';
import { sendAnswer } from './send-answer.js';
import { sendJson } from './send-json.js';

const checkNewUser = bodyCheck(NewUser);

export function userRoutes(): Router {
  const router = Router({ caseSensitive: true, strict: true });

  router.get(
    '/',
    withDeps({ users: 'IUserRepository', audit: 'IAuditLogger' }, async (req, res, deps) => {
      await sendJson(req, res, await listUsers(deps, readPage(req.query)));
    }),
  );

  router.get(
    '/:id',
    withDeps({ users: 'IUserRepository' }, async (req, res, deps) => {
      res.json(await getUser(deps, String(req.params['id'])));
    }),
  );

  router.post(
    '/',
    withDeps(
      { users: 'IUserRepository', audit: 'IAuditLogger', context: 'IRequestContext' },
      async (req, res, { users, audit, context }) => {
        const body = checkNewUser(req.body);
        const extra = { requestId: context.requestId };
        const asked = onceForUser(readIdempotencyKey(req.headers['idempotency-key']), body);
        if (asked) sendAnswer(res, await createUserOnce(req.container, asked, body, extra));
        else res.status(201).json(await createUser({ users, audit }, body, extra));
      },
    ),
  );

  return router;
}
