import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { GraphProblem, GraphView, ServiceNode } from '../src/wire.js';
import { address, boot, formatAddress, now, useReading } from './data.js';
import { Badge, Reading } from './parts.js';
import { count, colorOf, times } from './words.js';

/** Each service in the box of its scope, beside what is wrong with the graph, or what is known of the chosen service. */
export function Graph(): JSX.Element | null {
  const { item, at } = address.value;
  const view = useReading<GraphView>('graph', boot.value);
  useEffect(() => {
    document.querySelector('.service:is([aria-current], .near)')?.scrollIntoView({ block: 'nearest' });
  }, [view, item, at]);
  if (!view || view instanceof Error) return null;
  const { nodes, edges, problems } = view;
  const node = nodes.find(({ id }) => id === item);
  const problem = problems.find(({ message }) => at !== undefined && message.startsWith(at));
  const neighbours = edges.flatMap(({ from, to }) => (from === item ? [to] : to === item ? [from] : []));
  return (
    <>
      <div class="canvas" role="group" aria-label="Dependency graph">
        <Boxes view={view} near={problem?.path ?? neighbours} />
      </div>
      <section class="card side stack" aria-label="Details" tabIndex={0}>
        {node ? <Details view={view} node={node} /> : <Overview problems={problems} />}
      </section>
    </>
  );
}

interface BoxesProps {
  readonly view: GraphView;
  /** The services on the path of the chosen problem, or one arrow away from the chosen service. */
  readonly near: readonly string[];
  /** Undefined for the outermost. */
  readonly parent?: string;
}

/** The kinds of scope that are opened in another one, each with its services and the kinds that are opened in it. */
function Boxes({ view, near, parent }: BoxesProps): JSX.Element[] {
  const isWrong = ({ id, kind }: ServiceNode): boolean =>
    kind === 'missing' || view.problems.some(({ path }) => path.includes(id));
  return view.boxes
    .filter((box) => box.parent === parent)
    .map(({ id: box, tags }) => {
      const { open = 0, leaks = 0 } = now.value?.kinds.find((kind) => kind.box === box) ?? {};
      const isRoot = parent === undefined;
      return (
        <section
          key={box}
          class={isRoot || open > 0 ? 'box open' : 'box'}
          data-id={box}
          style={{ '--color': colorOf(box) }}
          aria-label={`scope ${tags}`}
        >
          <header class="chips">
            <strong>{tags}</strong>
            <span class="hint">{isRoot ? 'one, from start to shutdown' : `one for each ${tags}`}</span>
            {!isRoot && open > 0 && <output>{count(open)} open</output>}
            {leaks > 0 && <Badge text={times(leaks, 'leak')} mood="bad" />}
          </header>
          <div class="chips">
            {view.nodes
              .filter((node) => node.box === box)
              .map((node) => (
                <a
                  key={node.id}
                  class={near.includes(node.id) ? 'toggle service near' : 'toggle service'}
                  data-mood={isWrong(node) ? 'bad' : undefined}
                  href={formatAddress({ view: 'graph', item: node.id })}
                  aria-current={address.value.item === node.id ? 'true' : undefined}
                >
                  {node.key}
                </a>
              ))}
          </div>
          <Boxes view={view} near={near} parent={box} />
        </section>
      );
    });
}

/** A problem that `verify()` finds. It leads to its place in the drawing. */
function problemLink({ message }: GraphProblem): JSX.Element {
  const [sentence = ''] = message.split('\n', 1);
  return (
    <pre key={message} class="note" data-mood="bad">
      <a href={formatAddress({ view: 'graph', at: sentence })}>{sentence}</a>
      {message.slice(sentence.length)}
    </pre>
  );
}

function Overview({ problems }: Pick<GraphView, 'problems'>): JSX.Element {
  return (
    <>
      {problems.length > 0 && <h2>verify() finds {times(problems.length, 'problem')}</h2>}
      {problems.map(problemLink)}
      <p>
        A box is a kind of scope: its services are created when first resolved, shared within it, and disposed with it.
      </p>
      <p class="hint">Choose a service to see more; Escape returns here.</p>
    </>
  );
}

/** One service: its problems, its dependencies and dependents, and what `explain()` says. */
function Details({ view, node: { id, key } }: { readonly view: GraphView; readonly node: ServiceNode }): JSX.Element {
  const { nodes, edges, problems } = view;
  const needs = edges.filter(({ from }) => from === id).map(({ to }) => to);
  const users = edges.filter(({ to }) => to === id).map(({ from }) => from);
  const list = (title: string, ids: readonly string[]): JSX.Element => (
    <>
      <h3>{title}</h3>
      <ul>
        {ids.length === 0 && <li>nothing</li>}
        {nodes
          .filter((one) => ids.includes(one.id))
          .map((one) => (
            <li key={one.id} style={{ '--color': colorOf(one.box) }}>
              <a href={formatAddress({ view: 'graph', item: one.id })}>{one.key}</a>
            </li>
          ))}
      </ul>
    </>
  );
  return (
    <>
      <a class="toggle" href={formatAddress({ view: 'graph' })}>
        ← Graph
      </a>
      <h2>{key}</h2>
      {problems.filter(({ path }) => path.includes(id)).map(problemLink)}
      {list('Depends on', needs)}
      {list('Used by', users)}
      <h3>Why this one</h3>
      <Reading path={`explain?key=${id}`} />
    </>
  );
}
