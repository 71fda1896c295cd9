import { type ReadonlySignal, useSignal, useSignalEffect } from '@preact/signals';
import type { JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { GraphBox, GraphProblem, GraphView, ServiceEdge, ServiceNode } from '../src/wire.js';
import { count, lifetimeOf, times } from './words.js';

/** Nobody can follow one arrow among more than these: then only those of the chosen service and of problems are drawn. */
export const MOST_ARROWS = 60;

/** The service or problem that the user looks at. */
export interface Chosen {
  /** The service whose arrows are drawn in both directions. */
  readonly service?: string | undefined;
  /** Its path is drawn above everything else. */
  readonly problem?: GraphProblem | undefined;
}

/** The scopes and instances that exist at the moment. */
export interface Existing {
  /** The numbers of scopes of each box that are open, and that have leaked. */
  readonly open: ReadonlyMap<string, number>;
  readonly leaks?: ReadonlyMap<string, number>;
  /** The ids of services with an instance. */
  readonly alive: ReadonlySet<string>;
}

interface DrawingProps {
  readonly view: GraphView;
  readonly chosen: ReadonlySignal<Chosen>;
  readonly existing: ReadonlySignal<Existing>;
  readonly choose: (service: string) => void;
}

interface Arrow {
  readonly edge: Pick<ServiceEdge, 'from' | 'to'>;
  readonly look: string;
}

/** The first line of the message, with scopes by their own tags only. */
export const sentenceOf = ({ message }: GraphProblem): string =>
  (message.split('\n')[0] ?? '').replaceAll(/(?:\[[^\]]*\] > )+(?=\[)/g, '');

function arrowsOf({ edges }: GraphView, { service, problem }: Chosen): Arrow[] {
  const path = problem?.path ?? [];
  const traced = path.slice(1).map((to, i) => ({ edge: { from: path[i] ?? to, to }, look: 'traced' }));
  const drawn = edges.flatMap((edge): Arrow[] => {
    const side = edge.from === service ? 'out' : edge.to === service ? 'in' : '';
    if (edges.length > MOST_ARROWS && side === '' && !edge.problem) return [];
    return [{ edge, look: `${edge.kind} ${side} ${edge.problem ? 'wrong' : ''}` }];
  });
  return [...drawn, ...traced];
}

/** The scopes as boxes within boxes, each with the services that it owns, and arrows from each service to what it depends on. */
export function Drawing(props: DrawingProps): JSX.Element {
  const { view, chosen } = props;
  const canvas = useRef<HTMLDivElement>(null);
  const paths = useSignal<readonly { readonly look: string; readonly d: string }[]>([]);
  const draw = (): void => {
    const outer = canvas.current?.getBoundingClientRect();
    if (!outer) return;
    const found = canvas.current?.querySelectorAll<HTMLElement>('.service') ?? [];
    const rects = new Map(Array.from(found, (one) => [one.dataset['id'] ?? '', one.getBoundingClientRect()]));
    paths.value = arrowsOf(view, chosen.value).flatMap(({ edge, look }) => {
      const [from, to] = [rects.get(edge.from), rects.get(edge.to)];
      return from && to ? [{ look, d: way(moved(from, outer), moved(to, outer)) }] : [];
    });
  };
  useSignalEffect(draw);
  useLayoutEffect(() => {
    draw();
    const observer = new ResizeObserver(draw);
    if (canvas.current) observer.observe(canvas.current);
    return () => observer.disconnect();
  }, [view]);
  useSignalEffect(() => {
    const { service, problem } = chosen.value;
    const id = service ?? (problem && problem.path.at(-1));
    const at = id === undefined ? undefined : canvas.current?.querySelector(`[data-id="${CSS.escape(id)}"]`);
    at?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  });
  return (
    <div class="canvas" id="canvas" role="group" aria-label="Dependency graph">
      <div class="content" ref={canvas}>
        {view.boxes
          .filter(({ parent }) => parent === undefined)
          .map((box) => (
            <Box key={box.id} {...props} box={box} />
          ))}
        <svg class="arrows" aria-hidden="true">
          <marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="4.5" markerHeight="4.5" orient="auto">
            <path d="M0 0.5 L8 4 L0 7.5 z" fill="context-stroke" />
          </marker>
          {paths.value.map(({ look, d }, i) => (
            <path key={i} class={`arrow ${look}`} d={d} marker-end="url(#head)" />
          ))}
        </svg>
      </div>
    </div>
  );
}

const moved = ({ left, top, width, height }: DOMRect, by: DOMRect): DOMRect =>
  new DOMRect(left - by.left, top - by.top, width, height);

/** Up to what has a longer lifetime, along the side within one row, and down to a captive dependency. */
function way(from: DOMRect, to: DOMRect): string {
  const [x, y, toX] = [from.left + from.width / 2, from.top + from.height / 2, to.left + to.width / 2];
  if (Math.abs(from.top - to.top) < from.height) {
    const [start, end] = from.left > to.left ? [from.left, to.right + 1] : [from.right, to.left - 1];
    return `M${start} ${y} C${(start + end) / 2} ${y - 24} ${(start + end) / 2} ${y - 24} ${end} ${y}`;
  }
  const [start, end, pull] = from.top > to.top ? [from.top, to.bottom + 1, -1] : [from.bottom, to.top - 1, 1];
  const bend = pull * Math.min(60, Math.abs(end - start) / 2);
  return `M${x} ${start} C${x} ${start + bend} ${toX} ${end - bend} ${toX} ${end}`;
}

function Box({ box, ...props }: DrawingProps & { readonly box: GraphBox }): JSX.Element {
  const { view, existing } = props;
  const own = view.nodes.filter((node) => node.box === box.id);
  const features = [...new Set(own.map(({ feature }) => feature))];
  const [open, leaks] = [existing.value.open.get(box.id) ?? 0, existing.value.leaks?.get(box.id) ?? 0];
  const isRoot = box.parent === undefined;
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
        {leaks > 0 && (
          <span class="badge" data-mood="bad">
            {times(leaks, 'leak')}
          </span>
        )}
      </header>
      {features.map((feature) => (
        <Group key={feature} {...props} feature={feature} nodes={own.filter((node) => node.feature === feature)} />
      ))}
      {view.boxes
        .filter(({ parent }) => parent === box.id)
        .map((inner) => (
          <Box key={inner.id} {...props} box={inner} />
        ))}
    </section>
  );
}

