import type { RequestDetails } from '../../src/wire.js';
import { copyButton } from '../copy-button.js';
import { h } from '../dom.js';
import { clock, duration } from '../format.js';
import { badge, marksOf, stateBadge } from './request-badges.js';
import { timeParts } from './time-parts.js';

/** What a request was, how it went, and what its time was spent on. */
export function headingOf(request: RequestDetails, slowMs: number): HTMLElement {
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
export function timeBar(request: RequestDetails): HTMLElement | undefined {
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
