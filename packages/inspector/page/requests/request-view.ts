import type { RequestDetails, RequestSummary, ScopeSpan, Step } from '../../src/wire.js';
import { copyButton, h } from '../dom.js';
import { MANY_ALIKE } from '../filter/filter.js';
import { clock, count, duration, lastOf, lifetimeOf, nameOfFinding } from '../format.js';
import { moodOf } from '../graph/caption.js';
import { readStored, writeStored } from '../navigation.js';
import { type ComparedWith, comparison } from './comparison.js';
import {
  editorLink,
  EDITORS,
  type EditorSetting,
  type Fold,
  foldSteps,
  type StatementGroup,
  statementGroups,
  timeParts,
} from './request-data.js';
import { problemsOf } from './request-export.js';

const STORED = 'ambit-inspector-editor';
const NONE: EditorSetting = { editor: '', folder: '' };

/** Shows lines of code, which open in the editor that the user has chosen. */
export class CodePlaces {
  #setting: EditorSetting = readSetting();

  /** One line of code, with a button that copies it. */
  show(where: string): HTMLElement {
    const href = editorLink(where, this.#setting);
    const title = href === undefined ? where : `Open ${where} in ${EDITORS[this.#setting.editor]}`;
    const code = h('code', {}, where);
    return h(
      'span',
      { class: 'place' },
      href === undefined ? code : h('a', { href, title }, code),
      copyButton(() => where, `Copy ${where}`),
    );
  }

  /** Lets the user choose the editor. */
  settings(onChange: () => void): HTMLElement {
    const options = Object.entries(EDITORS).map(([value, name]) => h('option', { value }, name));
    const editor = h('select', {}, h('option', { value: '' }, 'none'), ...options);
    const folder = h('input', { type: 'text', spellcheck: 'false', placeholder: '/home/me/shop' });
    editor.value = this.#setting.editor;
    folder.value = this.#setting.folder;
    const change = (): void => {
      this.#setting = { editor: editor.value, folder: folder.value.trim() };
      writeStored(STORED, this.#setting);
      onChange();
    };
    editor.addEventListener('change', change);
    folder.addEventListener('change', change);
    return h(
      'details',
      { class: 'editor' },
      h('summary', {}, 'Open lines of code in an editor'),
      h('label', {}, 'Editor ', editor),
      h('label', {}, 'Folder of the project on this machine ', folder),
    );
  }
}

function readSetting(): EditorSetting {
  const stored = readStored(STORED);
  if (typeof stored !== 'object' || stored === null) return NONE;
  const { editor, folder } = stored as Partial<Record<keyof EditorSetting, unknown>>;
  return typeof editor === 'string' && typeof folder === 'string' ? { editor, folder } : NONE;
}

export interface Mark {
  readonly text: string;
  readonly mood: '' | 'bad' | 'good' | 'warn';
  readonly title?: string;
}

/** Waiting for less than this is normal. */
const LONG_WAIT_MS = 10;

/** The status of the response, or the state of a request without one. */
export function stateMark({ state, status = 0 }: RequestSummary): Mark {
  if (state === 'open') return { text: 'open', mood: '' };
  if (state === 'aborted') return { text: 'aborted', mood: 'bad' };
  return { text: String(status), mood: status >= 500 ? 'bad' : status >= 400 ? 'warn' : '' };
}

/** The marks of a request besides its status, the worst first. */
export function marksOf(request: RequestSummary, slowMs: number): Mark[] {
  const { leaks, failures, findings, outcome, alike, waited, statements, milliseconds = 0 } = request;
  const marks: (Mark | false)[] = [
    leaks > 0 && { text: 'leak', mood: 'bad', title: 'A scope is still open' },
    failures > 0 && { text: times('failure', failures), mood: 'bad', title: 'A service could not be created' },
    findings > 0 && { text: times('check', findings), mood: 'bad', title: 'The transaction check has found something' },
    outcome !== undefined && { text: outcome, mood: outcome === 'committed' ? 'good' : 'bad' },
    milliseconds >= slowMs && { text: 'slow', mood: 'warn', title: `It took longer than ${duration(slowMs)}` },
    alike >= MANY_ALIKE && { text: `N+1 ×${alike}`, mood: 'warn', title: `One statement was sent ${alike} times` },
    waited >= LONG_WAIT_MS && {
      text: `waited ${duration(waited)}`,
      mood: 'warn',
      title: `It waited ${duration(waited)} for a connection`,
    },
    statements > 0 && {
      text: `${statements} SQL`,
      mood: '',
      title: `${statements} ${statements === 1 ? 'statement' : 'statements'}`,
    },
  ];
  return marks.filter((mark) => mark !== false);
}

function stateBadge(request: RequestSummary): HTMLElement {
  return badge(stateMark(request));
}

export function badge({ text, mood, title }: Mark): HTMLElement {
  return h('span', { class: `badge ${mood}`, title }, text);
}

function times(name: string, number: number): string {
  return number === 1 ? name : `${name} ×${number}`;
}

/** Summarizes a request: its route, its outcome, and where its time went. */
function headingOf(request: RequestDetails, slowMs: number): HTMLElement {
  const { method, route, milliseconds, arrived, requestId, steps } = request;
  const outside = steps.filter((step) => step.outside).length;
  return h(
    'header',
    { class: 'about' },
    h('h2', {}, h('span', { class: 'method' }, method), ` ${route}`),
    h(
      'p',
      { class: 'chips' },
      stateBadge(request),
      badge({ text: milliseconds === undefined ? 'in progress' : duration(milliseconds), mood: '' }),
      ...marksOf(request, slowMs).map(badge),
      outside > 0 &&
        badge({ text: `${outside} outside`, mood: '', title: 'Statements that were sent outside of a transaction' }),
      h('span', { class: 'hint' }, `at ${clock(arrived)}`),
    ),
    requestId !== undefined &&
      h(
        'p',
        { class: 'hint request-id' },
        'request id ',
        h('code', {}, requestId),
        copyButton(() => requestId, 'Copy the request id'),
      ),
  );
}

/** A bar of what the time was spent on, and the same in words. */
function timeBar(request: RequestDetails): HTMLElement | undefined {
  const parts = timeParts(request).filter(({ milliseconds, kind }) => milliseconds > 0.005 || kind === 'rest');
  if (parts.length === 0) return undefined;
  const all = parts.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  const bars = parts.map(({ kind, milliseconds }) => {
    const bar = h('i', { 'data-part': kind });
    bar.style.setProperty('--part', String(milliseconds / all));
    return bar;
  });
  const names = parts.map(({ name, kind, milliseconds }) =>
    h('li', {}, h('i', { 'data-part': kind }), `${name} `, h('b', {}, duration(milliseconds))),
  );
  return h(
    'section',
    { class: 'time-parts', 'aria-label': 'What the time was spent on' },
    h('div', { class: 'stack', 'aria-hidden': 'true' }, ...bars),
    h('ul', {}, ...names),
  );
}

/** As many as somebody reads. */
const MOST_PLACES = 100;

/** The statements of a request by their text; `opened` are the texts whose statements are listed one by one. */
function statementList(request: RequestDetails, places: CodePlaces, opened: Set<string>): HTMLElement | undefined {
  const groups = statementGroups(request);
  if (groups.length === 0) return undefined;
  return h(
    'section',
    { class: 'statements', 'aria-label': 'Statements' },
    h('h3', {}, sumOf(request)),
    ...groups.map((group) => groupElement(group, places, opened)),
  );
}

/** `61 statements, 60 alike, 4 of 11 ms` */
function sumOf({ statements, alike, statementMs, milliseconds }: RequestDetails): string {
  const parts = [
    `${count(statements)} ${statements === 1 ? 'statement' : 'statements'}`,
    ...(alike > 1 ? [`${count(alike)} alike`] : []),
    milliseconds === undefined ? duration(statementMs) : `${duration(statementMs)} of ${duration(milliseconds)}`,
  ];
  return parts.join(', ');
}

function groupElement(group: StatementGroup, places: CodePlaces, opened: Set<string>): HTMLElement {
  const { sql, steps, totalMs } = group;
  const list = h('ol', {});
  const element = h(
    'details',
    { class: 'statement-group', open: opened.has(sql) ? '' : undefined },
    h(
      'summary',
      {},
      h('span', { class: 'times' }, `${count(steps.length)}×`),
      h('code', {}, sql),
      h('span', { class: 'marks' }, ...marksOfGroup(group).map(badge)),
      h('span', { class: 'took' }, duration(totalMs)),
    ),
    list,
  );
  // A closed group costs nothing.
  const fill = (): void => {
    if (element.open && list.childElementCount === 0) list.append(...items(group, places));
  };
  element.addEventListener('toggle', () => {
    if (element.open) opened.add(sql);
    else opened.delete(sql);
    fill();
  });
  fill();
  return element;
}

function marksOfGroup({ repeated, slow, outside, failed, steps, longestMs }: StatementGroup): Mark[] {
  const marks: (Mark | false)[] = [
    failed > 0 && { text: failed === 1 ? 'failed' : `${count(failed)} failed`, mood: 'bad' },
    repeated && { text: 'N+1', mood: 'warn', title: `Sent ${steps.length} times: one statement may do` },
    slow && { text: 'slow', mood: 'warn', title: `The longest took ${duration(longestMs)}` },
    outside > 0 && { text: 'outside', mood: '', title: 'Sent outside of a transaction' },
  ];
  return marks.filter((mark) => mark !== false);
}

function items({ steps, sql }: StatementGroup, places: CodePlaces): HTMLElement[] {
  const item = ({ at, took = 0, where, error, outside }: Step): HTMLElement =>
    h(
      'li',
      {},
      h('span', { class: 'when' }, `at ${duration(at)}`),
      h('span', { class: 'took' }, duration(took)),
      where === undefined ? h('span', { class: 'hint' }, 'no line of code is known') : places.show(where),
      outside && badge({ text: 'outside', mood: '' }),
      error !== undefined && h('span', { class: 'badge bad' }, error),
    );
  const more = steps.length - MOST_PLACES;
  return [
    h(
      'li',
      { class: 'whole' },
      h('code', {}, sql),
      copyButton(() => sql, 'Copy the statement'),
    ),
    ...steps.slice(0, MOST_PLACES).map(item),
    ...(more > 0 ? [h('li', { class: 'hint' }, `and ${count(more)} more`)] : []),
  ];
}

const NAMES: Partial<Record<Step['kind'], string>> = {
  arrived: 'request arrives',
  created: 'create',
  failed: 'failed to create',
  connection: 'connection',
  'no connection': 'no connection',
  begin: 'BEGIN',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  'commit unknown': 'COMMIT or not',
  responded: 'response',
  aborted: 'client disconnected',
  disposed: 'dispose',
};

/** Lists the events of a request in order; `unfolded` are the texts of statements whose repetitions are shown one by one. */
function waterfall(request: RequestDetails, unfolded: Set<string>): HTMLElement {
  const { steps, spans, elapsed = 0 } = request;
  const length = Math.max(
    ...steps.map(({ at, took = 0 }) => at + took),
    ...spans.map(({ closed = 0 }) => closed),
    elapsed,
    0.01,
  );
  // A scope is one bar, so its closing has no row.
  const folds = foldSteps(steps.filter(({ kind }) => kind !== 'scope closed'));
  const rows = folds.flatMap((fold) => foldRows(request, fold, length, unfolded));
  return h(
    'div',
    { class: 'waterfall', role: 'table', 'aria-label': 'What happened, in order' },
    axis(length),
    ...rows,
  );
}

function axis(length: number): HTMLElement {
  const marks = [0, 0.25, 0.5, 0.75, 1].map((part) => {
    const mark = h('span', {}, part === 0 ? '0' : duration(length * part));
    mark.style.setProperty('--at', String(part));
    return mark;
  });
  return h(
    'div',
    { class: 'row axis', 'aria-hidden': 'true' },
    h('span', { class: 'label' }),
    h('span', { class: 'track' }, ...marks),
  );
}

function foldRows(request: RequestDetails, fold: Fold, length: number, unfolded: Set<string>): HTMLElement[] {
  const [first] = fold;
  if (fold.length === 1) return [row(request, first, length)];
  const sql = first.sql ?? '';
  const last = fold.at(-1) ?? first;
  const whole = { ...first, took: last.at + (last.took ?? 0) - first.at };
  const toggle = h('button', { class: 'fold-steps' }, `${fold.length}×`);
  const head = row(request, whole, length, toggle);
  const rows = fold.map((step) => row(request, step, length));
  const show = (isOpen: boolean): void => {
    toggle.setAttribute('aria-expanded', String(isOpen));
    toggle.title = isOpen ? 'Show them as one' : 'Show each of them';
    for (const one of rows) one.hidden = !isOpen;
  };
  toggle.addEventListener('click', () => {
    if (!unfolded.delete(sql)) unfolded.add(sql);
    show(unfolded.has(sql));
  });
  show(unfolded.has(sql));
  return [head, ...rows];
}

function row({ spans, status }: RequestDetails, step: Step, length: number, toggle?: HTMLElement): HTMLElement {
  const { kind, at, span } = step;
  const scope = span === undefined ? undefined : spans[span];
  const isScope = kind === 'scope opened';
  const took = isScope && scope ? (scope.closed ?? length) - scope.opened : (step.took ?? 0);
  const depth = scope ? scope.box.split(' > ').length - 1 : 0;
  const bar = h('i', { class: took > 0 ? 'bar' : 'bar point' });
  bar.style.setProperty('--at', String(at / length));
  bar.style.setProperty('--took', String(took / length));
  const element = h(
    'div',
    {
      class: ['row', isScope ? 'scope' : '', scope && isScope && scope.closed === undefined ? 'unclosed' : ''].join(
        ' ',
      ),
      role: 'row',
      'data-kind': kind,
      'data-mood': moodOfStep(step) || undefined,
      'data-lifetime': scope ? lifetimeOf(scope.box) : undefined,
    },
    label(step, scope, status, toggle),
    h('span', { class: 'track', role: 'cell' }, bar),
    h('span', { class: 'took', role: 'cell' }, took > 0 ? duration(took) : ''),
  );
  element.style.setProperty('--depth', String(depth));
  return element;
}

/** A line that the application wrote as an error is bad news, too. */
function moodOfStep(step: Step): string {
  return /^(?:error|fatal)$/i.test(step.line?.level ?? '') ? 'bad' : moodOf(step);
}

function label(
  step: Step,
  scope: ScopeSpan | undefined,
  status: number | undefined,
  toggle?: HTMLElement,
): HTMLElement {
  const { sql, where, error, outside } = step;
  const name = nameOf(step, scope);
  const text = textOf(step, status);
  return h(
    'span',
    { class: 'label', role: 'cell', title: [name, text, sql, error, where].filter(Boolean).join(' ') },
    toggle,
    name !== '' && h('b', {}, name),
    text !== '' && h('span', {}, text),
    outside && h('span', { class: 'badge' }, 'outside'),
    sql !== undefined && h('code', {}, sql),
    error !== undefined && h('em', {}, error),
    where !== undefined && h('em', { class: 'where' }, where),
  );
}

function nameOf({ kind, found, line }: Step, scope: ScopeSpan | undefined): string {
  if (kind === 'scope opened') return `${lastOf(scope?.box ?? '')} scope`;
  if (line) return `${line.source} ${line.level}`;
  return NAMES[kind] ?? (found === undefined ? '' : nameOfFinding(found));
}

function textOf({ kind, key = '', path = [], line }: Step, status: number | undefined): string {
  if (kind === 'responded') return String(status ?? '');
  if (kind === 'failed' && path.length > 1) return path.join(' -> ');
  return line?.text ?? key;
}

/** Everything about one request. What the user has opened in it stays so, while the request goes on. */
export class RequestView {
  readonly #places = new CodePlaces();
  readonly #slowMs: () => number;
  readonly #opened = new Set<string>();
  readonly #unfolded = new Set<string>();
  readonly #settings = this.#places.settings(() => this.#redraw());
  readonly #content = h('div', { class: 'request-view' });
  readonly #element: HTMLElement;
  #request: RequestDetails | undefined;
  #compared: ComparedWith | undefined;

  constructor(element: HTMLElement, slowMs: () => number) {
    this.#element = element;
    this.#slowMs = slowMs;
  }

  /** Forgets what was opened: another request is shown next. */
  clear(...instead: readonly Node[]): void {
    this.#request = undefined;
    this.#compared = undefined;
    this.#opened.clear();
    this.#unfolded.clear();
    this.#element.replaceChildren(...instead);
  }

  /** Shows it beside another request, or alone again. */
  compare(other: ComparedWith | undefined): void {
    this.#compared = other;
    if (other) this.#element.scrollTop = 0;
    this.#redraw();
  }

  show(request: RequestDetails): void {
    this.#request = request;
    const parts = [
      this.#compared && comparison(request, this.#compared, () => this.compare(undefined)),
      headingOf(request, this.#slowMs()),
      ...problemsOf(request, this.#places),
      timeBar(request),
      statementList(request, this.#places, this.#opened),
      waterfall(request, this.#unfolded),
      request.dropped > 0 && h('p', { class: 'hint' }, `and ${request.dropped} more steps, which were not kept`),
    ];
    this.#content.replaceChildren(...parts.filter((part) => part !== undefined && part !== false));
    // The settings keep their place and the focus.
    if (this.#settings.parentElement !== this.#element) this.#element.replaceChildren(this.#content, this.#settings);
  }

  #redraw(): void {
    if (this.#request) this.show(this.#request);
  }
}
