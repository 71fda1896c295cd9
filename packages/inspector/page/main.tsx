import { effect } from '@preact/signals';
import { type JSX, render } from 'preact';
import { address, connect, connection, formatAddress, replace, troubles } from './data.js';
import { Graph } from './graph.js';
import { Now } from './now.js';
import { Requests } from './requests.js';
import { troubleCount } from './words.js';

const PANELS: Readonly<Record<string, () => JSX.Element | null>> = {
  now: Now,
  requests: Requests,
  graph: Graph,
};

/** The views, what is wrong, and whether the page hears of it; below, the one view that somebody looks at. */
function Page(): JSX.Element {
  const { view, item, q } = address.value;
  const Panel = PANELS[view] ?? Now;
  const isLive = connection.value === 'live';
  return (
    <>
      <header class="top chips">
        <h1 class="chips">
          <img src="assets/icon.svg" alt="" width="22" height="22" /> Ambit inspector
        </h1>
        <nav class="tabs chips" aria-label="Views">
          {Object.keys(PANELS).map((name) => (
            <a
              key={name}
              class="toggle"
              href={formatAddress({ view: name })}
              aria-current={name === view ? 'page' : undefined}
            >
              {name}
            </a>
          ))}
        </nav>
        <a class="toggle" data-mood={troubles.value.length > 0 ? 'bad' : undefined} href="#/now">
          {troubleCount(troubles.value)}
        </a>
        <span class="badge" role="status" data-mood={isLive ? 'good' : 'bad'} data-state={connection.value}>
          {connection}
        </span>
      </header>
      <main
        class={item === undefined ? `panel ${view}` : `panel ${view} opened`}
        id={view}
        onKeyDown={({ key }) => key === 'Escape' && replace({ view, q })}
      >
        <Panel />
      </main>
    </>
  );
}

const TITLE = document.title;
effect(() => {
  document.title = troubles.value.length === 0 ? TITLE : `(${troubleCount(troubles.value)}) ${TITLE}`;
});

void connect();
render(<Page />, document.body);