interface GroupProps extends DrawingProps {
  readonly feature: string | undefined;
  readonly nodes: readonly ServiceNode[];
}

function Group({ view, chosen, existing, choose, feature, nodes }: GroupProps): JSX.Element {
  const { service, problem } = chosen.value;
  const { alive } = existing.value;
  const wrong = new Set(view.edges.filter((edge) => edge.problem).flatMap(({ from, to }) => [from, to]));
  const looksOf = ({ id, kind, singleton }: ServiceNode): string => {
    const looks = {
      transient: !singleton && kind !== 'value' && kind !== 'register',
      wrong: wrong.has(id) || kind === 'missing',
      alive: kind === 'value' || alive.has(id),
      traced: problem?.path.includes(id) === true,
    };
    return ['service', ...Object.entries(looks).flatMap(([look, is]) => (is ? [look] : []))].join(' ');
  };
  const named = feature === undefined ? {} : ({ role: 'group', 'aria-label': `feature ${feature}` } as const);
  return (
    <div class="group" {...named}>
      {feature !== undefined && <span class="feature">{feature}</span>}
      {nodes.map((node) => (
        <button
          key={node.id}
          class={looksOf(node)}
          data-id={node.id}
          title={node.key}
          aria-pressed={service === node.id}
          onClick={() => choose(node.id)}
        >
          <i class="lamp" />
          <span class="key">{node.key}</span>
        </button>
      ))}
    </div>
  );
}
