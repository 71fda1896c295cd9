import { createHash } from 'node:crypto';

const PREPARABLE = /^\s*(?:select|insert|update|delete|with|values)\b/i;
/** The server and the driver keep every name for as long as the connection lives, so only so many texts get one. */
const MOST_NAMES = 500;

/**
 * Gives each statement text one name, so that the server parses and plans it once per connection. The name is made from
 * the text: behind a pooler that mixes up the connections of several programs, it can be missing, but never be another's.
 */
export class StatementNames {
  readonly #names = new Map<string, string>();

  nameOf(sql: string): string | undefined {
    const known = this.#names.get(sql);
    if (known !== undefined) return known;
    if (this.#names.size >= MOST_NAMES || !PREPARABLE.test(sql)) return undefined;
    const name = `ambit_${createHash('sha256').update(sql).digest('hex').slice(0, 32)}`;
    this.#names.set(sql, name);
    return name;
  }
}
