import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { count } from './format.js';
import { useStill } from './parts.js';
import { sorted } from './rows.js';

export interface Column<Row> {
  readonly name: string;
  /** An explanation of the name. */
  readonly about?: string;
  /** The value that rows are sorted by: the largest number first. */
  readonly value: (row: Row) => number | string;
  /** What the cell shows; by default the value. */
  readonly show?: (row: Row) => ComponentChildren;
  readonly mood?: (row: Row) => 'bad' | undefined;
  /** Its cells are texts, which may be broken. */
  readonly isText?: boolean;
}

/** A row that nobody finds is not worth its time; sorting and the search show others. */
const MOST = 200;

/** A table whose rows are sorted by the buttons in its header. The first column names the row. */
export function Table<Row>({
  label,
  rows,
  columns,
  sortedBy,
  idOf,
}: {
  readonly label: string;
  readonly rows: readonly Row[];
  readonly columns: readonly Column<Row>[];
  readonly sortedBy: string;
  readonly idOf: (row: Row) => string;
}): JSX.Element {
  const sorting = useSignal({ column: sortedBy, descending: true });
  const words = useSignal('');
  const isOver = useSignal(false);
  const column = columns.find(({ name }) => name === sorting.value.column) ?? columns[0];
  const found = rows.filter((row) => idOf(row).toLowerCase().includes(words.value.toLowerCase().trim()));
  const inOrder = column ? sorted(found, column.value, sorting.value.descending) : found;
  const { shown } = useStill(inOrder.slice(0, MOST), idOf, isOver.value);
  const sortBy = (name: string): void => {
    const isSame = sorting.value.column === name;
    const first = rows[0];
    const isNumber = first !== undefined && typeof columns.find((one) => one.name === name)?.value(first) === 'number';
    sorting.value = { column: name, descending: isSame ? !sorting.value.descending : isNumber };
    isOver.value = false;
  };
  return (
    <>
      <div class="table-tools chips">
        <input
          type="search"
          placeholder="Find"
          aria-label={`Find in ${label}`}
          value={words.value}
          onInput={({ currentTarget }) => (words.value = currentTarget.value)}
        />
        <p class="hint" role="status">
          {noteOf(shown.length, found.length, rows.length)}
        </p>
      </div>
      <div class="scroller" role="region" aria-label={label} tabIndex={0}>
        <table class="data" aria-label={label}>
          <thead>
            <tr>
              {columns.map(({ name, about, isText }) => (
                <th
                  key={name}
                  scope="col"
                  class={isText ? 'text' : undefined}
                  aria-sort={
                    name === sorting.value.column ? (sorting.value.descending ? 'descending' : 'ascending') : undefined
                  }
                >
                  <button title={about} onClick={() => sortBy(name)}>
                    {name}
                  </button>
                </th>
              ))}
            </tr>
          </thead>
          <tbody
            onPointerEnter={({ pointerType }) => (isOver.value = pointerType === 'mouse')}
            onPointerLeave={() => (isOver.value = false)}
          >
            {shown.map((row) => (
              <tr key={idOf(row)}>
                {columns.map(({ name, value, show = value, mood, isText }, i) =>
                  i === 0 ? (
                    <th key={name} scope="row">
                      {show(row)}
                    </th>
                  ) : (
                    <td key={name} class={isText ? 'text' : undefined} data-mood={mood?.(row)}>
                      {show(row)}
                    </td>
                  ),
                )}
              </tr>
            ))}
          </tbody>
        </table>
      </div>
    </>
  );
}

function noteOf(shown: number, found: number, all: number): string {
  if (shown < found) return `The first ${count(shown)} of ${count(found)}`;
  return found < all ? `${count(found)} of ${count(all)}` : '';
}
