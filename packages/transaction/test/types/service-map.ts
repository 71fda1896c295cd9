import { Container, inject, Registration } from '@ambit/container';
import { verify } from '@ambit/container/tools';
import { type IConnection, type IDatabasePool, runInTransaction, transactionOf } from '@ambit/transaction';
import { backupSqlite, createSqlitePool } from '@ambit/transaction/sqlite';
import { FakePool } from '@ambit/transaction/testing';

// An application that lists the keys itself, as it had to before, still compiles.
declare module '@ambit/container' {
  interface ServiceMap {
    IConnection: IConnection;
    IDatabasePool: IDatabasePool;
  }
}

/** `exactly<A>()(b)(true)` compiles when the type of `b` is `A` and nothing else. */
const exactly =
  <A>() =>
  <B>(_value: B) =>
  (_same: (<T>() => T extends A ? 1 : 2) extends <T>() => T extends B ? 1 : 2 ? true : false): void => {};

class OrderRepository {
  constructor(@inject('IConnection') readonly connection: IConnection) {}
}

class Wrong {
  // error: 'IDatabasePool'
  constructor(@inject('IDatabasePool') readonly connection: IConnection) {}
}

const app = new Container({ tags: ['application'] }).addRegistration(
  Registration.fromFactory(() => createSqlitePool({ path: ':memory:' })).to('IDatabasePool'),
  Registration.fromClass(OrderRepository).to('IOrderRepository'),
);
app.register('IDatabasePool', () => new FakePool());
// error: missing the following properties from type 'IDatabasePool'
app.register('IDatabasePool', () => ({}));
verify(app, { tags: ['request'] });

exactly<IDatabasePool>()(app.resolve('IDatabasePool'))(true);
exactly<Promise<void>>()(
  runInTransaction(app, async (scope) => {
    exactly<IConnection>()(scope.resolve('IConnection'))(true);
    await scope.resolve('IConnection').query('SELECT 1');
  }),
)(true);
exactly<Promise<void>>()(backupSqlite({ filename: 'shop.db', to: 'copy.db' }))(true);
export const outcome = transactionOf(app)?.state;
export { Wrong };
