export interface Sorting {
  readonly column: string;
  readonly descending: boolean;
}

/** Sorts by the values of one column; equal rows stay in the order in which the server sent them. */
export function sorted<Row>(
  rows: readonly Row[],
  valueOf: (row: Row) => number | string,
  descending: boolean,
): readonly Row[] {
  const sign = descending ? -1 : 1;
  return rows
    .map((row) => ({ row, value: valueOf(row) }))
    .toSorted((one, other) => sign * compare(one.value, other.value))
    .map(({ row }) => row);
}

function compare(one: number | string, other: number | string): number {
  if (typeof one === 'number' && typeof other === 'number') return one - other;
  return String(one).localeCompare(String(other), 'en');
}
