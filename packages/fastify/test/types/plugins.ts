import { Container, type IContainer } from '@ambit/container';
import { containerPlugin, HttpError, type HttpErrorCode, transactionPlugin } from '@ambit/fastify';
import { fastify } from 'fastify';

interface UserRepository {
  findAll(): Promise<{ name: string }[]>;
}

declare module '@ambit/container' {
  interface ServiceMap {
    IUserRepository: UserRepository;
  }
}

const app = fastify();
const container = new Container({ tags: ['application'] });

// A container of ours, or any other of that shape.
app.register(containerPlugin, { container });
const foreign: IContainer = {
  resolve: <T>() => undefined as T,
  createScope: () => foreign,
  register: () => undefined,
  dispose: () => undefined,
};
app.register(containerPlugin, { container: foreign, disposeOn: 'response' });
app.register(containerPlugin, { container, onDisposeError: (error, request) => request.log.error(error) });

// error: No overload matches
app.register(containerPlugin);
// error: No overload matches
app.register(containerPlugin, { container: {} });
// error: No overload matches
app.register(containerPlugin, { container, disposeOn: 'close' });

app.register(transactionPlugin);
app.register(transactionPlugin, { isolation: 'serializable', timeoutMs: 1000 });
// error: No overload matches
app.register(transactionPlugin, { isolation: 'chaos' });

const outermost: IContainer = app.container;

app.get('/users', async (request): Promise<{ name: string }[]> => {
  // Typed by the ServiceMap, without annotations.
  const disconnected: AbortSignal = request.container.resolve('IRequestSignal');
  const users = request.container.resolve('IUserRepository');
  // error: Property 'findOne' does not exist
  users.findOne();
  return users.findAll();
});

app.post('/orders', async (request, reply) => {
  const scope: IContainer = await request.startTransaction({ isolation: 'repeatable read' });
  const users: UserRepository = scope.resolve('IUserRepository');
  // error: 'request.transactionScope' is possibly 'undefined'
  request.transactionScope.resolve('IUserRepository');
  // error: read-only
  request.transactionScope = scope;
  // error: '"chaos"' is not assignable
  await request.startTransaction({ isolation: 'chaos' });
  await request.commitTransaction();
  await request.rollbackTransaction();
  return reply.code(201).send({});
});

const code: HttpErrorCode = new HttpError('AMBIT_HTTP_NO_TRANSACTION').code;
// error: not assignable
const unknown: HttpErrorCode = 'AMBIT_HTTP_WHATEVER';
