import { effect } from '@preact/signals';
import { type JSX, render } from 'preact';
import { address, connect, connection, formatAddress, go, troubles } from './data.js';
import { Graph } from './graph.js';
import { Now } from './now.js';
import { Requests } from './requests.js';
import { troubleCount } from './words.js';

const PANELS: Readonly<Record<string, () => JSX.Element | null>> = {
  now: Now,
  requests: Requests,
  graph: Graph,
};

/** The views, what is wrong, and whether the page hears of it. */
function Head(): JSX.Element {
  const isWrong = troubles.value.length > 0;
  return (
    <>
      <nav class="tabs" aria-label="Views">
        {Object.keys(PANELS).map((view) => (
          <a key={view} href={formatAddress({ view })} aria-current={address.value.view === view ? 'page' : undefined}>
            {view}
          </a>
        ))}
      </nav>
      <button class="troubles" data-mood={isWrong ? 'bad' : undefined} onClick={() => go({ view: 'now' })}>
        {troubleCount(troubles.value)}
      </button>
      <span class="connection" role="status" data-state={connection.value}>
        {connection.value}
      </span>
    </>
  );
}

/** A view that nobody looks at costs nothing. */
function View(): JSX.Element {
  const { view } = address.value;
  const Panel = PANELS[view] ?? Now;
  return (
    <div class={`panel ${view}`} id={view}>
      <Panel />
    </div>
  );
}

const TITLE = document.title;
effect(() => {
  document.title = troubles.value.length === 0 ? TITLE : `(${troubleCount(troubles.value)}) ${TITLE}`;
});

void connect();
for (const [id, part] of [
  ['head', <Head />],
  ['view', <View />],
] as const) {
  const place = document.getElementById(id);
  if (place) render(part, place);
}
