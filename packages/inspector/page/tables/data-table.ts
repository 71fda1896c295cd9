import { h, setText } from '../dom.js';
import { count } from '../format.js';
import { sorted, type Sorting } from './rows.js';

export interface Column<Row> {
  readonly name: string;
  /** An explanation of the name. */
  readonly about?: string;
  /** The value that rows are sorted by: the largest number first. */
  readonly value: (row: Row) => number | string;
  readonly text: (row: Row) => string;
  readonly mood?: (row: Row) => '' | 'bad' | 'warn';
}

export interface TableParts<Row> {
  readonly label: string;
  /** The first one names the row; its cell is a button where `onOpen` is given. */
  readonly columns: readonly Column<Row>[];
  readonly sorting: Sorting;
  readonly idOf: (row: Row) => string;
  readonly onOpen?: (row: Row) => void;
  readonly openTitle?: string;
}

interface Line<Row> {
  readonly element: HTMLTableRowElement;
  readonly cells: readonly HTMLElement[];
  row: Row;
}

/** A row that nobody finds is not worth its time; sorting and the search show others. */
const MOST = 200;

/** A table whose rows are sorted by the buttons in its header, and only written where they change. */
export class DataTable<Row> {
  readonly element: HTMLElement;
  readonly #parts: TableParts<Row>;
  readonly #body = h('tbody');
  readonly #note = h('p', { class: 'hint table-note', role: 'status' });
  readonly #headers: readonly HTMLTableCellElement[];
  readonly #lines = new Map<string, Line<Row>>();
  #rows: readonly Row[] = [];
  #sorting: Sorting;
  #words = '';

  constructor(parts: TableParts<Row>) {
    this.#parts = parts;
    this.#sorting = parts.sorting;
    this.#headers = parts.columns.map((column) => this.#header(column));
    const table = h(
      'table',
      { class: 'data', 'aria-label': parts.label },
      h('thead', {}, h('tr', {}, ...this.#headers)),
      this.#body,
    );
    const scroller = h('div', { class: 'scroller', role: 'region', 'aria-label': parts.label, tabindex: '0' }, table);
    this.element = h('div', { class: 'table' }, this.#search(), scroller);
    this.#markSorting();
  }

  show(rows: readonly Row[]): void {
    this.#rows = rows;
    this.#draw(this.#isBusy());
  }

  /** Sorts by a column, as its header does. */
  sortBy(sorting: Sorting): void {
    this.#sorting = sorting;
    this.#markSorting();
    this.#draw(false);
  }

  #search(): HTMLElement {
    const input = h('input', { type: 'search', placeholder: 'Find', 'aria-label': `Find in ${this.#parts.label}` });
    input.addEventListener('input', () => {
      this.#words = input.value.toLowerCase().trim();
      this.#draw(false);
    });
    return h('div', { class: 'table-tools' }, input, this.#note);
  }

  #header(column: Column<Row>): HTMLTableCellElement {
    const button = h('button', { title: column.about }, column.name);
    button.addEventListener('click', () => {
      const isSame = this.#sorting.column === column.name;
      const first = this.#rows[0];
      const isNumber = first !== undefined && typeof column.value(first) === 'number';
      this.sortBy({ column: column.name, descending: isSame ? !this.#sorting.descending : isNumber });
    });
    return h('th', { scope: 'col' }, button);
  }

  #markSorting(): void {
    for (const [i, header] of this.#headers.entries()) {
      const isSorted = this.#parts.columns[i]?.name === this.#sorting.column;
      if (isSorted) header.setAttribute('aria-sort', this.#sorting.descending ? 'descending' : 'ascending');
      else header.removeAttribute('aria-sort');
    }
  }

  /** Under a mouse, and while one of its buttons has the focus, no row moves. */
  #isBusy(): boolean {
    const isPointed = this.#body.matches(':hover') && matchMedia('(hover: hover)').matches;
    return isPointed || this.#body.contains(document.activeElement);
  }

  #draw(keepOrder: boolean): void {
    const { columns, idOf } = this.#parts;
    const column = columns.find(({ name }) => name === this.#sorting.column) ?? columns[0];
    if (!column) return;
    const found = this.#rows.filter((row) => this.#fits(row));
    const shown = sorted(found, column.value, this.#sorting.descending).slice(0, MOST);
    const wanted = new Map(shown.map((row) => [idOf(row), row]));
    for (const [id, { element }] of this.#lines) {
      if (wanted.has(id)) continue;
      element.remove();
      this.#lines.delete(id);
    }
    for (const [id, row] of wanted) this.#fill(id, row);
    if (!keepOrder) this.#order([...wanted.keys()]);
    setText(this.#note, noteOf(shown.length, found.length, this.#rows.length));
  }

  #fits(row: Row): boolean {
    return this.#words === '' || this.#parts.idOf(row).toLowerCase().includes(this.#words);
  }

  #fill(id: string, row: Row): void {
    const line = this.#lines.get(id) ?? this.#newLine(id, row);
    line.row = row;
    for (const [i, column] of this.#parts.columns.entries()) {
      const cell = line.cells[i];
      if (!cell) continue;
      setText(cell, column.text(row));
      const mood = column.mood?.(row) ?? '';
      if ((cell.dataset['mood'] ?? '') !== mood) cell.dataset['mood'] = mood;
    }
  }

  #newLine(id: string, row: Row): Line<Row> {
    const { columns, onOpen, openTitle } = this.#parts;
    const name = onOpen ? h('button', { class: 'link', title: openTitle }) : h('span');
    const rest = columns.slice(1).map(() => h('td'));
    const element = h('tr', {}, h('th', { scope: 'row' }, name), ...rest);
    const line: Line<Row> = { element, cells: [name, ...rest], row };
    if (onOpen) name.addEventListener('click', () => onOpen(line.row));
    this.#lines.set(id, line);
    this.#body.append(element);
    return line;
  }

  #order(ids: readonly string[]): void {
    let next = this.#body.firstElementChild;
    for (const id of ids) {
      const element = this.#lines.get(id)?.element;
      if (!element) continue;
      if (element === next) next = next.nextElementSibling;
      else this.#body.insertBefore(element, next);
    }
  }
}

function noteOf(shown: number, found: number, all: number): string {
  if (shown < found) return `The first ${count(shown)} of ${count(found)}`;
  return found < all ? `${count(found)} of ${count(all)}` : '';
}

const EVERY_MS = 1000;

/** Reads something each second, only while it is shown. */
export class Polled<T> {
  readonly #read: () => Promise<T>;
  readonly #take: (result: T) => void;
  readonly #fail: () => void;
  #shown = false;
  #timer: ReturnType<typeof setTimeout> | undefined;
  #reading = false;

  constructor(read: () => Promise<T>, take: (result: T) => void, fail: () => void) {
    this.#read = read;
    this.#take = take;
    this.#fail = fail;
  }

  get shown(): boolean {
    return this.#shown;
  }

  set shown(shown: boolean) {
    this.#shown = shown;
    clearTimeout(this.#timer);
    if (shown && !this.#reading) void this.#next();
  }

  async #next(): Promise<void> {
    this.#reading = true;
    try {
      // A tab in the background shows nothing to anybody.
      if (!document.hidden) this.#take(await this.#read());
    } catch {
      this.#fail();
    }
    this.#reading = false;
    if (this.#shown) this.#timer = setTimeout(() => void this.#next(), EVERY_MS);
  }
}
