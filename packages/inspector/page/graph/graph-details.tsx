import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { useEffect } from 'preact/hooks';
import type { GraphProblem, GraphView, ServiceNode, ServiceStats } from '../../src/wire.js';
import { count, duration, lastOf, lifetimeOf } from '../format.js';
import { times } from '../sentences.js';
import { fetchExplanation } from '../stream/connection.js';
import { sentenceOf } from './graph-drawing.js';
import type { GraphIndex } from './graph-index.js';

interface ProblemsProps {
  readonly view: GraphView;
  readonly chosen: GraphProblem | undefined;
  readonly show: (problem: GraphProblem) => void;
  readonly choose: (node?: string) => void;
}

/** What `verify()` finds, and what may be a mistake. Each leads to its place in the drawing. */
export function Problems({ view: { problems, notes = [] }, chosen, show, choose }: ProblemsProps): JSX.Element {
  return (
    <>
      {problems.length > 0 && <h2>verify() finds {times(problems.length, 'problem')}</h2>}
      {problems.map((problem) => (
        <div key={problem.message} class="problem">
          <button class="link" aria-pressed={problem === chosen} onClick={() => show(problem)}>
            {sentenceOf(problem)}
          </button>
          {problem === chosen && <pre>{problem.message.replaceAll(/^.*|\n */g, '\n').trim()}</pre>}
        </div>
      ))}
      {notes.map(({ message, nodes }) => (
        <button key={message} class="link note" onClick={() => choose(nodes[0])}>
          {message}
        </button>
      ))}
    </>
  );
}

/** How to read the graph. */
export function Guide(): JSX.Element {
  return (
    <div class="guide">
      <h2>How to read this</h2>
      <p>
        A box is a kind of scope. Its services are created when first resolved, shared within it, and disposed with it.
      </p>
      <p>An arrow means “depends on”: on the same or a longer lifetime. The other way is a captive dependency.</p>
      <p>
        <i class="lamp lit" /> is alive, <i class="lamp" /> not created yet or not known to be, <i class="lamp dash" />{' '}
        a new one for each resolve.
      </p>
      <p class="hint">Choose a service to see more. Arrow keys move between services, Escape returns here.</p>
    </div>
  );
}

interface ServiceDetailsProps {
  readonly index: GraphIndex;
  readonly node: ServiceNode;
  readonly stats: ServiceStats | undefined;
  /** Without a node it closes these details. */
  readonly choose: (node?: string) => void;
}

/** One service: its lifetime, its numbers, its dependencies and dependents, and what `explain()` says. */
export function ServiceDetails({ index, node, stats, choose }: ServiceDetailsProps): JSX.Element {
  const problems = index.view.problems.filter(({ nodes, path }) => [...nodes, ...path].includes(node.id));
  const linksTo = (ids: readonly string[]): JSX.Element => (
    <ul class="links">
      {ids.length === 0 && <li>nothing</li>}
      {ids.map((id) => (
        <li key={id}>
          <button class="link" data-lifetime={lifetimeOf(index.nodes.get(id)?.box ?? '')} onClick={() => choose(id)}>
            {index.nodes.get(id)?.key ?? id}
          </button>
        </li>
      ))}
    </ul>
  );
  return (
    <>
      <button class="quiet close" aria-label="Close" title="Close (Escape)" onClick={() => choose()}>
        ×
      </button>
      <h2 class="name">{node.key}</h2>
      <p class="chips">
        <span class="badge" data-lifetime={lifetimeOf(node.box)}>
          {lastOf(node.box)}
        </span>
        <span class="badge">{node.kind === 'register' ? 'registered directly' : node.kind}</span>
        {(node.kind === 'class' || node.kind === 'factory') && (
          <span class="badge">{node.singleton ? 'one per scope' : 'always a new one'}</span>
        )}
        {node.feature !== undefined && <span class="badge">feature {node.feature}</span>}
      </p>
      {problems.map(({ message }) => (
        <div key={message} class="problem">
          <pre>{message}</pre>
        </div>
      ))}
      <Numbers node={node} stats={stats} />
      <h3>Depends on</h3>
      {linksTo(index.dependencies(node.id).map(({ to }) => to))}
      <h3>Used by</h3>
      {linksTo(index.dependents(node.id).map(({ from }) => from))}
      <h3>Why this one</h3>
      <Explanation key={node.id} id={node.id} />
    </>
  );
}

function Explanation({ id }: { readonly id: string }): JSX.Element {
  const text = useSignal('…');
  useEffect(() => {
    fetchExplanation(id).then(
      (explanation) => (text.value = explanation),
      (error: unknown) => (text.value = String(error)),
    );
  }, [id, text]);
  return <pre class="explanation">{text}</pre>;
}

/** Counted on the server since the recording began. */
function Numbers({ node: { kind, singleton }, stats }: Pick<ServiceDetailsProps, 'node' | 'stats'>): JSX.Element {
  if (kind === 'value') return <p class="hint numbers">A value: the container did not create it.</p>;
  if (kind === 'register') return <p class="hint numbers">Registered directly on each such scope.</p>;
  const pairs = {
    ...(singleton && { alive: stats?.alive === undefined ? '–' : count(stats.alive) }),
    created: stats ? count(stats.created) : '–',
    average: stats ? duration(stats.averageMs) : '–',
    longest: stats ? duration(stats.longestMs) : '–',
  };
  return (
    <div class="numbers">
      <dl>
        {Object.entries(pairs).map(([name, value]) => (
          <div key={name}>
            <dt>{name}</dt>
            <dd>{value}</dd>
          </div>
        ))}
      </dl>
      {!singleton && (
        <p class="hint">A new one for each resolve. Its scope does not keep it, so nobody knows how many are alive.</p>
      )}
    </div>
  );
}
