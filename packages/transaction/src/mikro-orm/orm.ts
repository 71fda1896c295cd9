import type { Kysely } from 'kysely';
import type { IsolationLevel } from '../core/contract.js';

/** What this adapter uses of MikroORM. An application that does not use MikroORM needs none of its types. */
export interface MikroOrm<EM extends MikroEntityManager> {
  /** The global entity manager, which `mikroOrmOn()` forks. */
  readonly em: EM;
}

/** An `EntityManager` of MikroORM. */
export interface MikroEntityManager {
  /**
   * Creates an entity manager with an identity map of its own.
   *
   * @returns the fork
   */
  fork(): this;
  /** Writes what has changed to the database. */
  flush(): Promise<void>;
  /**
   * Makes its queries statements of a transaction.
   *
   * @param context - what MikroORM passes around as the transaction
   */
  setTransactionContext(context: never): void;
  /**
   * The connection that all entity managers of a MikroORM share.
   *
   * @returns the connection of MikroORM
   */
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
