import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import type { Sign } from '../src/signs.js';
import type { Trouble } from '../src/wire.js';
import { formatAddress } from './address.js';
import { clock, count } from './format.js';
import { Badge, Sql, useStill } from './parts.js';
import { EditorSettings, Place } from './places.js';
import { routeText, troublesLine } from './sentences.js';
import { earlier, store, troubles } from './state.js';

export interface ShowsProblem {
  /** Called with the cause of a trouble of the graph, whose path it draws there. */
  readonly showProblem: (cause: string) => void;
}

/** What is wrong, why, and where, by its cause: the first thing that one sees. */
export function Troubles({ showProblem }: ShowsProblem): JSX.Element {
  const isOver = useSignal(false);
  const { shown, newer } = useStill(troubles.value, ({ id }) => id, isOver.value);
  return (
    <section class="trouble-list" aria-label="Troubles">
      <p class={troubles.value.length === 0 ? 'hint' : ''} role="status">
        {troublesLine(troubles.value, store.hello ?? { always: false })}
        {newer > 0 && ` ${count(newer)} came meanwhile.`}
      </p>
      {shown.length > 0 && (
        <ol
          onPointerEnter={({ pointerType }) => (isOver.value = pointerType === 'mouse')}
          onPointerLeave={() => (isOver.value = false)}
        >
          {shown.map((trouble) => cardOf(trouble, { boot: store.hello?.boot, showProblem }))}
        </ol>
      )}
      {shown.length > 0 && <EditorSettings />}
      {earlier.value.length > 0 && (
        <details class="earlier">
          <summary>Before the last restart: {count(earlier.value.length)}</summary>
          <ol>{earlier.value.map((trouble) => cardOf(trouble))}</ol>
        </details>
      )}
    </section>
  );
}

/** Why something is wrong, and where; of one occurrence, or of all of them. */
export function Cause({
  kind,
  cause,
  where,
  sql,
  fix,
  children,
  more,
}: Pick<Sign, 'cause' | 'kind' | 'sql' | 'where'> & {
  readonly fix: string;
  /** Beside its kind. */
  readonly children?: ComponentChildren;
  readonly more?: ComponentChildren;
}): JSX.Element {
  return (
    <article class="card trouble" data-kind={kind}>
      <header class="chips">
        <Badge text={kind} mood="bad" />
        {children}
      </header>
      <p class="cause">{cause}</p>
      {where !== undefined && (
        <p>
          <Place where={where} />
        </p>
      )}
      {sql !== undefined && <Sql text={sql} />}
      <p class="fix">{fix.split('`').map((part, i) => (i % 2 === 0 ? part : <code key={i}>{part}</code>))}</p>
      {more}
    </article>
  );
}

interface CardParts extends Partial<ShowsProblem> {
  /** Without it its requests are no longer there. */
  readonly boot?: string | undefined;
}

const cardOf = (trouble: Trouble, parts?: CardParts): JSX.Element => (
  <li key={trouble.id}>
    <TroubleCard trouble={trouble} {...parts} />
  </li>
);

function TroubleCard({ trouble, boot, showProblem }: CardParts & { readonly trouble: Trouble }): JSX.Element {
  const { id, kind, cause, count: times, first, last, routes, requests } = trouble;
  const addressOf = (request: number): string =>
    formatAddress({ view: 'requests', item: `${boot}-${request}`, at: id });
  const [newest, ...others] = boot === undefined ? [] : requests.toReversed();
  const when = clock(first) === clock(last) ? clock(last) : `${clock(first)} – ${clock(last)}`;
  const links = others.map((request, i) => (
    <>
      {i > 0 && ', '}
      <a href={addressOf(request)}>{request}</a>
    </>
  ));
  const more = (
    <>
      {routes.length > 0 && (
        <p class="hint">
          on {routes.map(nameOf).join(', ')}
          {links.length > 0 && <> · also in request {links}</>}
        </p>
      )}
      {newest !== undefined && (
        <a class="toggle open" href={addressOf(newest)}>
          Request {newest}, step by step
        </a>
      )}
      {kind === 'graph' && showProblem && (
        <button class="toggle open" onClick={() => showProblem(cause)}>
          Show in the graph
        </button>
      )}
    </>
  );
  return (
    <Cause {...trouble} more={more}>
      <b>{count(times)}×</b>
      <span class="hint">{when}</span>
    </Cause>
  );
}

/** `GET /api/users` */
function nameOf(route: string): string {
  const [method = '', ...rest] = route.split(' ');
  return `${method} ${routeText(rest.join(' '))}`;
}
