// GET /users and POST /users on Express, in memory. PORT says where to listen; without it, on 3000.
import { randomUUID } from 'node:crypto';
import { realpathSync } from 'node:fs';
import type { AddressInfo } from 'node:net';
import { Container, lifetimes, type Services } from '@ambit/container';
import { containerMiddleware, disposeOnSignal, withDeps } from '@ambit/express';
import express, { type ErrorRequestHandler, type Express } from 'express';

interface NewUser {
  name: string;
  email: string;
}
interface User extends NewUser {
  id: string;
}

interface ILogger {
  info(message: string, data: object): void;
  error(message: string, error: unknown): void;
}
interface IAuditLogger {
  log(action: string, data: object): Promise<void>;
}
interface IUserRepository {
  findAll(): Promise<User[]>;
  create(data: NewUser): Promise<User>;
}
interface IRequestContext {
  readonly requestId: string;
}

class AuditLogger implements IAuditLogger {
  readonly #logger: ILogger;
  constructor(logger: ILogger) {
    this.#logger = logger;
  }

  async log(action: string, data: object): Promise<void> {
    this.#logger.info(`AUDIT: ${action}`, data);
  }
}

class UserRepository implements IUserRepository {
  readonly #list: User[];
  constructor(list: User[]) {
    this.#list = list;
  }

  async findAll(): Promise<User[]> {
    return [...this.#list];
  }

  async create({ name, email }: NewUser): Promise<User> {
    const user = { id: String(this.#list.length + 1), name, email };
    this.#list.push(user);
    return user;
  }
}

class RequestContext implements IRequestContext {
  readonly requestId = randomUUID();
}

const { of, make, value, build } = lifetimes('application', 'request');

/** One logger and one list for the whole application; everything else is request-scoped. The compiler checks all of it. */
const graph = build({
  ILogger: value<ILogger>(console),
  IUserList: make('application', (): User[] => []),
  IUserRepository: of('request', UserRepository, ['IUserList']).as<IUserRepository>(),
  IAuditLogger: of('request', AuditLogger, ['ILogger']).as<IAuditLogger>(),
  IRequestContext: of('request', RequestContext).as<IRequestContext>(),
});

// Which service goes by which key: from here on `resolve` knows.
declare module '@ambit/container' {
  interface ServiceMap extends Services<typeof graph> {}
}

export function createAppContainer(): Container {
  return new Container({ tags: ['application'] }).addRegistration(...graph.registrations);
}

export function buildApp(appContainer: Container): Express {
  const app = express();
  app.use(containerMiddleware(appContainer), express.json());

  app.get(
    '/users',
    withDeps({ users: 'IUserRepository', audit: 'IAuditLogger' }, async (_req, res, { users, audit }) => {
      const list = await users.findAll();
      await audit.log('users_listed', { count: list.length });
      res.json(list);
    }),
  );

  app.post(
    '/users',
    withDeps(
      { users: 'IUserRepository', audit: 'IAuditLogger', context: 'IRequestContext' },
      async (req, res, { users, audit, context: { requestId } }) => {
        if (!isNewUser(req.body)) {
          res.status(400).json({ error: 'Send JSON with a "name" and an "email"' });
          return;
        }
        const user = await users.create(req.body);
        await audit.log('user_created', { userId: user.id, requestId });
        res.status(201).json(user);
      },
    ),
  );

  app.use((_req, res) => void res.status(404).json({ error: 'Not found' }));
  const sendError: ErrorRequestHandler = (error, _req, res, next) => {
    if (res.headersSent) return next(error);
    // The body is not JSON, or too large: the parser marks errors whose message the client may see.
    if (error.expose) return res.status(error.status).json({ error: error.message });
    appContainer.resolve('ILogger').error('A request failed', error);
    res.status(500).json({ error: 'Internal Server Error' });
  };
  return app.use(sendError);
}

function isNewUser(body: unknown): body is NewUser {
  const { name, email } = (body ?? {}) as { name?: unknown; email?: unknown };
  return typeof name === 'string' && name !== '' && typeof email === 'string' && /^[^\s@]+@[^\s@]+$/.test(email);
}

if (import.meta.filename === realpathSync(process.argv[1] ?? '.')) {
  const appContainer = createAppContainer();
  const server = buildApp(appContainer).listen(Number(process.env['PORT'] ?? 3000), (error) => {
    if (error) throw error;
    console.log(`Listening on port ${(server.address() as AddressInfo).port}`);
  });
  disposeOnSignal(server, appContainer);
}
