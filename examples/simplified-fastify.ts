// GET /users and POST /users on Fastify, in memory, on port 3000.
import { realpathSync } from 'node:fs';
import { Container, lifetimes, type Services } from '@ambit/container';
import { containerPlugin } from '@ambit/fastify';
import { fastify, type FastifyError, type FastifyInstance } from 'fastify';

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

const { of, make, value, build } = lifetimes('application', 'request');

/** One logger and one list for the whole application; everything else is request-scoped. The compiler checks all of it. */
const graph = build({
  ILogger: value<ILogger>(console),
  IUserList: make('application', (): User[] => []),
  IUserRepository: of('request', UserRepository, ['IUserList']).as<IUserRepository>(),
  IAuditLogger: of('request', AuditLogger, ['ILogger']).as<IAuditLogger>(),
});

// Which service goes by which key: from here on `resolve` knows.
declare module '@ambit/container' {
  interface ServiceMap extends Services<typeof graph> {}
}

export function createAppContainer(): Container {
  return new Container({ tags: ['application'] }).addRegistration(...graph.registrations);
}

const name = { type: 'string', minLength: 1 };
const email = { type: 'string', format: 'email' };
const required = ['name', 'email'];
const newUserSchema = {
  body: { type: 'object', properties: { name, email }, required },
  response: {
    201: { type: 'object', properties: { id: { type: 'string' }, name: { type: 'string' }, email }, required },
  },
};

export async function buildServer(container: Container): Promise<FastifyInstance> {
  // Without this, Fastify would accept the number 5 as the name '5'.
  const server = fastify({ ajv: { customOptions: { coerceTypes: false } } });
  // The request scope is disposed after the response, also after an error response: the error handler needs it.
  await server.register(containerPlugin, { container, disposeOn: 'response' });

  server.get('/users', async (request) => {
    const users = await request.container.resolve('IUserRepository').findAll();
    await request.container.resolve('IAuditLogger').log('users_listed', { count: users.length });
    return users;
  });

  server.post<{ Body: NewUser }>('/users', { schema: newUserSchema }, async (request, reply) => {
    const user = await request.container.resolve('IUserRepository').create(request.body);
    await request.container.resolve('IAuditLogger').log('user_created', { userId: user.id });
    return reply.code(201).send(user);
  });

  server.setNotFoundHandler((_request, reply) => reply.code(404).send({ error: 'Not found' }));
  server.setErrorHandler<FastifyError>((error, _request, reply) => {
    const { statusCode = 500 } = error;
    if (statusCode < 500) return reply.code(statusCode).send({ error: error.message });
    container.resolve('ILogger').error('A request failed', error);
    return reply.code(500).send({ error: 'Internal Server Error' });
  });
  return server;
}

export async function start(port = 3000): Promise<void> {
  const server = await buildServer(createAppContainer());
  // Waits for the responses in progress, then disposes the container. Then nothing keeps the process running.
  process.once('SIGTERM', () => void server.close());
  console.log(`Listening at ${await server.listen({ port })}`);
}

if (import.meta.filename === realpathSync(process.argv[1] ?? '.')) await start();
