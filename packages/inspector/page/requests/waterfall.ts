import type { RequestDetails, ScopeSpan, Step } from '../../src/wire.js';
import { moodOf } from '../graph/caption.js';
import { h } from '../dom.js';
import { duration, lastOf, lifetimeOf, nameOfFinding } from '../format.js';
import { type Fold, foldSteps } from './folded-steps.js';

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

/** What happened in a request, in order; `unfolded` are the texts of statements whose repetitions are shown one by one. */
export function waterfall(request: RequestDetails, unfolded: Set<string>): HTMLElement {
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
