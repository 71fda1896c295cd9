import type { RequestDetails } from '../../src/wire.js';
import { formatAddress, parseRef } from '../address.js';
import { h, setText } from '../dom.js';
import { FilterInput, type FilterInputParts } from '../filter/filter-input.js';
import { hasTerm, withoutTerm, withTerm } from '../filter/filter.js';
import { count } from '../format.js';
import { fetchRequest } from '../stream/connection.js';
import { IMPORTED, type Pinned } from './comparison.js';
import { type Exported, exportMenu, importButton } from './request-export.js';
import { RequestView } from './request-view.js';

const NOTHING_CHOSEN = 'Choose a request to see, step by step, what it opened, created, stored and disposed.';
const FORGOTTEN = 'The server has forgotten this request for newer ones. Pin a request to keep it.';
const OTHER_RECORDING = 'This request was recorded before the recording started again: the server has forgotten it.';
const FROM_FILE = 'Imported from a file.';

export interface PaneParts {
  readonly pinned: Pinned;
  /** The recording that goes on; undefined until the server has said so. */
  readonly boot: () => string | undefined;
  /** From how many milliseconds on a request is slow. */
  readonly slowMs: () => number;
  readonly onBack: () => void;
  /** Plays it in the graph. */
  readonly onPlay?: ((id: number) => void) | undefined;
  /** The refs of others that it may be compared with, the newest of its route first. */
  readonly others: (details: RequestDetails) => readonly string[];
  readonly onImport: (details: RequestDetails) => void;
}

/** The request that is opened. */
export class RequestPane {
  readonly element = h('div', { class: 'card pane' });
  readonly #parts: PaneParts;
  readonly #back = h('button', { class: 'toggle back' }, '← Requests');
  readonly #link = h('a', { class: 'ref', title: 'The address of this request' });
  readonly #copy = h('button', { class: 'toggle' }, 'Copy link');
  readonly #pin = h('button', { class: 'toggle', 'aria-pressed': 'false', title: 'Keep it in this tab (p)' }, 'Pin');
  readonly #play = h('button', { class: 'toggle', title: 'Show it in slow motion' }, 'Play in the graph');
  readonly #compare = h('select', { class: 'toggle', 'aria-label': 'Compare with' });
  readonly #bar = h(
    'div',
    { class: 'tools pane-tools' },
    this.#back,
    this.#link,
    this.#play,
    this.#copy,
    this.#pin,
    this.#compare,
    exportMenu(() => this.#exported()),
  );
  readonly #notice = h('p', { class: 'pane-notice', role: 'status', hidden: '' });
  readonly #content = h('div', { class: 'details', role: 'region', 'aria-label': 'Request', tabindex: '0' });
  readonly #view: RequestView;
  #ref: string | undefined;
  #details: RequestDetails | undefined;

  constructor(parts: PaneParts) {
    this.#parts = parts;
    this.#view = new RequestView(this.#content, parts.slowMs);
    this.element.append(this.#bar, this.#notice, this.#content);
    this.#back.addEventListener('click', () => parts.onBack());
    this.#pin.addEventListener('click', () => this.togglePin());
    this.element.addEventListener('keydown', ({ key }) => key === 'Escape' && parts.onBack());
    this.#copy.addEventListener('click', () => void this.#copyLink());
    // Browsers give access to the clipboard to pages from this machine, or with HTTPS; the link can be copied everywhere.
    this.#copy.hidden = !navigator.clipboard;
    this.#compare.addEventListener('focus', () => this.#offerOthers());
    this.#compare.addEventListener('change', () => void this.#compareWith(this.#compare.value));
    this.#play.addEventListener('click', () => {
      if (this.#details) parts.onPlay?.(this.#details.id);
    });
    this.#begin(undefined);
  }

  /** The request that is opened, where its details are known. */
  get details(): RequestDetails | undefined {
    return this.#details;
  }

