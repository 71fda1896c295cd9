import type { ScopeSpan, RequestDetails, Step } from '../src/wire.js';
import { h } from './dom.js';
import { clock, duration, lastOf, lifetimeOf, nameOfFinding } from './format.js';
import { findingBadge, outcomeBadge, stateBadge } from './request-badges.js';
import { moodOf } from './caption.js';

const NAMES: Partial<Record<Step['kind'], string>> = {
  arrived: 'request arrives',
  created: 'create',
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

/** One request as a waterfall. */
export function waterfall(request: RequestDetails): Node[] {
  const { steps, spans, dropped, elapsed = 0 } = request;
  const length = Math.max(
    ...steps.map(({ at, took = 0 }) => at + took),
    ...spans.map(({ closed = 0 }) => closed),
    elapsed,
    0.01,
  );
  // A scope is one bar, so its closing has no row.
  const rows = steps.filter(({ kind }) => kind !== 'scope closed').map((step) => row(request, step, length));
  return [
    heading(request),
    ...spans.filter(({ where }) => where).map(leak),
    h('div', { class: 'waterfall', role: 'table', 'aria-label': 'What happened, in order' }, axis(length), ...rows),
    ...(dropped > 0 ? [h('p', { class: 'hint' }, `and ${dropped} more steps, which were not kept`)] : []),
  ];
}

function heading(request: RequestDetails): HTMLElement {
  return h(
    'header',
    { class: 'about' },
    h('h2', {}, h('span', { class: 'method' }, request.method), ` ${request.route}`),
    h(
      'p',
      { class: 'chips' },
      stateBadge(request),
      outcomeBadge(request),
      request.leaks > 0 && h('span', { class: 'badge bad' }, 'leak'),
      findingBadge(request),
      h(
        'span',
        { class: 'badge' },
        request.milliseconds === undefined ? 'in progress' : duration(request.milliseconds),
      ),
      h('span', { class: 'hint' }, `at ${clock(request.arrived)}`),
    ),
  );
}

function leak({ box, where = [], closed }: ScopeSpan): HTMLElement {
  return h(
    'div',
    { class: 'problem' },
    h(
      'strong',
      {},
      `A ${lastOf(box)} scope ${closed === undefined ? 'is still open' : 'was closed long'} after the response. It was opened at`,
    ),
    h('pre', {}, where.join('\n')),
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

function row({ spans, status }: RequestDetails, step: Step, length: number): HTMLElement {
  const { kind, at, span, error } = step;
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
      'data-mood': moodOf(step) || undefined,
      'data-lifetime': scope ? lifetimeOf(scope.box) : undefined,
    },
    label(step, scope, status, error),
    h('span', { class: 'track', role: 'cell' }, bar),
    h('span', { class: 'took', role: 'cell' }, took > 0 ? duration(took) : ''),
  );
  element.style.setProperty('--depth', String(depth));
  return element;
}

function label(
  { kind, key, sql, found, where }: Step,
  scope: ScopeSpan | undefined,
  status: number | undefined,
  error?: string,
): HTMLElement {
  const name = kind === 'scope opened' ? `${lastOf(scope?.box ?? '')} scope` : NAMES[kind];
  const what = name ?? (found === undefined ? '' : nameOfFinding(found));
  const text = kind === 'responded' ? String(status ?? '') : (key ?? '');
  return h(
    'span',
    { class: 'label', role: 'cell', title: sql ?? key ?? what },
    what !== '' && h('b', {}, what),
    text !== '' && h('span', {}, text),
    sql !== undefined && h('code', {}, sql),
    where !== undefined && h('em', {}, where),
    error !== undefined && h('em', {}, error),
  );
}
