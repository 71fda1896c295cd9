import { channel } from 'node:diagnostics_channel';
import { Container, hasTag, MetadataInjector, Registration, scope, singleton } from '@ambit/container';
import type { ScopeDeclaration } from '@ambit/container/tools';
import { FakePool } from '@ambit/transaction/testing';

export const SCOPES: ScopeDeclaration = {
  tags: ['request'],
  registers: ['IRequestSignal'],
  scopes: [{ tags: ['transaction'], registers: ['IConnection'] }],
};

const inScope = (tag: string) => [singleton(), scope(hasTag(tag))] as const;

/** A small application: a pool for all, users for each request, orders for each transaction. */
export function createApp(): Container {
  return new Container(new MetadataInjector(), { tags: ['application'] }).addRegistration(
    Registration.fromValue('a value nobody may see').to('ISecret'),
    Registration.fromFactory(() => new FakePool())
      .pipe(singleton())
      .to('IDatabasePool'),
    Registration.fromFactory(
      (pool, secret) => ({ pool, secret, dispose: () => undefined }),
      ['IDatabasePool', 'ISecret'],
    )
      .pipe(...inScope('request'))
      .to('IUsers'),
    Registration.fromFactory((connection) => ({ connection }), ['IConnection'])
      .pipe(...inScope('transaction'))
      .to('IOrders'),
  );
}

export const openRequest = (app: Container): Container => app.createScope({ tags: ['request'] });

/** Tells what a transaction tells, without a database. */
export async function placeOrder(request: Container, outcome: 'committed' | 'rolled back'): Promise<void> {
  const transaction = request.createScope({ tags: ['transaction'] });
  const tell = (name: string, message: object): void =>
    channel(`ambit:transaction:${name}`).publish({ scope: transaction, ...message });
  transaction.register<string>('IConnection', () => ({}));
  tell('acquired', { parent: request, milliseconds: 0 });
  tell('begun', { milliseconds: 0 });
  transaction.resolve('IOrders');
  const error = outcome === 'rolled back' ? Object.assign(new TypeError('of 4711'), { code: 'E_SOLD_OUT' }) : undefined;
  const failed = error && { error };
  tell('statement', { sql: "INSERT INTO orders VALUES ($1, 'a secret')", milliseconds: 0, ...failed });
  tell('finished', { outcome, milliseconds: 0, ...failed });
  await transaction.dispose();
}
