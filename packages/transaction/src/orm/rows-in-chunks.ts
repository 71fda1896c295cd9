import { randomUUID } from 'node:crypto';
import type { ExecuteOptions, IConnection, Row } from '../core/contract.js';
import { mayWriteInWith } from '../sql/command.js';

/**
 * The rows of a SELECT, so many at a time, through a cursor of PostgreSQL: the whole result is never in memory. The cursor is
 * closed when the caller stops early, and by the database when the transaction completes. PostgreSQL has no cursor for a
 * SELECT that writes in its WITH (0A000), so its rows come at once.
 */
export async function* rowsInChunks<R extends object = Row>(
  connection: IConnection,
  sql: string,
  params: readonly unknown[],
  size: number,
  options?: ExecuteOptions,
): AsyncGenerator<R[], void, undefined> {
  if (mayWriteInWith(sql)) {
    const { rows } = await connection.execute<R>(sql, params, options);
    for (let start = 0; start < rows.length; start += size) yield rows.slice(start, start + size);
    return;
  }
  const cursor = `ambit_${randomUUID().replaceAll('-', '')}`;
  await connection.query(`DECLARE ${cursor} NO SCROLL CURSOR FOR ${sql}`, params);
  try {
    for (;;) {
      const { rows } = await connection.execute<R>(`FETCH ${size} FROM ${cursor}`, [], options);
      if (rows.length > 0) yield rows;
      if (rows.length < size) return;
    }
  } finally {
    // It is refused after a failed statement, and the rollback that must follow closes the cursor.
    await connection.query(`CLOSE ${cursor}`).catch(() => undefined);
  }
}
