/** A step at which a `FakePool` may fail; `query` is every statement but BEGIN, COMMIT and ROLLBACK. */
export type FaultPoint = 'acquire' | 'begin' | 'query' | 'commit' | 'rollback' | 'cancel';

/**
 * What happens to one step: it takes `ms`, then goes well; or is refused, or refused as a conflict (40001); or the
 * connection dies before the database acted (`lost`) or after (`lost after`); or no response ever comes, not even
 * from `getConnection()`.
 */
export interface FakeFault {
  /** How long the step takes, in milliseconds. */
  readonly ms: number;
  /** What happens then. */
  readonly kind: 'none' | 'refused' | 'conflict' | 'lost' | 'lost after' | 'never';
}

export function databaseError(message: string, sqlState: string): Error {
  return Object.assign(new Error(message), { code: sqlState });
}
