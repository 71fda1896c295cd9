import type { ExecuteResult } from '../core/contract.js';
import { commandOf } from '../sql/command.js';
import { SQLITE } from '../sql/lexer.js';
import { resultOfChanges, resultOfRows } from './result.js';
import { isExplain } from './session-state.js';
import type { DriverStatement, PreparedStatement } from './statement.js';

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
      return resultOfChanges(changes, lastInsertRowid, command);
    }
    const rows = statement.all(values) as unknown[][];
    // Until it is reset it is in progress for SQLite, and no COMMIT succeeds; only get() resets it.
    if (this.#isExplain) statement.get(values);
    const names = statement.columns().map(({ name }) => name);
    return resultOfRows(rows, names, { command, asArrays });
  }
}
