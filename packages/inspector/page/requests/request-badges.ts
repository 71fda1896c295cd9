import type { RequestSummary } from '../../src/wire.js';
import { h } from '../dom.js';
import { duration } from '../format.js';
import { MANY_ALIKE } from '../filter/filter-fields.js';

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

/** What a row says of a request besides its status, the worst first. */
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

export function stateBadge(request: RequestSummary): HTMLElement {
  return badge(stateMark(request));
}

export function badge({ text, mood, title }: Mark): HTMLElement {
  return h('span', { class: `badge ${mood}`, title }, text);
}

function times(name: string, number: number): string {
  return number === 1 ? name : `${name} ×${number}`;
}
