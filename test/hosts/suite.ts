import { createIdempotency } from '@ambit/idempotency';
import { type Host, hostContract, type StageTest } from '@ambit/testing/hosts';
import { chosen, databases } from '@ambit/test-kit';
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

const namesOf = (kinds: readonly { readonly name: string }[]) => kinds.map(({ name }) => name);
export const EVERY_DATABASE = namesOf(databases);
/** `npm test` leaves out MariaDB, which the step `contracts` runs. */
export const CHOSEN_DATABASES = namesOf(chosen(databases));

/**
 * The public contract, what hosts guarantee with other packages, and what this one guarantees `alone`. A host knows no SQL: Express and Fastify
 * run on every database, the others on those named here, and on every one with `npm run check -- hosts-all`.
 */
export function describeHostContract(
  host: Host,
  over: readonly string[],
  alone: (test: StageTest) => void = () => undefined,
): void {
  const names = process.env['EVERY_DATABASE'] === '1' ? EVERY_DATABASE : over;
  hostContract(host, {
    databases: withKeys.filter(({ name }) => names.includes(name)),
    alone: (test, kind) => {
      containerContract(test);
      idempotencyContract(test, kind);
      alone(test);
    },
  });
}
