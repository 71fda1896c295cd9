import express, { type Request, type RequestHandler, type Response, Router } from 'express';
import { Container, type IContainer } from '@ambit/container';
import { containerMiddleware, requireTransactionScope, resolve, withDeps, withTransaction } from '@ambit/express';

interface UserRepository {
  findAll(): Promise<{ id: string }[]>;
}

class Clock {
  readonly now: number = 0;
}

declare module '@ambit/container' {
  interface ServiceMap {
    IUserRepository: UserRepository;
  }
}

/** `exactly<A>()(b)(true)` compiles when the type of `b` is `A` and nothing else. */
const exactly =
  <A>() =>
  <B>(_value: B) =>
  (_same: (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false): void => {};

const app = express();

// The services arrive typed, without annotations.
const handler = withDeps(
  { users: 'IUserRepository', clock: Clock, disconnected: 'IRequestSignal', anything: 'IUnlisted' },
  (req, res, services) => {
    exactly<UserRepository>()(services.users)(true);
    exactly<Clock>()(services.clock)(true);
    exactly<AbortSignal>()(services.disconnected)(true);
    exactly<unknown>()(services.anything)(true);
    // error: Property 'missing' does not exist
    services.missing;
    // error: read-only
    services.clock = new Clock();
  },
);
app.get('/', handler);

// A handler may say which parameters its path has.
app.get(
  '/users/:id',
  withDeps({ users: 'IUserRepository' }, (req: Request<{ id: string }>, _res, { users }) => {
    exactly<string>()(req.params.id)(true);
    exactly<UserRepository>()(users)(true);
  }),
);

// error: Type 'number' is not assignable
withDeps({ users: 42 }, () => undefined);

app.get('/', (req) => {
  exactly<UserRepository>()(resolve(req, 'IUserRepository'))(true);
  exactly<Clock>()(resolve(req, Clock))(true);
  exactly<number>()(resolve<number>(req, 'IUnlisted'))(true);
  exactly<unknown>()(resolve(req, 'IUnlisted'))(true);
  exactly<IContainer>()(req.container)(true);
  exactly<IContainer | undefined>()(req.transactionScope)(true);
  exactly<IContainer>()(requireTransactionScope(req))(true);
  exactly<UserRepository>()(req.container.resolve('IUserRepository'))(true);
});

const middleware: RequestHandler[] = [
  containerMiddleware(new Container()),
  containerMiddleware(new Container(), { onDisposeError: (error, req) => void [error, req.url] }),
  withTransaction(),
  withTransaction({ isolation: 'serializable', rollbackOn: (status) => status >= 400 }),
];
app.use(middleware);

// The signal is the request's own.
// error: 'signal' does not exist
withTransaction({ signal: AbortSignal.timeout(1) });

// error: is missing the following properties from type 'IContainer'
containerMiddleware({ resolve: () => undefined });

class Foreign {
  resolve<T>(key: string): T {
    throw new Error(key);
  }
  createScope(options: { tags: string[] }): Foreign {
    void options;
    return this;
  }
  register(key: string, factory: (scope: Foreign) => unknown): this {
    void [key, factory];
    return this;
  }
  dispose(): void {}
}
containerMiddleware(new Foreign());

interface OrderParams {
  readonly orderId: string;
}
interface Order {
  readonly id: number;
}

const container = new Container();
const paths = express();

// Before our middlewares and behind them, the parameters of the path are typed as without them.
paths.post('/orders/:orderId', (req) => exactly<string>()(req.params.orderId)(true));
paths.post('/orders/:orderId', withTransaction(), (req) => {
  exactly<string>()(req.params.orderId)(true);
  // error: Property 'missing' does not exist
  req.params.missing;
});
paths.post('/orders/:orderId', containerMiddleware(container), withTransaction({ readOnly: true }), (req) =>
  exactly<string>()(req.params.orderId)(true),
);
Router().get('/orders/:orderId', withTransaction(), (req) => exactly<string>()(req.params.orderId)(true));
paths.route('/orders/:orderId').post(withTransaction(), (req) => exactly<string>()(req.params.orderId)(true));
paths.use('/orders/:orderId', withTransaction());

// A handler that says its types itself is taken behind them.
paths.post('/orders/:orderId', withTransaction(), (req: Request<OrderParams, Order, Order>, res: Response<Order>) => {
  exactly<OrderParams>()(req.params)(true);
  res.json(req.body);
});
const typed: RequestHandler<OrderParams, Order, Order, { dry?: string }> = (req, res) => void res.json(req.body);
paths.post('/orders/:orderId', withTransaction(), typed);
paths.post(
  '/orders/:orderId',
  withTransaction(),
  withDeps({}, (req: Request<OrderParams>) => req.params.orderId),
);
const list: RequestHandler<OrderParams, Order, Order, { dry?: string }>[] = [withTransaction(), typed];
paths.post<OrderParams, Order, Order, { dry?: string }>('/orders/:orderId', ...list);
const anyMiddleware: RequestHandler = withTransaction();
paths.use(anyMiddleware);
