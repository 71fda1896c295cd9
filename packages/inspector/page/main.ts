import { byId, setText } from './dom.js';
import { count } from './format.js';
import { GraphPanel } from './graph-panel.js';
import { NowPanel } from './now-panel.js';
import { RequestsPanel } from './requests-panel.js';
import { connect } from './server.js';
import { Store } from './store.js';
import { startTabs } from './tabs.js';

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
const now = new NowPanel(store, openRequest);
const show = startTabs((panel) => {
  graph.shown = panel === 'graph';
  now.shown = panel === 'now';
});

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
