const PREPARABLE = /^\s*(?:select|insert|update|delete|with|values)\b/i;
/** The server and the driver keep every name for as long as the connection lives, so only so many texts get one. */
const MOST_NAMES = 500;

/** Gives each statement text one name, so that the server parses and plans it once per connection. */
export class StatementNames {
  readonly #names = new Map<string, string>();

  nameOf(sql: string): string | undefined {
    const known = this.#names.get(sql);
    if (known !== undefined) return known;
    if (this.#names.size >= MOST_NAMES || !PREPARABLE.test(sql)) return undefined;
    const name = `ambit_${this.#names.size + 1}`;
    this.#names.set(sql, name);
    return name;
  }
}
