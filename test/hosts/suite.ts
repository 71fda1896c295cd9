import { createIdempotency } from '@ambit/idempotency';
import { type Host, hostContract, type StageTest } from '@ambit/testing/hosts';
import { databases } from '@ambit/test-kit';
import { containerContract } from './contract/containers.js';
import { idempotencyContract } from './contract/idempotency.js';

/** The databases of the contract, with the table that `@ambit/idempotency` needs. */
const withKeys = databases.map(({ open, ...kind }) => ({
  ...kind,
  open: async (options?: { readonly writers?: number }) => {
    const database = await open(options);
    await createIdempotency(database.pool, { dialect: kind.dialect }).createTable();
    return database;
  },
}));

/** The public contract on all databases, what hosts guarantee with other packages, and what this one guarantees `alone`. */
export function describeHostContract(host: Host, alone: (test: StageTest) => void = () => undefined): void {
  hostContract(host, {
    databases: withKeys,
    alone: (test, kind) => {
      containerContract(test);
      idempotencyContract(test, kind);
      alone(test);
    },
  });
}
