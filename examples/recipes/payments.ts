// What all recipes do: they charge a card at a bank, and store the payment in one transaction.
import { Container, type IContainer, lifetimes, onStart, type Services } from '@ambit/container';
import { type IConnection, type IDatabasePool, runInTransaction } from '@ambit/transaction';
import { createSqlitePool } from '@ambit/transaction/sqlite';

export interface Payment {
  readonly id: string;
  readonly amount: number;
}

export interface Bank {
  /** Charges once, however often it is called with the same id. */
  charge(payment: Payment, signal: AbortSignal): Promise<void>;
}

export class Payments {
  readonly #connection: Pick<IConnection, 'query'>;

  constructor(connection: Pick<IConnection, 'query'>) {
    this.#connection = connection;
  }

  /** Stores once: a queue may deliver the same job twice. */
  async store({ id, amount }: Payment): Promise<void> {
    await this.#connection.query('INSERT INTO payments (id, amount) VALUES ($1, $2) ON CONFLICT (id) DO NOTHING', [
      id,
      amount,
    ]);
  }
}

export async function createTables(pool: IDatabasePool): Promise<void> {
  await pool.query('CREATE TABLE IF NOT EXISTS payments (id TEXT PRIMARY KEY, amount INTEGER CHECK (amount > 0))');
}

const { of, make, value, registered, build } = lifetimes('application', 'transaction');

const createGraph = (openPool: () => IDatabasePool) =>
  build({
    IDatabasePool: make('application', openPool).pipe(onStart(createTables)),
    IBank: value<Bank>({ charge: async () => undefined }),
    IConnection: registered('transaction').as<IConnection>(),
    IPayments: of('transaction', Payments, ['IConnection']),
  });

declare module '@ambit/container' {
  interface ServiceMap extends Services<ReturnType<typeof createGraph>> {
    /** What the logs and traces of a job, message or call name it by; each recipe registers it on its scope. */
    IOperationId: string;
  }
}

export function createApp(openPool = (): IDatabasePool => createSqlitePool({ path: ':memory:' })): Container {
  return new Container({ tags: ['application'] }).addRegistration(...createGraph(openPool).registrations);
}

/** The job of all recipes. A conflict with another transaction is retried at once, everything else by the sender of the job. */
export async function pay(job: IContainer, payment: Payment, signal: AbortSignal): Promise<void> {
  await job.resolve('IBank').charge(payment, signal);
  await runInTransaction(job, (transaction) => transaction.resolve('IPayments').store(payment), { retries: 5, signal });
}
