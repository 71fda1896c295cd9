import { computed, signal, useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { Total } from '../src/totals.js';
import type { GraphProblem, GraphView, ServiceNode } from '../src/wire.js';
import { address, boot, now, read } from './data.js';
import { type Chosen, Drawing, type Existing, MOST_ARROWS, sentenceOf } from './drawing.js';
import { count, duration, lastOf, lifetimeOf, times } from './words.js';

const graph = signal<GraphView | undefined>(undefined);
const services = signal<readonly Total[]>([]);
const statsOf = ({ box, key }: ServiceNode): Total | undefined =>
  services.value.find(({ name }) => name === `${box}: ${key}`);
const chosen = signal<Chosen>({});

const existing = computed((): Existing => {
  const { kinds = [] } = now.value ?? {};
  const isAlive = (node: ServiceNode): boolean => (statsOf(node)?.alive ?? 0) > 0;
  return {
    open: new Map(kinds.map(({ box, open }) => [box, open])),
    leaks: new Map(kinds.map(({ box, leaks }) => [box, leaks])),
    alive: new Set(graph.value?.nodes.filter(isAlive).map(({ id }) => id)),
  };
});

/** The dependency graph beside what is wrong with it, or what is known of the chosen service. */
export function Graph(): JSX.Element | null {
  const { at } = address.value;
  const view = graph.value;
  useEffect(() => {
    // The message after the next one may have more luck.
    if (now.value)
      void read<readonly Total[]>('services').then(
        (all) => (services.value = all),
        () => undefined,
      );
  }, [now.value]);
  useEffect(() => {
    if (boot.value !== undefined) void read<GraphView>('graph').then((loaded) => (graph.value = loaded));
  }, [boot.value]);
  useEffect(() => {
    const problem = at === undefined ? undefined : view?.problems.find(({ message }) => message.startsWith(at));
    chosen.value = { problem };
  }, [view, at]);
  if (!view) return null;
  const choose = (service?: string): void => void (chosen.value = { service });
  const node = view.nodes.find(({ id }) => id === chosen.value.service);
  return (
    <div class="graph-view" onKeyDown={({ key }) => key === 'Escape' && choose()}>
      <div class="stage">
        {view.edges.length > MOST_ARROWS && (
          <p class="tools hint">
            {count(view.edges.length)} arrows are too many to read: choose a service to see its own.
          </p>
        )}
        <Drawing
          view={view}
          chosen={chosen}
          existing={existing}
          choose={(id) => choose(id === chosen.value.service ? undefined : id)}
        />
      </div>
      <section class="side" aria-label="Details" tabIndex={0}>
        {node ? <Details view={view} node={node} choose={choose} /> : <Problems view={view} />}
      </section>
    </div>
  );
}

interface ChooseProps {
  readonly view: GraphView;
  readonly choose: (service?: string) => void;
}

/** The problems that `verify()` finds. Each leads to its place in the drawing. */
function Problems({ view: { problems } }: Pick<ChooseProps, 'view'>): JSX.Element {
  const shown = chosen.value.problem;
  const show = (problem: GraphProblem): void => void (chosen.value = problem === shown ? {} : { problem });
  return (
    <>
      {problems.length > 0 && <h2>verify() finds {times(problems.length, 'problem')}</h2>}
      {problems.map((problem) => (
        <div key={problem.message} class="problem">
          <button class="link" aria-pressed={problem === shown} onClick={() => show(problem)}>
            {sentenceOf(problem)}
          </button>
          {problem === shown && <pre>{problem.message.replaceAll(/^.*|\n */g, '\n').trim()}</pre>}
        </div>
      ))}
      <p>
        A box is a kind of scope: its services are created when first resolved, shared within it, and disposed with it.
        An arrow means “depends on”: on the same or a longer lifetime. The other way is a captive dependency.
      </p>
      <p class="hint">Choose a service to see more; Escape returns here. A filled dot is alive.</p>
    </>
  );
}

/** One service: its lifetime, its numbers, its dependencies and dependents, and what `explain()` says. */
function Details({ view, node, choose }: ChooseProps & { readonly node: ServiceNode }): JSX.Element {
  const { id, key, box, kind, singleton, feature } = node;
  const stats = statsOf(node);
  const linksTo = (ids: readonly string[]): JSX.Element => (
    <ul class="links">
      {ids.length === 0 && <li>nothing</li>}
      {view.nodes
        .filter((one) => ids.includes(one.id))
        .map((one) => (
          <li key={one.id}>
            <button class="link" data-lifetime={lifetimeOf(one.box)} onClick={() => choose(one.id)}>
              {one.key}
            </button>
          </li>
        ))}
    </ul>
  );
  return (
    <>
      <button class="quiet close" aria-label="Close" onClick={() => choose()}>
        ×
      </button>
      <h2 class="name">{key}</h2>
      <p class="chips">
        <span class="badge" data-lifetime={lifetimeOf(box)}>
          {lastOf(box)}
        </span>
        <span class="badge">{kind === 'register' ? 'registered directly' : kind}</span>
        {(kind === 'class' || kind === 'factory') && (
          <span class="badge">{singleton ? 'one per scope' : 'always a new one'}</span>
        )}
        {feature !== undefined && <span class="badge">feature {feature}</span>}
      </p>
      {view.problems
        .filter(({ path }) => path.includes(id))
        .map(({ message }) => (
          <div key={message} class="problem">
            <pre>{message}</pre>
          </div>
        ))}
      {stats && (
        <p>
          {count(stats.count)} created{stats.alive !== undefined && `, ${count(stats.alive)} alive`}, half of them
          within {duration(stats.p50)}, all within {duration(stats.longest)}
        </p>
      )}
      <h3>Depends on</h3>
      {linksTo(view.edges.filter(({ from }) => from === id).map(({ to }) => to))}
      <h3>Used by</h3>
      {linksTo(view.edges.filter(({ to }) => to === id).map(({ from }) => from))}
      <h3>Why this one</h3>
      <Explanation key={id} id={id} />
    </>
  );
}

function Explanation({ id }: { readonly id: string }): JSX.Element {
  const text = useSignal('…');
  useEffect(() => {
    read<{ explanation: string }>(`explain?key=${encodeURIComponent(id)}`).then(
      ({ explanation }) => (text.value = explanation),
      (error: unknown) => (text.value = String(error)),
    );
  }, [id]);
  return <pre class="explanation">{text}</pre>;
}
