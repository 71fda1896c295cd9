// A dataloader for each operation: the look-ups of one request become one statement, and no request sees what another one has loaded.
import { Container, lifetimes } from '@ambit/container';
import type { IDatabasePool } from '@ambit/transaction';
import DataLoader from 'dataloader';
import type { Payment } from './payments.ts';

export type PaymentLoader = DataLoader<string, Payment | undefined>;

/** `IN` of a list that is one parameter: `json_each` of SQLite, `= ANY($1)` of PostgreSQL. */
const SELECT = 'SELECT id, amount FROM payments WHERE id IN (SELECT value FROM json_each($1))';

function paymentLoader(pool: IDatabasePool): PaymentLoader {
  return new DataLoader(async (ids) => {
    const rows = await pool.query<{ id: string; amount: number }>(SELECT, [JSON.stringify(ids)]);
    const byId = new Map(rows.map((row) => [row.id, row]));
    return ids.map((id) => byId.get(id));
  });
}

function createGraph(openPool: () => IDatabasePool) {
  const { make, build } = lifetimes('application', 'operation');
  return build({
    IDatabasePool: make('application', openPool),
    IPaymentLoader: make('operation', paymentLoader, ['IDatabasePool']),
  });
}

export const createApp = (openPool: () => IDatabasePool): Container =>
  new Container({ tags: ['application'] }).addRegistration(...createGraph(openPool).registrations);
