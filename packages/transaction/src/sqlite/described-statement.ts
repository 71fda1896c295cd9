import type { ExecuteResult } from '../core/contract.js';
import { commandOf, countsRows } from '../sql/command.js';
import { SQLITE } from '../sql/lexer.js';
import { isExplain } from './session-state.js';
import { type DriverStatement, ourValue, type PreparedStatement } from './statement.js';

/** What `execute()` runs: it asks for rows as arrays, since an object has one value only for two columns of the same name. */
export class DescribedStatement {
  readonly #prepared: PreparedStatement;
  readonly #statement: DriverStatement;
  readonly #command: string;
  readonly #isExplain: boolean;

  constructor(prepared: PreparedStatement, sql: string) {
    this.#prepared = prepared;
    const statement = prepared.prepare();
    this.#statement = statement.reader ? statement.raw() : statement;
    this.#command = commandOf(sql, SQLITE);
    this.#isExplain = isExplain(sql);
  }

  execute(params: readonly unknown[], asArrays: boolean): ExecuteResult<never> {
    const values = this.#prepared.valuesOf(params);
    const statement = this.#statement;
    const command = this.#command;
    if (!statement.reader) {
      const { changes, lastInsertRowid } = statement.run(values);
      const result = { rows: [], rowCount: countsRows(command) ? changes : null, command, fields: [] };
      // Without an INSERT it is that of an earlier one.
      if (command !== 'INSERT' || changes === 0) return result;
      return { ...result, insertId: Number(lastInsertRowid) };
    }
    const rows = (statement.all(values) as unknown[][]).map((row) => row.map(ourValue));
    // Until it is reset it is in progress for SQLite, and no COMMIT succeeds; only get() resets it.
    if (this.#isExplain) statement.get(values);
    const fields = statement.columns().map(({ name }) => ({ name }));
    const given = asArrays ? rows : rows.map((row) => asObject(row, fields));
    return { rows: given as never[], rowCount: countsRows(command) ? rows.length : null, command, fields };
  }
}

function asObject(row: readonly unknown[], fields: readonly { readonly name: string }[]): object {
  const cells: Record<string, unknown> = {};
  for (const [index, { name }] of fields.entries()) cells[name] = row[index];
  return cells;
}
