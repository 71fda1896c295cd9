import { Container, Registration, singleton } from '@ambit/container';
import { runInTransaction } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';

declare module '@ambit/container' {
  interface ServiceMap {
    IClock: { now(): number };
  }
}

/** Inserts a row in a transaction that commits, and one in a transaction that fails. @returns the rows that are stored */
export async function storedProducts(): Promise<string[]> {
  const app = new Container({ tags: ['application'] }).addRegistration(
    Registration.fromFactory(() => createSqlitePool({ path: ':memory:' }))
      .pipe(singleton())
      .to('IDatabasePool'),
    Registration.fromFactory(() => ({ now: () => 2 })).to('IClock'),
  );
  const pool = app.resolve('IDatabasePool');
  await pool.query('CREATE TABLE orders (product TEXT, at INTEGER)');
  const order = async (product: string): Promise<void> => {
    const request = app.createScope({ tags: ['request'] });
    await runInTransaction(request, async (scope) => {
      const at: number = scope.resolve('IClock').now();
      await scope.resolve('IConnection').query('INSERT INTO orders VALUES ($1, $2)', [product, at]);
      if (product === 'broken') throw new Error('after the INSERT');
    });
    await request.dispose();
  };
  await order('pen');
  await order('broken').catch(() => undefined);
  const rows = await pool.query<{ product: string }>('SELECT product FROM orders');
  await app.dispose();
  return rows.map(({ product }) => product);
}
