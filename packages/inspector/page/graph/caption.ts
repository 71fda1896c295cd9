import type { RequestDetails, RequestSummary, Step } from '../../src/wire.js';
import { h } from '../dom.js';
import { duration, lastOf, nameOfFinding } from '../format.js';
import type { ReplayState } from './replay.js';

/** The line under the tabs that explains the current step of a replay. */
export class Caption {
  readonly #element: HTMLElement;
  readonly #words = h('div', { class: 'words' });

  constructor(element: HTMLElement, controls: { readonly buttons: HTMLElement; readonly bar: HTMLElement }) {
    this.#element = element;
    element.append(this.#words, controls.buttons, controls.bar);
  }

  /** Writes what is shown, and returns its sentence. */
  show({ request, position, newer, slower }: ReplayState): string {
    if (!request) return newer ? this.#ready(newer) : this.#waiting();
    const step = request.steps[position];
    if (!step) return this.#finished(request);
    const text = sentence(request, step);
    const line = step.kind === 'statement' ? h('code', { class: 'said' }, text) : h('strong', { class: 'said' }, text);
    const aside = `${duration(step.at)} · slowed down ${slower.toLocaleString('en')}×`;
    this.#write(moodOf(step), [who(request), line, h('span', { class: 'aside' }, aside)]);
    return text;
  }

  #waiting(): string {
    this.#write('', [
      h('strong', {}, 'Waiting for a request'),
      h('span', { class: 'aside' }, 'Send one, and watch which services it creates and disposes.'),
    ]);
    return 'waiting for a request';
  }

  /** For users who want less motion: nothing plays by itself. */
  #ready(newer: RequestSummary): string {
    this.#write('', [who(newer), h('strong', { class: 'said' }, 'Play it, or go through it step by step.')]);
    return 'not played yet';
  }

  #finished(request: RequestDetails): string {
    const left = request.spans.filter(({ closed }) => closed === undefined).map(({ box }) => lastOf(box));
    const text =
      request.state === 'open'
        ? 'It is still in progress.'
        : left.length > 0
          ? `The response was sent, and ${left.length === 1 ? `a ${left[0]} scope is` : `${left.length} scopes are`} still open.`
          : 'Its scopes are disposed. The application singletons stay.';
    this.#write(left.length > 0 && request.state !== 'open' ? 'bad' : '', [
      who(request),
      h('strong', { class: 'said' }, text),
      h('span', { class: 'aside' }, `${duration(request.milliseconds ?? request.elapsed ?? 0)} in all`),
    ]);
    return text;
  }

  #write(mood: string, parts: readonly Node[]): void {
    this.#element.dataset['mood'] = mood;
    this.#words.replaceChildren(...parts);
  }
}

function who({ method, route }: RequestSummary): HTMLElement {
  return h('span', { class: 'who', title: `${method} ${route}` }, `${method} ${route}`);
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
  { kind, key = '', path = [], span, sql = '', error, found = '', where = '', line }: Step,
): string {
  const scope = span === undefined ? 'application' : lastOf(spans[span]?.box ?? '');
  const why = error === undefined ? '' : ` (${error})`;
  const sentences: Record<Step['kind'], string> = {
    arrived: 'A request arrives',
    'scope opened': `A ${scope} scope opens`,
    created:
      span === undefined ? `${key} is created, once for the application` : `${key} is created, for this ${scope} only`,
    failed: `${path.length > 1 ? path.join(' → ') : key} could not be created${why}`,
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
