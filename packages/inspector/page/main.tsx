import { type ComponentChildren, render } from 'preact';
import { byId } from './dom.js';
import { GraphPanel } from './graph/graph-panel.js';
import { Shortcuts, Tabs, Vitals } from './head.js';
import { address, go, VIEWS } from './navigation.js';
import { Now } from './now.js';
import { focusFilter, moveBy, togglePause } from './requests/request-list.js';
import { playOpened, Requests } from './requests/requests.js';
import { troubleCount } from './sentences.js';
import { store, troubles } from './state.js';
import { connect } from './stream/connection.js';
import { Totals } from './totals.js';

const TITLE = document.title;

const graph = new GraphPanel(store, (id) => go({ view: 'requests', item: store.refOf(id) }));
const play = (id: number): void => {
  go({ view: 'graph' });
  graph.play(id);
};

/** A view that nobody looks at costs nothing. */
function Shown({ view, children }: { readonly view: string; readonly children: ComponentChildren }): ComponentChildren {
  return address.value.view === view && children;
}
const showProblem = (cause: string): void => {
  go({ view: 'graph' });
  graph.showProblem(cause);
};
const panels = { now: <Now showProblem={showProblem} />, requests: <Requests play={play} />, totals: <Totals /> };
for (const [view, panel] of Object.entries(panels)) render(<Shown view={view}>{panel}</Shown>, byId(view));

// Not as an effect: the graph reads signals of its own while it is shown.
address.subscribe(({ view }) => {
  for (const name of Object.keys(VIEWS)) byId(name).hidden = name !== view;
  graph.shown = view === 'graph';
});
troubles.subscribe((all) => (document.title = all.length === 0 ? TITLE : `(${troubleCount(all)}) ${TITLE}`));

const inRequests = (act: () => void) => (): void => {
  if (address.value.view === 'requests') return act();
  go({ view: 'requests' });
  // The list is drawn by then.
  requestAnimationFrame(() => act());
};
const shortcuts = [
  ...Object.entries(VIEWS).map(([view, { name, key }]) => ({ key, about: name, act: () => go({ view }) })),
  { key: '/', about: 'filter the requests', act: inRequests(focusFilter) },
  { key: 'j', about: 'the next request', act: inRequests(() => moveBy(1)) },
  { key: 'k', about: 'the previous request', act: inRequests(() => moveBy(-1)) },
  { key: 'p', about: 'play the request in the graph', act: () => playOpened(play) },
  { key: ' ', about: 'pause the list of requests, or go on', act: togglePause },
];
render(<Tabs />, byId('tabs'));
render(<Vitals />, byId('vitals'));
render(<Shortcuts shortcuts={shortcuts} />, byId('shortcuts'));

connect(store);
