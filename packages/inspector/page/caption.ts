import type { RequestDetails, Step } from '../src/wire.js';
import { h } from './dom.js';
import { duration, lastOf, nameOfFinding } from './format.js';

/** The line under the tabs that explains the current step of a replay. */
export class Caption {
  readonly #element: HTMLElement;

  constructor(element: HTMLElement) {
    this.#element = element;
    this.waiting();
  }

  waiting(): void {
    this.#write('', [
      h('strong', {}, 'Waiting for a request'),
      h('span', { class: 'aside' }, 'Send one, and watch which services it creates and disposes.'),
    ]);
  }

  show(request: RequestDetails, step: Step, slower: number): void {
    const text = sentence(request, step);
    const line = step.kind === 'statement' ? h('code', { class: 'said' }, text) : h('strong', { class: 'said' }, text);
    this.#write(moodOf(step), [
      h('span', { class: 'who' }, `${request.method} ${request.route}`),
      line,
      h('span', { class: 'aside' }, `${duration(step.at)} · slowed down ${slower.toLocaleString('en')}×`),
    ]);
  }

  finished(request: RequestDetails): void {
    this.#write('', [
      h('span', { class: 'who' }, `${request.method} ${request.route}`),
      h('strong', { class: 'said' }, 'Its scopes are disposed. The application singletons stay.'),
      h('span', { class: 'aside' }, `${duration(request.milliseconds ?? 0)} in all`),
    ]);
  }

  #write(mood: string, parts: readonly Node[]): void {
    this.#element.dataset['mood'] = mood;
    this.#element.replaceChildren(...parts);
  }
}

/** Whether a step is good or bad news. */
export function moodOf({ kind, error }: Step): 'bad' | 'good' | '' {
  if (kind === 'commit') return 'good';
  const bad = ['rollback', 'aborted', 'no connection', 'failed', 'commit unknown', 'finding'];
  return error !== undefined || bad.includes(kind) ? 'bad' : '';
}

/** A step in one sentence, for somebody who sees it for the first time. */
function sentence(
  { spans, milliseconds, status }: RequestDetails,
  { kind, key = '', span, sql = '', error, found = '', where = '', line }: Step,
): string {
  const scope = span === undefined ? 'application' : lastOf(spans[span]?.box ?? '');
  const why = error === undefined ? '' : ` (${error})`;
  const sentences: Record<Step['kind'], string> = {
    arrived: 'A request arrives',
    'scope opened': `A ${scope} scope opens`,
    created:
      span === undefined ? `${key} is created, once for the application` : `${key} is created, for this ${scope} only`,
    failed: `${key} could not be created${why}`,
    connection: 'A connection is checked out of the pool',
    'no connection': `No connection can be acquired${why}`,
    begin: 'BEGIN',
    statement: `${sql}${why}`,
    commit: 'COMMIT: everything is stored',
    rollback: `ROLLBACK: nothing is stored${why}`,
    'commit unknown': `Nobody knows whether it was stored${why}`,
    finding: `Transaction check: ${nameOfFinding(found)} ${where && `at ${where}`}`,
    line: `${line?.source ?? ''} ${line?.level ?? ''}: ${line?.text ?? ''}`,
    responded: `The response is sent: ${status ?? ''} after ${duration(milliseconds ?? 0)}`,
    aborted: 'The client has disconnected',
    disposed: error === undefined ? `${key} is disposed` : `${key} failed to dispose${why}`,
    'scope closed': `The ${scope} scope is disposed, and its services with it`,
  };
  return sentences[kind];
}
