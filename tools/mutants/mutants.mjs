// @ts-check
// Mistakes that a simulation of the whole service has to find: each is a small change of the sources, for one run only.
import { readFileSync } from 'node:fs';
import { join } from 'node:path';

const ROOT = join(import.meta.dirname, '../..');

/**
 * @typedef {object} Edit
 * @property {string} file
 * @property {string} from which the file has exactly once
 * @property {string} to
 */

/** @type {Readonly<Record<string, readonly Edit[]>>} */
export const MUTANTS = {
  'COMMIT is not awaited before the response': [
    {
      file: 'packages/http/src/host/transaction.ts',
      from: 'this.committing.then(forget, forget);\n    return this.committing;',
      to: 'this.committing.then(forget, forget);\n    return Promise.resolve();',
    },
  ],
  'Express sends a response before COMMIT': [
    {
      file: 'packages/http/src/held-response.ts',
      from: 'await this.#close(status);\n    } catch',
      to: 'void this.#close(status).catch(() => undefined);\n    } catch',
    },
  ],
  'ROLLBACK is forgotten': [
    {
      file: 'packages/transaction/src/pool/pool.ts',
      from: "if (!isRolledBack || this.#released) await this.#send(whole, 'ROLLBACK');",
      to: '',
    },
  ],
  'a connection is returned twice': [
    {
      file: 'packages/transaction/src/pool/pool.ts',
      from: "if (this.#released) throw new TransactionError('AMBIT_TX_FINISHED', 'release() was called twice');",
      to: '',
    },
    {
      file: 'packages/transaction/src/transaction/completion.ts',
      from: '() => connection.release(broken),',
      to: '() => [connection.release(broken), connection.release(broken)],',
    },
  ],
  'a connection is used again with a transaction open': [
    {
      file: 'packages/transaction/src/pool/pool.ts',
      from: 'this.#onRelease(destroy || this.#possiblyBroken || this.#queue.busy || this.#inTransaction);',
      to: 'this.#onRelease(false);',
    },
  ],
  'the place of a connection stays taken': [
    { file: 'packages/transaction/src/pool/waiting.ts', from: 'this.#taken -= 1;', to: '' },
  ],
  'a COMMIT without a response counts as rolled back': [
    {
      file: 'packages/transaction/src/transaction/completion.ts',
      from: 'if (saysNothingStored(cause)) {',
      to: 'if (cause) {',
    },
  ],
  'a COMMIT without a response counts as committed': [
    {
      file: 'packages/transaction/src/transaction/completion.ts',
      from: 'if (!failed) this.#phase = PHASES.committed;',
      to: 'if (!failed || !saysNothingStored(failed.error)) this.#phase = PHASES.committed;',
    },
  ],
  'a transaction goes on after its time limit': [
    {
      file: 'packages/transaction/src/transaction/transaction.ts',
      from: 'this.#stopTimer = startTimer(clock, () => this.#timeOut(), timeoutMs);',
      to: 'this.#stopTimer = startTimer(clock, () => undefined, timeoutMs);',
    },
  ],
  'a statement outside of a transaction is sent again when its connection was lost': [
    {
      file: 'packages/transaction/src/pool/pool.ts',
      from: '} finally {\n      connection.release();\n    }',
      to: '} catch (error) {\n      const other = await this.getConnection();\n      try {\n        return await other.query(sql, params);\n      } finally {\n        other.release();\n      }\n    } finally {\n      connection.release();\n    }',
    },
  ],
  'the stock is not locked': [
    { file: 'service/src/orders/orders.ts', from: 'ORDER BY product_id ${forUpdate}', to: '' },
  ],
  'the stock is not locked, and read again by the UPDATE': [
    { file: 'service/src/orders/orders.ts', from: 'ORDER BY product_id ${forUpdate}', to: '' },
    {
      file: 'service/src/orders/orders.ts',
      from: 'SET level = tracked.level - quantity',
      to: 'SET level = stock.level - quantity',
    },
  ],
  'the level is computed from the row as it was before it was locked': [
    {
      file: 'service/src/orders/orders.ts',
      from: 'SET level = tracked.level - quantity',
      to: 'SET level = stock.level - quantity',
    },
  ],
  'the stock is checked before it is locked, by another statement': [
    { file: 'service/src/database/engines/postgres.ts', from: 'writesInWith: true,', to: 'writesInWith: false,' },
  ],
  'a shortage is not reported': [
    {
      file: 'service/src/orders/orders.ts',
      from: 'refuseShortage(wanted, await this.#query(TAKE_AND_RECORD, [requestId, rows]));',
      to: 'await this.#query(TAKE_AND_RECORD, [requestId, rows]);',
    },
  ],
  'an order is stored outside of its transaction': [
    {
      file: 'service/src/orders/orders.ts',
      from: "IOrderRepository: of('transaction', OrderRepository, [\n      'IConnection',",
      to: "IOrderRepository: of('transaction', OrderRepository, [\n      'IDatabasePool',",
    },
  ],
  'an order that is refused is committed': [
    {
      file: 'service/src/hosts/fastify/routes.ts',
      from: 'await request.rollbackTransaction();',
      to: 'await request.commitTransaction();',
    },
  ],
  'a key is stored outside of the transaction': [
    {
      file: 'packages/idempotency/src/idempotency.ts',
      from: 'const { connection } = transaction;',
      to: "const connection = transaction.parent.resolve('IDatabasePool');",
    },
  ],
  'the response is not stored with its key': [
    {
      file: 'packages/idempotency/src/idempotency.ts',
      from: 'await store.keep(connection, stored.key, response);',
      to: '',
    },
  ],
  'a key that is in use counts as stored': [
    {
      file: 'packages/idempotency/src/store.ts',
      from: "=== LOCK_NOT_AVAILABLE) return 'running';",
      to: "=== LOCK_NOT_AVAILABLE) return 'stored';",
    },
  ],
  'each key has expired': [
    {
      file: 'packages/idempotency/src/store.ts',
      from: 'expiry: now - lifetimeMs };',
      to: 'expiry: now + lifetimeMs };',
    },
  ],
  'a key gets the response to another request': [
    {
      file: 'packages/idempotency/src/idempotency.ts',
      from: "if (first.fingerprint !== fingerprint) throw this.#error('reused');",
      to: '',
    },
  ],
  'the client of a lost statement is asked to try again': [
    {
      file: 'service/src/users/users.ts',
      from: 'await users.create(data).catch(throwOutcomeUnknown)',
      to: 'await users.create(data)',
    },
  ],
  'the client of an unknown outcome is asked to try again': [
    {
      file: 'service/src/http/response.ts',
      from: "if (error.code === 'AMBIT_TX_OUTCOME_UNKNOWN') {",
      to: "if (error.code === 'AMBIT_TX_READ_ONLY') {",
    },
  ],
  'all requests share one context': [
    {
      file: 'service/src/infrastructure.ts',
      from: "of('request', RequestContext)",
      to: "of('application', RequestContext)",
    },
  ],
  'the scope of a client that left is kept': [
    {
      file: 'packages/http/src/connection.ts',
      from: 'void NOW.then(() => this.active.finish(reason));',
      to: 'if (!isDisconnected) void NOW.then(() => this.active.finish(reason));',
    },
  ],
  'each request listens to the process': [
    {
      file: 'service/src/http/request.ts',
      from: "const context = container.resolve('IRequestContext');",
      to: "const context = container.resolve('IRequestContext');\n  process.on('SIGUSR2', () => undefined);",
    },
  ],
  'a rejection nobody waits for': [
    {
      file: 'service/src/hosts/express/app.ts',
      from: 'await createUser(req.container, key, data, { requestId });',
      to: 'await createUser(req.container, key, data, { requestId }).finally(() => void req.container.resolve("IHealth").readiness().then(() => { if (req.destroyed) throw new Error("late"); }));',
    },
  ],
  'shutdown cuts off a response behind one that is all written': [
    {
      file: 'packages/http/src/server-connections.ts',
      from: 'for (const each of [res, responseOn(req.socket)]) if (each?.writableEnded) leaving.push(each);',
      to: 'if (res.writableEnded) leaving.push(res);',
    },
  ],
  'shutdown does not wait for requests': [
    {
      file: 'packages/http/src/shutdown.ts',
      from: 'const cutting = startTimer(cut, timeoutMs);',
      to: 'cut();\n    const cutting = startTimer(cut, timeoutMs);',
    },
  ],
};

/**
 * Carries out the edits that are of this file. Throws where a text is not there exactly once, so that no mutant outlives what it changes.
 *
 * @param {readonly Edit[]} edits
 * @param {string} file
 * @param {string} code
 */
function mutated(edits, file, code) {
  return edits.reduce((text, edit) => {
    if (!file.endsWith(edit.file)) return text;
    if (text.split(edit.from).length !== 2) throw new Error(`${edit.file} has not exactly once: ${edit.from}`);
    return text.replace(edit.from, () => edit.to);
  }, code);
}

/**
 * A plugin of Vite that makes the mistake of this name in whatever is loaded.
 *
 * @param {string} name
 * @returns {{ name: string, enforce: 'pre', transform(code: string, id: string): string }}
 */
export function mutantPlugin(name) {
  const edits = MUTANTS[name];
  if (!edits) throw new Error(`No mutant is named ${name}`);
  for (const { file } of edits) mutated(edits, file, readFileSync(join(ROOT, file), 'utf8'));
  return { name: 'mutant', enforce: 'pre', transform: (code, id) => mutated(edits, id, code) };
}
