import type { IConnection } from '../core/contract.js';
import { TransactionError } from '../core/errors.js';
import { TRANSACTION } from '../transaction/scoped-connection.js';
import type { Transaction } from '../transaction/transaction.js';

/** The transaction that an `IConnection` of a scope belongs to. Nested transactions of ORMs need it for their savepoints. */
export function transactionOfConnection(connection: IConnection, caller: string): Transaction {
  const transaction = (connection as { readonly [TRANSACTION]?: Transaction } | undefined)?.[TRANSACTION];
  if (transaction) return transaction;
  throw new TransactionError(
    'AMBIT_TX_OPTION',
    `${caller} takes the IConnection of a transaction scope, not a pool or another connection`,
  );
}
