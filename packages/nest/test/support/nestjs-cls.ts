import type { IDatabasePool, IPooledConnection } from '@ambit/transaction';
import type { DynamicModule } from '@nestjs/common';
import { Module } from '@nestjs/common';
import type { Subject } from './outcomes.js';

type Connection = Pick<IPooledConnection, 'query'>;
type Work = () => Promise<unknown>;
type Use = (connection: Connection) => void;

/** The parts of nestjs-cls and of its transactions that are used. */
interface NestjsCls {
  readonly ClsModule: { forRoot(options: object): DynamicModule };
  readonly ClsPluginTransactional: new (options: object) => object;
  readonly Propagation: { readonly RequiresNew: string };
  readonly Transactional: (propagation?: string) => ReturnType<Subject['transactional']>;
  readonly TransactionHost: { getInstance(): { readonly tx: Connection } };
}

const POOL = Symbol('pool');

/** nestjs-cls over the pool of the application. */
export async function nestjsCls(): Promise<(pool: IDatabasePool) => Subject> {
  // Only one version of NestJS is tested with it.
  const libraries = ['nestjs-cls', '@nestjs-cls/transactional'].map((name) => import(name) as Promise<NestjsCls>);
  const [{ ClsModule }, cls] = (await Promise.all(libraries)) as [NestjsCls, NestjsCls];
  return (pool) => ({
    module: () => {
      class PoolModule {}
      Module({ providers: [{ provide: POOL, useValue: pool }], exports: [POOL] })(PoolModule);
      const wrapWithTransaction = (_options: unknown, work: Work, use: Use): Promise<unknown> => wrap(pool, work, use);
      const optionsFactory = () => ({ wrapWithTransaction, getFallbackInstance: () => pool });
      const adapter = { connectionToken: POOL, optionsFactory };
      const plugins = [new cls.ClsPluginTransactional({ imports: [PoolModule], adapter })];
      return ClsModule.forRoot({ global: true, middleware: { mount: true }, plugins });
    },
    transactional: (propagation) => cls.Transactional(propagation && cls.Propagation.RequiresNew),
    query: (sql, params) => cls.TransactionHost.getInstance().tx.query(sql, params),
  });
}

async function wrap(pool: IDatabasePool, work: Work, use: Use): Promise<unknown> {
  const connection = await pool.getConnection();
  try {
    await connection.beginTransaction();
    use(connection);
    const result = await work();
    await connection.commit();
    return result;
  } catch (error) {
    await connection.rollback();
    throw error;
  } finally {
    connection.release();
  }
}