  async show(ref: string | undefined): Promise<void> {
    if (ref !== this.#ref) this.#begin(ref);
    if (ref === undefined) return;
    const { pinned, boot } = this.#parts;
    const known = pinned.get(ref);
    const found = parseRef(ref);
    if (known && (found?.boot !== boot() || known.elapsed === undefined)) return this.#fill(known);
    // Until the first message the page does not know which recording it is.
    if (boot() === undefined) return;
    if (!found || found.boot !== boot()) return this.#say(OTHER_RECORDING);
    const details = await fetchRequest(found.id).catch(() => undefined);
    if (this.#ref !== ref) return;
    if (!details) return this.#say(FORGOTTEN);
    if (pinned.has(ref)) pinned.put(ref, details);
    this.#fill(details);
  }

  togglePin(): void {
    const { pinned } = this.#parts;
    if (this.#ref === undefined || !this.#details) return;
    if (pinned.has(this.#ref)) pinned.remove(this.#ref);
    else pinned.put(this.#ref, this.#details);
    this.#showPin();
  }

  /** Completes what is kept of a request that went on when it was pinned. */
  refreshPinned(ref: string): void {
    const { pinned } = this.#parts;
    const id = parseRef(ref)?.id;
    if (ref === this.#ref || id === undefined || pinned.get(ref)?.elapsed === undefined) return;
    fetchRequest(id).then(
      (details) => pinned.has(ref) && pinned.put(ref, details),
      // It is kept as it was.
      () => undefined,
    );
  }

  focus(): void {
    this.#content.focus();
  }

  #begin(ref: string | undefined): void {
    this.#ref = ref;
    this.#details = undefined;
    this.#bar.hidden = ref === undefined;
    this.#notice.hidden = true;
    this.#link.textContent = ref ?? '';
    this.#link.setAttribute('href', formatAddress({ view: 'requests', item: ref }));
    setText(this.#copy, 'Copy link');
    this.#view.clear(...(ref === undefined ? [this.#nothing()] : []));
    this.#showPin();
  }

  #nothing(): HTMLElement {
    return h('div', { class: 'empty' }, h('p', {}, NOTHING_CHOSEN), importButton(this.#parts.onImport));
  }

  #exported(): Exported | undefined {
    return this.#ref !== undefined && this.#details ? { ref: this.#ref, details: this.#details } : undefined;
  }

  #fill(details: RequestDetails): void {
    this.#details = details;
    const boot = parseRef(this.#ref ?? '')?.boot;
    this.#notice.hidden = boot !== IMPORTED;
    setText(this.#notice, FROM_FILE);
    // Its steps must be on the server, which plays it.
    this.#play.hidden = !this.#parts.onPlay || boot !== this.#parts.boot();
    this.#view.show(details);
    this.#showPin();
  }

  /** Shows the text; the request that is shown stays. */
  #say(text: string): void {
    this.#notice.hidden = false;
    setText(this.#notice, text);
  }

  #showPin(): void {
    const isPinned = this.#ref !== undefined && this.#parts.pinned.has(this.#ref);
    this.#pin.setAttribute('aria-pressed', String(isPinned));
    setText(this.#pin, isPinned ? 'Pinned' : 'Pin');
    this.#pin.disabled = !this.#details;
    if (!this.#compare.matches(':focus')) this.#offerOthers();
  }

  #offerOthers(): void {
    const others = this.#details ? this.#parts.others(this.#details) : [];
    const offered = others.filter((ref) => ref !== this.#ref);
    const none = offered.length === 0 ? 'no other request of this route' : 'Compare with …';
    this.#compare.replaceChildren(
      h('option', { value: '' }, none),
      ...offered.map((ref) => h('option', { value: ref }, ref)),
    );
  }

  async #compareWith(ref: string): Promise<void> {
    const mine = this.#ref;
    const id = parseRef(ref)?.id;
    // The list is one of actions, so the first option is shown again.
    this.#compare.value = '';
    if (id === undefined) return;
    const details = this.#parts.pinned.get(ref) ?? (await fetchRequest(id).catch(() => undefined));
    if (this.#ref !== mine) return;
    if (details) this.#view.compare({ ref, details });
    else this.#say(FORGOTTEN);
  }

  async #copyLink(): Promise<void> {
    const copied = await navigator.clipboard.writeText(this.#link.href).then(
      () => true,
      () => false,
    );
    setText(this.#copy, copied ? 'Copied' : 'Not allowed');
  }
}

const TROUBLE = 'is:trouble';

export interface ToolsParts {
  readonly known: FilterInputParts['known'];
  readonly onFilter: (text: string) => void;
  readonly onPause: (paused: boolean) => void;
  /** Asks for the newest requests. */
  readonly onNewer: () => void;
}

export interface ListNumbers {
  readonly visible: number;
  readonly all: number;
  /** New ones since the list was paused. */
  readonly missed: number;
  /** New ones above what is visible. */
  readonly unseen: number;
}

/** The bar above the list: the filter, two toggles, and the number of requests. */
export class RequestTools {
  readonly element: HTMLElement;
  readonly #filter: FilterInput;
  readonly #trouble = toggle('Trouble only');
  readonly #pause = toggle('Pause');
  readonly #count = h('span', { class: 'count' });
  readonly #newer = h('button', { class: 'newer', title: 'Show the newest', hidden: '' });
  readonly #none = h('p', { class: 'none', role: 'status', hidden: '' });
  readonly #parts: ToolsParts;

  constructor(parts: ToolsParts) {
    this.#parts = parts;
    this.#filter = new FilterInput({ known: parts.known, onInput: parts.onFilter });
    this.#trouble.addEventListener('click', () => {
      const { text } = this.#filter;
      parts.onFilter(hasTerm(text, TROUBLE) ? withoutTerm(text, TROUBLE) : withTerm(text, TROUBLE));
    });
    this.#pause.addEventListener('click', () => this.togglePause());
    this.#newer.addEventListener('click', () => parts.onNewer());
    this.element = h(
      'div',
      { class: 'list-tools' },
      h(
        'div',
        { class: 'tools' },
        this.#filter.element,
        this.#trouble,
        this.#pause,
        h('span', { class: 'hint' }, this.#count, this.#newer),
      ),
      this.#none,
    );
  }

  get filter(): string {
    return this.#filter.text;
  }

  get paused(): boolean {
    return this.#pause.getAttribute('aria-pressed') === 'true';
  }

  focusFilter(): void {
    this.#filter.focus();
  }

  showFilter(text: string, problem: string | undefined): void {
    this.#filter.text = text;
    this.#filter.tell(problem);
    this.#trouble.setAttribute('aria-pressed', String(hasTerm(text, TROUBLE)));
  }

  togglePause(): void {
    const paused = !this.paused;
    this.#pause.setAttribute('aria-pressed', String(paused));
    this.tellLost(0);
    this.#parts.onPause(paused);
  }

  /** The list shows everything again, because it began again. */
  resume(): void {
    this.#pause.setAttribute('aria-pressed', 'false');
  }

  tell({ visible, all, missed, unseen }: ListNumbers): void {
    const hasNewer = !this.paused && unseen > 0;
    this.#newer.hidden = !hasNewer;
    this.#count.hidden = hasNewer;
    if (hasNewer) setText(this.#newer, `↑ ${count(unseen)} new`);
    else setText(this.#count, this.paused ? `${count(missed)} new` : `${count(visible)} of ${count(all)}`);
  }

  tellLost(lost: number): void {
    this.#none.hidden = lost === 0;
    setText(
      this.#none,
      `${count(lost)} of the requests that came while the list was paused are no longer kept. The option keep says how many are.`,
    );
  }
}

function toggle(text: string): HTMLButtonElement {
  return h('button', { class: 'toggle', 'aria-pressed': 'false' }, text);
}
