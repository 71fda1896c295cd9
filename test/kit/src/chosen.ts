/** `npm test` tries what all databases guarantee on these two, the step `contracts` on the others. */
const QUICK: ReadonlySet<string> = new Set(['PostgreSQL', 'SQLite']);

export const chosen = <T extends { readonly name: string }>(databases: readonly T[]): readonly T[] =>
  databases.filter(({ name }) => QUICK.has(name) !== (process.env['OTHER_DATABASES'] === '1'));
