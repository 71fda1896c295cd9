import { byId, setText } from './dom.js';
import { count } from './format.js';
import { GraphPanel } from './graph/graph-panel.js';
import { startShortcuts, startTabs, tabShortcuts } from './navigation.js';
import { NowPanel } from './now/now-panel.js';
import { RequestsPanel } from './requests/requests-panel.js';
import { connect } from './stream/connection.js';
import { Store } from './stream/store.js';
import { RoutesPanel } from './tables/routes-panel.js';
import { StartUpPanel } from './tables/start-up-panel.js';
import { StatementsPanel } from './tables/statements-panel.js';

const TITLE = document.title;
const MOST_SHOWN = 99;

/** How many requests had trouble since the list was looked at: on its tab, and in the title of the page. */
export class TroubleCount {
  readonly #badge = byId('trouble-count');
  readonly #isLooking: () => boolean;
  #number = 0;

  constructor(store: Store, isLooking: () => boolean) {
    this.#isLooking = isLooking;
    store.onChange((_, { troubled, complete }) => {
      // The page cannot tell events that it saw from those before it was open or while it was disconnected.
      if (!complete) this.#number += troubled.length;
      this.update();
    });
    document.addEventListener('visibilitychange', () => this.update());
  }

  update(): void {
    if (this.#isLooking() && !document.hidden) this.#number = 0;
    const text = this.#number > MOST_SHOWN ? `${MOST_SHOWN}+` : String(this.#number);
    this.#badge.hidden = this.#number === 0;
    setText(this.#badge, text);
    const title = this.#number > 0 ? `(${text}) ${TITLE}` : TITLE;
    if (document.title !== title) document.title = title;
    this.#badge.title = `${text} with trouble since you looked`;
  }
}

const store = new Store();
const openRequest = (request: number): void => {
  show('requests');
  requests.open(request);
};
const graph = new GraphPanel(store, openRequest);
const requests = new RequestsPanel(store, (request) => {
  show('graph');
  graph.play(request);
});
const trouble = new TroubleCount(store, () => requests.shown);
const now = new NowPanel(store, openRequest);
const openFilter = (filter: string): void => {
  show('requests');
  requests.filter(filter);
};
const polled = {
  routes: new RoutesPanel(openFilter),
  statements: new StatementsPanel(openFilter),
  'start-up': new StartUpPanel(),
};
const show = startTabs((panel) => {
  graph.shown = panel === 'graph';
  now.shown = panel === 'now';
  requests.shown = panel === 'requests';
  for (const [name, view] of Object.entries(polled)) view.shown = panel === name;
  trouble.update();
});

const inRequests = (act: () => void) => (): void => {
  show('requests');
  act();
};
startShortcuts([
  ...tabShortcuts(show),
  { key: '/', about: 'filter the requests', act: inRequests(() => requests.focusFilter()) },
  { key: 'j', about: 'the next request', act: inRequests(() => requests.move(1)) },
  { key: 'k', about: 'the previous request', act: inRequests(() => requests.move(-1)) },
  { key: 'p', about: 'pin the request, or let it go', act: () => requests.togglePin() },
  { key: ' ', about: 'pause the list, or go on', act: () => requests.shown && requests.togglePause() },
]);

store.onChange(() => {
  if (!store.now || !store.hello) return;
  const { requestsPerSecond, recordedPerSecond, kinds, transactions } = store.now;
  const scopes = kinds.filter(({ box }) => box.includes(' > ')).reduce((sum, { open }) => sum + open, 0);
  setText(byId('vital-requests'), count(requestsPerSecond));
  setText(byId('vital-scopes'), count(scopes));
  setText(byId('vital-transactions'), count(transactions.open));
  const notice = byId('notice');
  notice.hidden = recordedPerSecond >= requestsPerSecond;
  if (!notice.hidden)
    setText(
      notice,
      `A sample: ${count(recordedPerSecond)} of ${count(requestsPerSecond)} requests in the last second were recorded. All are counted.`,
    );
});

connect(store);
