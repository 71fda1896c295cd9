import type { Kysely } from 'kysely';
import type { IsolationLevel } from '../core/contract.js';

/** What this adapter uses of MikroORM. An application that does not use MikroORM needs none of its types. */
export interface MikroOrm<EM extends MikroEntityManager> {
  readonly em: EM;
}

/** An `EntityManager` of MikroORM. */
export interface MikroEntityManager {
  fork(): this;
  flush(): Promise<void>;
  setTransactionContext(context: never): void;
  getConnection(): unknown;
}

/** A connection of MikroORM, which is shared by all of its entity managers. */
export interface TransactionalConnection {
  getClient(): Kysely<unknown>;
  connect(options?: { skipOnConnect?: boolean }): Promise<void>;
  /** All transactions of MikroORM go through this. */
  transactional(work: (context: unknown) => Promise<unknown>, options?: NestedOptions): Promise<unknown>;
}

export interface NestedOptions {
  /** The transaction around it. */
  readonly ctx?: unknown;
  readonly isolationLevel?: IsolationLevel;
  readonly readOnly?: boolean;
}
