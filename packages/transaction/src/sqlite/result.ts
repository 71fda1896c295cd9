import type { ExecuteResult } from '../core/contract.js';
import { countsRows } from '../sql/command.js';
import { ourValue } from './statement.js';

/** The result of a statement that gives rows, from the driver's arrays. */
export function resultOfRows(
  rows: readonly (readonly unknown[])[],
  names: readonly string[],
  { command, asArrays }: { command: string; asArrays: boolean },
): ExecuteResult<never> {
  const values = rows.map((row) => row.map(ourValue));
  const given = asArrays ? values : values.map((row) => asObject(row, names));
  return {
    rows: given as never[],
    rowCount: countsRows(command) ? rows.length : null,
    command,
    fields: names.map((name) => ({ name })),
  };
}

export function resultOfChanges(changes: number, rowid: number | bigint, command: string): ExecuteResult<never> {
  const result = { rows: [], rowCount: countsRows(command) ? changes : null, command, fields: [] };
  // Without an INSERT it is that of an earlier one.
  return command === 'INSERT' && changes > 0 ? { ...result, insertId: Number(rowid) } : result;
}

function asObject(row: readonly unknown[], names: readonly string[]): object {
  const cells: Record<string, unknown> = {};
  for (const [index, name] of names.entries()) cells[name] = row[index];
  return cells;
}
