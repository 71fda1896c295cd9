import type { IContainer } from '@ambit/container';
import { type IConnection, runInTransaction, type Transaction, transactionOf } from '@ambit/transaction';
import { atEndOf } from './scopes.js';
import type { Visit } from './visit.js';

export const ignore = (): void => undefined;

/** What a handler does before it responds: statements awaited or not, caught or not, and time that passes. */
export async function work(visit: Visit, scope: IContainer | undefined): Promise<void> {
  const { chance } = visit.run;
  if (!scope) throw new Error('there is no transaction');
  const connection = scope.resolve<IConnection>('IConnection');
  visit.handles.push(connection);
  visit.transaction = transactionOf(scope);
  if (!visit.run.calm && chance.of(0.07)) makeUnruly(visit, scope, connection);
  if (visit.transaction && chance.of(0.4)) visit.callbacks.register(visit.transaction, visit.mark);
  for (let steps = 1 + chance.below(3); steps > 0; steps -= 1) {
    const query = connection.query(visit.writes());
    if (chance.of(0.2)) query.catch(ignore);
    else await (chance.of(0.15) ? query.catch(ignore) : query);
    if (visit.transaction && chance.of(0.1)) await nest(visit, visit.transaction, scope);
    if (chance.of(0.3)) await pause(visit);
  }
}

/** A part that may fail alone, with callbacks of its own. */
async function nest(visit: Visit, transaction: Transaction, scope: IContainer): Promise<void> {
  const isUndone = visit.run.chance.of(0.5);
  let undo = ignore;
  const nested = runInTransaction(scope, async () => {
    undo = visit.callbacks.register(transaction, visit.mark);
    await scope.resolve<IConnection>('IConnection').query(isUndone ? 'undone' : 'nested');
    if (isUndone) throw new Error('the nested part failed');
  });
  await nested.catch(() => undo());
}

/** Some time, or no time but some other things first. */
export async function pause({ run: { chance, clock } }: Visit): Promise<void> {
  if (chance.of(0.5)) return clock.sleep(chance.below(100));
  for (let hops = chance.below(20); hops > 0; hops -= 1) await Promise.resolve();
}

/** Before a host takes a request on the client may leave, and behind that as well. */
export async function takeTime(visit: Visit): Promise<void> {
  if (!visit.run.calm && visit.run.chance.of(0.05)) await pause(visit);
}

/** Waits for what does not come. */
export function wait(visit: Visit): Promise<never> {
  visit.waits = true;
  return new Promise(ignore);
}

/** Waits as a handler should who has nothing to say before. */
export async function untilDisconnected(visit: Visit, scope: IContainer): Promise<void> {
  visit.waits = true;
  const signal = scope.resolve<AbortSignal>('IRequestSignal');
  visit.signal = signal;
  if (!signal.aborted) await new Promise((resolve) => signal.addEventListener('abort', resolve, { once: true }));
  if (!visit.socket.destroyed) visit.broke('its signal aborted, and the client is there');
}

/** Gives a transaction scope something to dispose that takes too long, fails, or meddles with COMMIT or ROLLBACK. */
function makeUnruly({ run }: Visit, scope: IContainer, connection: IConnection): void {
  run.unruly = true;
  const ends = [
    () => run.clock.sleep(run.chance.below(400)),
    () => Promise.reject(new Error('an instance failed to dispose')),
    () => connection.query('from an end'),
    () => connection.rollback(),
  ];
  atEndOf(scope, run.chance.pick(ends));
}

/** The body of a response that ends too early. */
export async function* breaking(visit: Visit): AsyncGenerator<string> {
  yield visit.mark;
  await pause(visit);
  throw new Error('the stream broke');
}
