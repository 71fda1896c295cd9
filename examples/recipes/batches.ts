// A million rows in chunks: each chunk is a transaction of its own, so that no lock and no snapshot is held for long, and vacuum can work.
import type { Container } from '@ambit/container';
import { runInTransaction } from '@ambit/transaction';

/**
 * Adds a fee to all payments. It goes on after the last id that it has seen, in place of OFFSET, which reads all rows before it again;
 * `onChunk` keeps that id, and a run that was interrupted continues there.
 */
export async function addFees(
  app: Container,
  {
    after = '',
    size = 1000,
    signal,
    onChunk,
  }: { after?: string; size?: number; signal: AbortSignal; onChunk?: (id: string) => void },
): Promise<number> {
  let count = 0;
  for (let last: string | undefined = after; last !== undefined;) {
    const from: string = last;
    const ids = await runInTransaction(
      app,
      async (transaction) => {
        const connection = transaction.resolve('IConnection');
        const rows = await connection.query<{ id: string }>(
          'SELECT id FROM payments WHERE id > $1 ORDER BY id LIMIT $2',
          [from, size],
        );
        const chunk = rows.map(({ id }) => id);
        if (chunk.length > 0)
          await connection.query('UPDATE payments SET amount = amount + 1 WHERE id > $1 AND id <= $2', [
            from,
            chunk.at(-1),
          ]);
        return chunk;
      },
      { retries: 5, signal },
    );
    last = ids.at(-1);
    count += ids.length;
    if (last !== undefined) onChunk?.(last);
  }
  return count;
}
