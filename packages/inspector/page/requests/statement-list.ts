import type { RequestDetails, Step } from '../../src/wire.js';
import type { CodePlaces } from './code-places.js';
import { copyButton } from '../copy-button.js';
import { h } from '../dom.js';
import { count, duration } from '../format.js';
import { badge, type Mark } from './request-badges.js';
import { type StatementGroup, statementGroups } from './statement-groups.js';

/** As many as somebody reads. */
const MOST_PLACES = 100;

/** The statements of a request by their text; `opened` are the texts whose statements are listed one by one. */
export function statementList(
  request: RequestDetails,
  places: CodePlaces,
  opened: Set<string>,
): HTMLElement | undefined {
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
  // What is closed costs nothing.
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
