import type { RequestDetails } from '../../src/wire.js';
import { compareRequests, differenceOf, type Pair } from './compared.js';
import { h } from '../dom.js';
import { count, duration } from '../format.js';

export interface ComparedWith {
  readonly ref: string;
  readonly details: RequestDetails;
}

/** This request and another one side by side. */
export function comparison(request: RequestDetails, { ref, details }: ComparedWith, onClose: () => void): HTMLElement {
  const { durations, statements, services } = compareRequests(request, details);
  const close = h('button', { class: 'toggle' }, 'Close');
  close.addEventListener('click', onClose);
  const different = services.filter((pair) => differenceOf(pair) !== 0);
  const alike = services.length - different.length;
  return h(
    'section',
    { class: 'comparison', 'aria-label': 'Comparison' },
    h('header', {}, h('h2', {}, `Compared with ${ref}`), close),
    h('p', { class: 'hint' }, `${details.method} ${details.route}, ${details.status ?? details.state}`),
    table(
      'time',
      durations.map((pair) => row(pair.name, pair, duration)),
    ),
    statements.length > 0 &&
      table(
        'statement',
        statements.flatMap(({ sql, count: times, milliseconds }) => [
          row(sql, times, (number) => `${count(number)}×`),
          row('', milliseconds, duration),
        ]),
      ),
    different.length > 0 &&
      table(
        'service, created',
        different.map((pair) => row(pair.name, pair, (number) => `${count(number)}×`)),
      ),
    alike > 0 && h('p', { class: 'hint' }, `${count(alike)} services were created as often in both.`),
  );
}

function table(name: string, rows: readonly HTMLElement[]): HTMLElement {
  const names = [name, 'this', 'other', 'difference'];
  return h(
    'table',
    { class: 'data' },
    h('thead', {}, h('tr', {}, ...names.map((one) => h('th', { scope: 'col' }, one)))),
    h('tbody', {}, ...rows),
  );
}

function row(name: string, pair: Pair, text: (number: number) => string): HTMLElement {
  const { one, other } = pair;
  const difference = differenceOf(pair);
  const sign = difference > 0 ? '+' : '−';
  const shown = text(Math.abs(difference));
  const isNothing = shown === text(0);
  return h(
    'tr',
    {},
    name === '' ? h('td', {}, 'time') : h('th', { scope: 'row' }, name),
    ...[one, other].map((number) => h('td', {}, number === undefined ? 'none' : text(number))),
    h('td', { class: isNothing ? '' : 'differs' }, isNothing ? 'same' : sign + shown),
  );
}
