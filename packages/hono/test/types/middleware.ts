import type { IContainer } from '@ambit/container';
import { containerMiddleware, requireTransactionScope, withTransaction } from '@ambit/hono';
import { Hono } from 'hono';

declare const container: IContainer;

/** `exactly<A>()(b)(true)` compiles when the type of `b` is `A` and nothing else. */
const exactly =
  <A>() =>
  <B>(_value: B) =>
  (_same: (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false): void => {};

const middleware = containerMiddleware((c) => (c.req.path === '/' ? container : Promise.resolve(container)), {
  register: (scope, c) => scope.register('IPath', () => c.req.path),
});
exactly<number>()(middleware.openRequests)(true);

// The variables are typed in every application, without a type argument.
const app = new Hono();
app.use(middleware);
app.post('/orders/:id', withTransaction({ readOnly: true }), (c) => {
  exactly<IContainer>()(c.get('container'))(true);
  exactly<IContainer>()(c.var.container)(true);
  exactly<AbortSignal>()(c.get('container').resolve('IRequestSignal'))(true);
  exactly<IContainer | undefined>()(c.get('transactionScope'))(true);
  exactly<IContainer>()(requireTransactionScope(c))(true);
  // error: possibly 'undefined'
  c.get('transactionScope').resolve('IConnection');
  return c.text('hello');
});

// An application with variables and bindings of its own has them as well.
const typed = new Hono<{ Variables: { user: string }; Bindings: { KEY: string } }>();
typed.use(middleware);
typed.get('/', withTransaction(), (c) => {
  exactly<string>()(c.get('user'))(true);
  exactly<string>()(c.env.KEY)(true);
  return c.json(c.get('container').resolve<object>('IAnything'));
});

// error: does not exist in type
containerMiddleware(container, { tag: ['request'] });
// error: does not exist in type
withTransaction({ signal: AbortSignal.abort() });
