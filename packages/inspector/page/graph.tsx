import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { GraphBox, GraphProblem, GraphView, ServiceNode } from '../src/wire.js';
import { address, boot, now, read } from './data.js';
import { Badge, Reading } from './parts.js';
import { count, lastOf, lifetimeOf, times } from './words.js';

const graph = signal<GraphView | undefined>(undefined);
/** The service or problem that the user looks at. */
const chosen = signal<{ readonly service?: string | undefined; readonly problem?: GraphProblem | undefined }>({});

/** Each service in the box of its scope, beside what is wrong with the graph, or what is known of the chosen service. */
export function Graph(): JSX.Element | null {
  const { at } = address.value;
  const view = graph.value;
  useEffect(() => {
    if (boot.value !== undefined) void read<GraphView>('graph').then((loaded) => (graph.value = loaded));
  }, [boot.value]);
  useEffect(() => {
    const problem = at === undefined ? undefined : view?.problems.find(({ message }) => message.startsWith(at));
    chosen.value = { problem };
  }, [view, at]);
  useEffect(() => {
    document.querySelector('.service:is([aria-pressed="true"], .traced)')?.scrollIntoView({ block: 'nearest' });
  }, [chosen.value]);
  if (!view) return null;
  const choose = (service?: string): void => void (chosen.value = { service });
  const node = view.nodes.find(({ id }) => id === chosen.value.service);
  return (
    <div class="graph-view" onKeyDown={({ key }) => key === 'Escape' && choose()}>
      <div class="canvas" role="group" aria-label="Dependency graph">
        {view.boxes
          .filter(({ parent }) => parent === undefined)
          .map((box) => (
            <Box key={box.id} view={view} choose={choose} box={box} />
          ))}
      </div>
      <section class="side" aria-label="Details" tabIndex={0}>
        {node ? <Details view={view} node={node} choose={choose} /> : <Problems view={view} />}
      </section>
    </div>
  );
}

function Box({ box, view, choose }: ChooseProps & { readonly box: GraphBox }): JSX.Element {
  const { open = 0, leaks = 0 } = now.value?.kinds.find((kind) => kind.box === box.id) ?? {};
  const isRoot = box.parent === undefined;
  const { service, problem } = chosen.value;
  const near = view.edges.flatMap(({ from, to }) => (from === service ? [to] : to === service ? [from] : []));
  const isWrong = ({ id, kind }: ServiceNode): boolean =>
    kind === 'missing' || view.problems.some(({ path }) => path.includes(id));
  const looksOf = (node: ServiceNode): string => {
    const looks = { near: near.includes(node.id), traced: problem?.path.includes(node.id) };
    return ['service', ...Object.entries(looks).flatMap(([look, is]) => (is ? [look] : []))].join(' ');
  };
  return (
    <section
      class={isRoot || open > 0 ? 'box open' : 'box'}
      data-id={box.id}
      data-lifetime={lifetimeOf(box.id)}
      aria-label={`scope ${box.tags}`}
    >
      <header class="chips">
        <strong>{box.tags}</strong>
        <span class="hint">{isRoot ? 'one, from start to shutdown' : `one for each ${box.tags}`}</span>
        {!isRoot && open > 0 && <output>{count(open)} open</output>}
        {leaks > 0 && <Badge text={times(leaks, 'leak')} mood="bad" />}
      </header>
      <div class="chips">
        {view.nodes
          .filter((node) => node.box === box.id)
          .map((node) => (
            <button
              key={node.id}
              class={looksOf(node)}
              data-mood={isWrong(node) ? 'bad' : undefined}
              aria-pressed={service === node.id}
              onClick={() => choose(node.id === service ? undefined : node.id)}
            >
              {node.key}
            </button>
          ))}
      </div>
      {view.boxes
        .filter(({ parent }) => parent === box.id)
        .map((inner) => (
          <Box key={inner.id} view={view} choose={choose} box={inner} />
        ))}
    </section>
  );
}

interface ChooseProps {
  readonly view: GraphView;
  readonly choose: (service?: string) => void;
}

/** The first line of the message, with scopes by their own tags only. */
const sentenceOf = ({ message }: GraphProblem): string =>
  (message.split('\n')[0] ?? '').replaceAll(/(?:\[[^\]]*\] > )+(?=\[)/g, '');

/** The problems that `verify()` finds. Each leads to its place in the drawing. */
function Problems({ view: { problems } }: Pick<ChooseProps, 'view'>): JSX.Element {
  const shown = chosen.value.problem;
  const show = (problem: GraphProblem): void => void (chosen.value = problem === shown ? {} : { problem });
  return (
    <>
      {problems.length > 0 && <h2>verify() finds {times(problems.length, 'problem')}</h2>}
      {problems.map((problem) => (
        <div key={problem.message} class="problem" data-mood="bad">
          <button class="link" aria-pressed={problem === shown} onClick={() => show(problem)}>
            {sentenceOf(problem)}
          </button>
          {problem === shown && <pre>{problem.message.replaceAll(/^.*|\n */g, '\n').trim()}</pre>}
        </div>
      ))}
      <p>
        A box is a kind of scope: its services are created when first resolved, shared within it, and disposed with it.
      </p>
      <p class="hint">Choose a service to see more; Escape returns here.</p>
    </>
  );
}

/** One service: its lifetime, its numbers, its dependencies and dependents, and what `explain()` says. */
function Details({ view, node, choose }: ChooseProps & { readonly node: ServiceNode }): JSX.Element {
  const { id, key, box, kind, singleton, feature } = node;
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
          <div key={message} class="problem" data-mood="bad">
            <pre>{message}</pre>
          </div>
        ))}
      <h3>Depends on</h3>
      {linksTo(view.edges.filter(({ from }) => from === id).map(({ to }) => to))}
      <h3>Used by</h3>
      {linksTo(view.edges.filter(({ to }) => to === id).map(({ from }) => from))}
      <h3>Why this one</h3>
      <Reading path={`explain?key=${encodeURIComponent(id)}`} />
    </>
  );
}
