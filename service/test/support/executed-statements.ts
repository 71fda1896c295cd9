import { WatchedConnection } from '@ambit/host-contract';
import { type MockInstance, vi } from 'vitest';
import { readCommand } from '../../src/orders/stock-command.js';
import type { App } from './app.js';

/** A statement with the parameters of its last execution. */
export interface Executed {
  readonly sql: string;
  readonly params: readonly unknown[];
}

const ADA = { name: 'Ada', email: 'ada@example.org' };
const ORDER = { items: ['apple', 'pear', 'apple'].map((productId) => ({ productId, quantity: 1 })) };
const READS_OR_WRITES = /^\s*(?:select|insert|update|delete|with|set statement)\b/i;

/**
 * Every statement that the service executes on behalf of a client, a timer or a command, once. They are recorded while
 * all of it is done, so a new statement is among them as soon as a client can cause it.
 */
export async function executedStatements(app: App): Promise<Executed[]> {
  const statements = new Map<string, Executed>();
  const record = (sql: string, params: readonly unknown[] = []): void => {
    if (READS_OR_WRITES.test(sql)) statements.set(sql, { sql, params });
  };
  const spies = (['query', 'execute'] as const).flatMap((method) => [
    recorded(WatchedConnection.prototype, method, record),
    recorded(app.pool, method, record),
  ]);
  try {
    await doEverything(app);
    return [...statements.values()];
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

type Method = 'query' | 'execute';
type Run = (sql: string, params?: readonly unknown[], ...rest: unknown[]) => Promise<never>;

function recorded(
  on: Record<Method, unknown>,
  method: Method,
  record: (...call: Parameters<Run>) => void,
): MockInstance {
  const run = on[method] as Run;
  return vi.spyOn(on as Record<Method, Run>, method).mockImplementation(function (this: unknown, ...call) {
    record(...call);
    return run.apply(this, call);
  });
}

async function doEverything(app: App): Promise<void> {
  // `list` is missing, because it reads all products on purpose.
  for (const command of ['set apple 100', 'set plum 5', 'untrack plum'])
    await readCommand(command.split(' '))(app.pool, app.container.resolve('ISqlDialect'));
  for (const [path, body] of [['/api/users', ADA] as const, ['/api/orders', ORDER] as const]) {
    const key = { 'idempotency-key': `${app.url} ${path}`.replaceAll(/\W/g, '-') };
    // The second request with the key is a replay.
    for (const headers of [{}, key, key]) await app.request({ method: 'POST', path, body, headers });
  }
  const { body: users } = await app.request<{ id: string }[]>({ path: '/api/users' });
  const { id } = users[0]!;
  // The last ones are short pages from the beginning: for such a page PostgreSQL would plan a limit that is a parameter again.
  for (const target of [`/${id}`, `?after=${id}`, `?limit=2&after=${id}`, '', '?limit=2'])
    await app.request({ path: `/api/users${target}` });
  await app.request({ path: '/health/ready' });
  await app.container.resolve('IIdempotency').removeExpired();
}
