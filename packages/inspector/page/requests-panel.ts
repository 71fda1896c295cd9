import type { RequestSummary } from '../src/wire.js';
import { byId, h, setText } from './dom.js';
import { RequestListBox } from './request-list.js';
import { fetchRequest } from './server.js';
import type { Store } from './store.js';
import { waterfall } from './waterfall.js';

const NOTHING_CHOSEN = 'Choose a request to see, step by step, what it opened, created, stored and disposed.';

/** The newest requests, and one of them as a waterfall. */
export class RequestsPanel {
  readonly #store: Store;
  readonly #play: (id: number) => void;
  readonly #list: RequestListBox;
  readonly #waterfall = h('div', { class: 'card details', tabindex: '0', role: 'region', 'aria-label': 'Request' });
  readonly #count = h('span', { class: 'hint' });
  #paused = false;
  #chosen: number | undefined;

  constructor(store: Store, play: (id: number) => void) {
    this.#store = store;
    this.#play = play;
    this.#list = new RequestListBox((id) => void this.#show(id));
    byId('requests').append(h('div', { class: 'card listing' }, this.#tools(), this.#list.element), this.#waterfall);
    store.onStart(() => this.#list.clear());
    store.onChange((changed) => this.#update(changed));
    void this.#show(undefined);
  }

  open(id: number): void {
    this.#list.choose(id);
    this.#list.element.focus();
  }

  #tools(): HTMLElement {
    const search = h('input', { type: 'search', placeholder: 'Filter: post 500 aborted …', 'aria-label': 'Filter' });
    const trouble = h('button', { class: 'toggle', 'aria-pressed': 'false' }, 'Trouble only');
    const pause = h('button', { class: 'toggle', 'aria-pressed': 'false' }, 'Pause');
    const isOn = (button: HTMLElement): boolean => button.getAttribute('aria-pressed') === 'true';
    const onToggle = (button: HTMLElement, act: () => void): void =>
      button.addEventListener('click', () => {
        button.setAttribute('aria-pressed', String(!isOn(button)));
        act();
      });
    const filter = (): void => {
      this.#list.filter(search.value, isOn(trouble));
      this.#tell();
    };
    search.addEventListener('input', filter);
    onToggle(trouble, filter);
    const catchUp = (): void => this.#update([...this.#store.requests.values()]);
    onToggle(pause, () => {
      this.#paused = isOn(pause);
      catchUp();
    });
    this.#list.element.addEventListener('pointerleave', catchUp);
    return h('div', { class: 'tools' }, search, trouble, pause, this.#count);
  }

  #update(changed: readonly RequestSummary[]): void {
    if (!this.#paused) {
      // Under the pointer nothing moves.
      const held = this.#list.element.matches(':hover');
      for (const request of changed) if (!held || this.#list.has(request.id)) this.#list.put(request);
      if (!held) this.#list.keepOnly(this.#store.requests);
    }
    this.#tell();
    const chosen = this.#chosen === undefined ? undefined : this.#store.requests.get(this.#chosen);
    const isGoingOn = chosen !== undefined && (chosen.state === 'open' || chosen.open > 0);
    if (isGoingOn || changed.some(({ id }) => id === this.#chosen)) void this.#show(this.#chosen);
  }

  #tell(): void {
    const { requests } = this.#store;
    const unseen = [...requests.keys()].filter((id) => !this.#list.has(id)).length;
    setText(this.#count, unseen > 0 ? `${unseen} new` : `${this.#list.visible} of ${requests.size}`);
  }

  async #show(id: number | undefined): Promise<void> {
    this.#chosen = id;
    if (id === undefined) {
      this.#waterfall.replaceChildren(h('p', { class: 'empty' }, NOTHING_CHOSEN));
      return;
    }
    const parts = await fetchRequest(id).then(waterfall, () => [
      h('p', { class: 'empty' }, 'The server has forgotten this request for newer ones.'),
    ]);
    if (this.#chosen === id) this.#waterfall.replaceChildren(this.#playButton(id), ...parts);
  }

  #playButton(id: number): HTMLElement {
    const button = h('button', { class: 'play' }, 'Play in the graph');
    button.addEventListener('click', () => this.#play(id));
    return button;
  }
}
