import type { RequestDetails, Step } from '../src/wire.js';
import { h } from './dom.js';
import { duration, lastOf } from './format.js';

/** One line under the tabs that says what is being seen, like a subtitle. */
export class Story {
  readonly #element: HTMLElement;

  constructor(element: HTMLElement) {
    this.#element = element;
    this.waiting();
  }

  waiting(): void {
    this.#write('', [
      h('strong', {}, 'Waiting for a request'),
      h('span', { class: 'aside' }, 'Send one, and watch what it makes and ends.'),
    ]);
  }

  tell(request: RequestDetails, step: Step, slower: number): void {
    const text = sentence(request, step);
    const line = step.kind === 'statement' ? h('code', { class: 'said' }, text) : h('strong', { class: 'said' }, text);
    this.#write(moodOf(step), [
      h('span', { class: 'who' }, `${request.method} ${request.route}`),
      line,
      h('span', { class: 'aside' }, `${duration(step.at)} · slowed down ${slower.toLocaleString('en')}×`),
    ]);
  }

  over(request: RequestDetails): void {
    this.#write('', [
      h('span', { class: 'who' }, `${request.method} ${request.route}`),
      h('strong', { class: 'said' }, 'What was made for it is gone. The application stays.'),
      h('span', { class: 'aside' }, `${duration(request.milliseconds ?? 0)} in all`),
    ]);
  }

  #write(mood: string, parts: readonly Node[]): void {
    this.#element.dataset['mood'] = mood;
    this.#element.replaceChildren(...parts);
  }
}

/** Whether that is good or bad news. */
export function moodOf({ kind, error }: Step): 'bad' | 'good' | '' {
  if (kind === 'commit') return 'good';
  const bad = ['rollback', 'aborted', 'no connection', 'end unknown'];
  return error !== undefined || bad.includes(kind) ? 'bad' : '';
}

/** What happened, for somebody who sees it for the first time. */
function sentence(
  { lanes, milliseconds, status }: RequestDetails,
  { kind, key = '', lane, sql = '', error }: Step,
): string {
  const life = lane === undefined ? 'application' : lastOf(lanes[lane]?.box ?? '');
  const why = error === undefined ? '' : ` (${error})`;
  const sentences: Record<Step['kind'], string> = {
    arrived: 'A request arrives',
    'scope opened': `A ${life} scope opens`,
    created: lane === undefined ? `${key} is made, once for all` : `${key} is made, for this ${life} alone`,
    connection: 'The pool lends a connection',
    'no connection': `The pool gives no connection${why}`,
    begin: 'BEGIN',
    statement: `${sql}${why}`,
    commit: 'COMMIT: all of it is stored',
    rollback: `ROLLBACK: none of it is stored${why}`,
    'end unknown': `Nobody can say whether it was stored${why}`,
    answered: `The answer goes out: ${status ?? ''} after ${duration(milliseconds ?? 0)}`,
    aborted: 'The client is gone',
    disposed: error === undefined ? `${key} is ended` : `${key} did not end well${why}`,
    'scope ended': `The ${life} scope ends, and all it made with it`,
  };
  return sentences[kind];
}
