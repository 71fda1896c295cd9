import type { RequestDetails, RequestSummary } from '../../src/wire.js';
import { type Address, parseRef } from '../address.js';
import { byId, h } from '../dom.js';
import { type Filter, readFilter } from '../filter/filter.js';
import { currentAddress, showAddress } from '../navigation.js';
import { comparableTo, Pinned } from './comparison.js';
import { RequestListBox } from './request-list.js';
import { RequestPane, RequestTools } from './request-pane.js';
import type { Change, Store } from '../stream/store.js';

/** Where the list and the request are beside each other; elsewhere one of them is shown. */
const WIDE = matchMedia('(min-width: 861px)');

/** The newest requests, and one of them in detail. */
export class RequestsPanel {
  readonly #element = byId('requests');
  readonly #store: Store;
  readonly #pinned = new Pinned(() => this.#onPin());
  readonly #tools: RequestTools;
  readonly #list: RequestListBox;
  readonly #pane: RequestPane;
  #filter: Filter = readFilter('');
  #shown = false;
  /** Requests that came while the list was paused. */
  #missed = new Set<number>();
  #opened: string | undefined;

  /** `play` shows a request in the graph. */
  constructor(store: Store, play?: (id: number) => void) {
    this.#store = store;
    const boot = (): string | undefined => store.hello?.boot;
    this.#tools = new RequestTools({
      known: () => ({ routes: store.routes(), services: store.keys() }),
      onFilter: (text) => this.#setFilter(text),
      onPause: (paused) => this.#pause(paused),
      onNewer: () => this.#list.follow(),
    });
    this.#pane = new RequestPane({
      pinned: this.#pinned,
      boot,
      slowMs: () => store.slowMs,
      onBack: () => this.#goBack(),
      onPlay: play,
      others: (details) => comparableTo(details, store, this.#pinned),
      onImport: (details) => this.#import(details),
    });
    this.#list = new RequestListBox({
      pinned: this.#pinned,
      recording: () => ({ boot: boot() ?? '', slowMs: store.slowMs }),
      onChoose: (ref) => (WIDE.matches || ref === undefined) && this.#show(ref),
      onOpen: (ref, how) => {
        this.#show(ref);
        if (how === 'key' || !WIDE.matches) this.#pane.focus();
      },
      onDraw: () => this.#tell(),
    });
    this.#element.append(
      h('div', { class: 'card listing' }, this.#tools.element, this.#list.element),
      this.#pane.element,
    );
    store.onStart(() => this.#restart());
    store.onChange((_, change) => this.#update(change));
    addEventListener('hashchange', () => this.#shown && this.#goTo(currentAddress()));
  }

  get shown(): boolean {
    return this.#shown;
  }

  set shown(shown: boolean) {
    if (shown === this.#shown) return;
    this.#shown = shown;
    if (!shown) return;
    const address = currentAddress();
    if (address.item !== undefined || address.q !== undefined) this.#goTo(address);
    else showAddress(this.#address());
    this.#reset();
  }

  /** Opens a request of the recording that goes on. */
  open(id: number): void {
    this.#list.choose(this.#store.refOf(id));
    this.#show(this.#list.chosen);
    this.#list.element.focus();
  }

  /** Moves to the next or the previous request. */
  move(steps: number): void {
    this.#list.element.focus();
    this.#list.move(steps);
  }

  /** Lists only what fits, with the request closed that was opened. */
  filter(text: string): void {
    this.#list.choose(undefined);
    this.#show(undefined);
    this.#setFilter(text);
    this.#list.element.focus();
  }

  focusFilter(): void {
    this.#tools.focusFilter();
  }

  togglePause(): void {
    this.#tools.togglePause();
  }

  togglePin(): void {
    this.#pane.togglePin();
  }

  #address(): Address {
    return { view: 'requests', item: this.#opened, q: this.#tools.filter };
  }

  #goTo({ item, q = '' }: Address): void {
    if (q !== this.#tools.filter) this.#setFilter(q);
    const ref = item !== undefined && parseRef(item) ? item : undefined;
    if (ref === this.#opened) return;
    this.#opened = ref;
    this.#list.choose(ref);
    this.#show(ref);
  }

  #setFilter(text: string): void {
    this.#filter = readFilter(text);
    this.#tools.showFilter(text, this.#filter.problem);
    if (this.#shown) showAddress(this.#address());
    this.#reset();
  }

  #fits(request: RequestSummary): boolean {
    const { hello, names, slowMs } = this.#store;
    const isPinned = (id: number): boolean => this.#pinned.has(this.#store.refOf(id));
    return this.#filter.matches(request, { boot: hello?.boot ?? '', slowMs, names, isPinned });
  }

  /** Shows the list as the server has it. */
  #reset(): void {
    if (!this.#shown) return;
    this.#list.reset(this.#store.requests.values(), (request) => this.#fits(request));
  }

  #restart(): void {
    this.#missed.clear();
    this.#tools.resume();
    this.#list.drawPinned();
    if (this.#opened !== undefined) void this.#pane.show(this.#opened);
  }

  #update({ changed, removed, complete }: Change): void {
    if (this.#tools.paused) {
      for (const { id } of changed) if (!this.#list.has(id)) this.#missed.add(id);
      this.#tell();
    } else if (complete) this.#reset();
    else if (this.#shown) this.#list.update(changed, removed);
    this.#refresh(changed);
  }

  /** Gets the details again of what is opened or pinned, and has changed or goes on. */
  #refresh(changed: readonly RequestSummary[]): void {
    for (const { id } of changed) this.#pane.refreshPinned(this.#store.refOf(id));
    const { boot, id } = parseRef(this.#opened ?? '') ?? {};
    if (!this.#shown || id === undefined || boot !== this.#store.hello?.boot) return;
    const request = this.#store.requests.get(id);
    const isGoingOn = request !== undefined && (request.state === 'open' || request.open > 0);
    if (isGoingOn || changed.some((one) => one.id === id)) void this.#pane.show(this.#opened);
  }

  #pause(paused: boolean): void {
    if (paused) return;
    const lost = [...this.#missed].filter((id) => !this.#store.requests.has(id)).length;
    this.#missed.clear();
    this.#reset();
    this.#tools.tellLost(lost);
  }

  #onPin(): void {
    this.#list.drawPinned();
    this.#reset();
  }

  #show(ref: string | undefined): void {
    const how = this.#opened === undefined && ref !== undefined ? 'push' : 'replace';
    this.#opened = ref;
    this.#element.classList.toggle('opened', ref !== undefined);
    if (this.#shown) showAddress(this.#address(), how);
    void this.#pane.show(ref);
  }

  #import(details: RequestDetails): void {
    const ref = this.#pinned.import(details);
    this.#list.choose(ref);
    this.#show(ref);
  }

  #goBack(): void {
    this.#list.choose(undefined);
    this.#show(undefined);
    this.#list.element.focus();
  }

  #tell(): void {
    const { requests } = this.#store;
    this.#tools.tell({
      visible: this.#list.visible,
      all: Math.max(requests.size, this.#list.visible),
      missed: this.#missed.size,
      unseen: this.#list.unseen,
    });
  }
}
