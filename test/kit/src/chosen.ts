/** `npm test` tries what all databases guarantee on these two, and ALL_TESTS=1, as the step `contracts` sets it, on each of them. */
const QUICK: ReadonlySet<string> = new Set(['PostgreSQL', 'SQLite']);

export const chosen = <T extends { readonly name: string }>(databases: readonly T[]): readonly T[] =>
  process.env['ALL_TESTS'] === '1' ? databases : databases.filter(({ name }) => QUICK.has(name));
