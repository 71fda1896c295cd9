import { computed, signal, useSignal } from '@preact/signals';
import { Component, type JSX } from 'preact';
import { useRef } from 'preact/hooks';
import type { RequestSummary } from '../../src/wire.js';
import { formatAddress } from '../address.js';
import { clock, count, duration } from '../format.js';
import { address, go } from '../navigation.js';
import { Badge, badgeOf, Choice, useStill } from '../parts.js';
import { listLine, routeText } from '../sentences.js';
import { messages, newest, store } from '../state.js';
import { sample } from '../stream/connection.js';
import { marksOf, matches, stateMark } from './request-data.js';

/** More are drawn on demand. */
const AT_FIRST = 200;

interface RowProps {
  readonly request: RequestSummary;
  readonly reference: string;
  readonly isChosen?: boolean;
  /** Tab stops at it. */
  readonly isStop?: boolean;
  readonly q?: string | undefined;
}

/** One request as a row, which is drawn again only where something about it has changed. */
export class Row extends Component<RowProps> {
  override shouldComponentUpdate(next: RowProps): boolean {
    return (Object.keys(next) as (keyof RowProps)[]).some((name) => next[name] !== this.props[name]);
  }

  override render(): JSX.Element {
    const { request, reference, isChosen, isStop = true, q } = this.props;
    const { method, route, milliseconds, arrived, trouble } = request;
    const text = routeText(route);
    return (
      <a
        class={trouble ? 'request trouble' : 'request'}
        id={`request-${reference}`}
        href={formatAddress({ view: 'requests', item: reference, q })}
        aria-current={isChosen ? 'true' : undefined}
        tabIndex={isStop ? 0 : -1}
      >
        <span class="hint">{clock(arrived)}</span>
        <span class="method">{method}</span>
        <span class="route" title={text === route ? route : 'The path of a request is never recorded'}>
          {text}
        </span>
        <span class="status">
          <Badge {...stateMark(request)} />
        </span>
        <span class="took">{milliseconds === undefined ? '' : duration(milliseconds)}</span>
        <span class="chips">{marksOf(request, store.slowMs).map(badgeOf)}</span>
      </a>
    );
  }
}

/** The list stays as it is. */
const paused = signal(false);
const troubleOnly = signal(false);

export function togglePause(): void {
  if (address.value.view === 'requests') paused.value = !paused.value;
}

export function focusFilter(): void {
  document.getElementById('filter')?.focus();
}

const fitting = computed(() => {
  const { q = '' } = address.value;
  if (q === '' && !troubleOnly.value) return newest.value;
  return newest.value.filter(
    (request) => (!troubleOnly.value || request.trouble) && matches(request, q, store.names, store.refOf(request.id)),
  );
});

/** Goes to the next or the previous request of the list. */
export function moveBy(steps: 1 | -1): void {
  const all = [...document.querySelectorAll<HTMLElement>('#requests .request')];
  const at = all.findIndex((row) => row.getAttribute('aria-current') === 'true');
  const next = all[at === -1 ? (steps === 1 ? 0 : all.length - 1) : Math.min(Math.max(0, at + steps), all.length - 1)];
  if (!next) return;
  next.focus();
  go({ ...address.value, view: 'requests', item: next.id.replace('request-', ''), at: undefined }, 'replace');
}

/** The newest requests; under the mouse, and where it is scrolled, nothing moves. */
export function RequestList(): JSX.Element {
  void messages.value;
  const list = useRef<HTMLDivElement>(null);
  const isOver = useSignal(false);
  const isScrolled = useSignal(false);
  const most = useSignal(AT_FIRST);
  const isStill = paused.value || isOver.value || isScrolled.value;
  const { item, q = '' } = address.value;
  const about = `${store.hello?.boot} ${troubleOnly.value} ${q}`;
  const { shown, newer } = useStill(fitting.value, ({ id }) => id, isStill, about);
  const follow = (): void => {
    paused.value = false;
    isOver.value = false;
    isScrolled.value = false;
    list.current?.scrollTo(0, 0);
  };
  const drawn = shown.slice(0, most.value).map((request) => ({ request, reference: store.refOf(request.id) }));
  const stop = drawn.find(({ reference }) => reference === item) ?? drawn[0];
  return (
    <div class="card listing">
      <ListTools shown={fitting.value.length} newer={newer} onNewer={follow} />
      <div
        class="list"
        ref={list}
        role="region"
        aria-label="Requests"
        onScroll={({ currentTarget }) => (isScrolled.value = currentTarget.scrollTop > 0)}
        onPointerEnter={({ pointerType }) => (isOver.value = pointerType === 'mouse')}
        onPointerLeave={() => (isOver.value = false)}
        onKeyDown={(event) => {
          if (event.key !== 'ArrowDown' && event.key !== 'ArrowUp') return;
          event.preventDefault();
          moveBy(event.key === 'ArrowDown' ? 1 : -1);
        }}
      >
        {shown.length === 0 && <p class="empty">No request. They appear here as they come.</p>}
        {drawn.map((one) => (
          <Row key={one.reference} {...one} isChosen={one.reference === item} isStop={one === stop} q={q} />
        ))}
        {shown.length > most.value && (
          <button class="toggle more" onClick={() => (most.value += AT_FIRST)}>
            {count(shown.length - most.value)} more
          </button>
        )}
      </div>
    </div>
  );
}

const RATES = [50, 200, 1000];

function ListTools({ shown, newer, onNewer }: { shown: number; newer: number; onNewer: () => void }): JSX.Element {
  const { arrived = 0, samplesPerSecond = 0 } = store.now ?? {};
  const numbers = { shown, listed: store.requests.size, arrived, samplesPerSecond, keep: store.hello?.keep ?? 0 };
  const offered = [...new Set([...RATES, samplesPerSecond])].toSorted((one, other) => one - other);
  return (
    <div class="tools chips">
      <input
        type="search"
        id="filter"
        placeholder="Filter: words of route, status, statement …"
        aria-label="Filter"
        value={address.value.q ?? ''}
        onInput={({ currentTarget }) => go({ ...address.value, q: currentTarget.value }, 'replace')}
      />
      <Choice
        label="Which requests"
        options={{ all: 'All', trouble: 'Trouble only' }}
        chosen={troubleOnly.value ? 'trouble' : 'all'}
        onChoose={(which) => (troubleOnly.value = which === 'trouble')}
      />
      <button class="toggle" aria-pressed={paused.value} onClick={() => (paused.value = !paused.value)}>
        Pause
      </button>
      <select
        aria-label="How many requests without trouble are listed per second"
        title="How many requests without trouble are listed per second"
        value={String(samplesPerSecond)}
        onChange={({ currentTarget }) => void sample(Number(currentTarget.value))}
      >
        {offered.map((rate) => (
          <option key={rate} value={String(rate)}>
            up to {count(rate)}/s
          </option>
        ))}
      </select>
      <p class="hint numbers-line">
        {listLine(numbers)}
        {newer > 0 && (
          <button class="newer" title="Show the newest" onClick={onNewer}>
            ↑ {count(newer)} new
          </button>
        )}
      </p>
    </div>
  );
}
