import { computed, type Signal, signal } from '@preact/signals';
import { type CSSProperties, type JSX, render } from 'preact';
import type { GraphBox, GraphProblem, ServiceEdge, ServiceNode } from '../../src/wire.js';
import { count, lifetimeOf } from '../format.js';
import { type BoxTree, GraphIndex, type Group } from './graph-index.js';
import { type Layout, layOut, type Rect, way } from './graph-layout.js';

/** Of more arrows than this nobody can follow one: only those of the chosen service are drawn, and those with a problem. */
const MOST_ARROWS = 200;
/** More are drawn more lightly. */
const FEW_ARROWS = 50;
/** The width of what is said about a path, and how far from it that stands. */
const CALLOUT = 300;
const BESIDE = 14;

/** How a service or a box looks, besides what it is. */
type Mark = 'alive' | 'asked' | 'bad' | 'failed' | 'good' | 'left' | 'lit' | 'near' | 'open' | 'traced' | 'unused';

/** How many scopes of each box are open, and have leaked. */
type Numbers = ReadonlyMap<string, { readonly open: number; readonly leaks: number }>;

/**
 * The scopes as boxes within boxes, each with the services that it owns, and arrows from each service to what it depends on. Preact makes
 * the elements when the graph or its layout is another; while a request is replayed, only classes change, and only those that differ.
 */
export class GraphDrawing {
  readonly element: HTMLElement;
  readonly chosen: Signal<string | undefined> = signal();
  /** Its path is drawn above everything else, with its message beside it. */
  readonly problem: Signal<GraphProblem | undefined> = signal();
  readonly numbers: Signal<Numbers> = signal(new Map());
  /** A service that was just created: the arrows to its dependencies are highlighted. */
  readonly created: Signal<string | undefined> = signal();
  /** The service whose arrows are highlighted in both directions. */
  readonly #near: Signal<string | undefined> = signal();
  readonly #marked = new Map<Mark, ReadonlySet<string>>();
  /** Of boxes and services, by id. */
  elements: ReadonlyMap<string, HTMLElement> = new Map();
  #index = new GraphIndex({ boxes: [], nodes: [], edges: [], problems: [] });
  #layout = layOut(this.#index, { width: 1, height: 1 });
  #wrong: ReadonlySet<string> = new Set();

  constructor(element: HTMLElement) {
    this.element = element;
  }

  /** Returns how many arrows are left out until a service is chosen. */
  draw(index: GraphIndex, layout: Layout): number {
    this.#index = index;
    this.#layout = layout;
    const { edges } = index.view;
    const wrong = edges.filter(({ problem }) => problem);
    const drawn = edges.length <= MOST_ARROWS ? edges : wrong.slice(0, MOST_ARROWS);
    this.#wrong = new Set(wrong.flatMap(({ from, to }) => [from, to]));
    this.element.style.setProperty('width', `${layout.width}px`);
    this.element.style.setProperty('height', `${layout.height}px`);
    this.element.className = `content ${layout.look}`;
    this.element.classList.toggle('tall', layout.isTall);
    this.element.classList.toggle('many', drawn.length > FEW_ARROWS);
    render(
      <>
        {layout.roots.map((root) => this.#box(root))}
        <svg class="arrows" aria-hidden="true">
          <marker id="head" viewBox="0 0 8 8" refX="7" refY="4" markerWidth="4.5" markerHeight="4.5" orient="auto">
            <path d="M0 0.5 L8 4 L0 7.5 z" fill="context-stroke" />
          </marker>
          {drawn.map((edge) => this.#arrow(edge))}
        </svg>
        <this.Highlights layout={layout} />
      </>,
      this.element,
    );
    const found = this.element.querySelectorAll<HTMLElement>('[data-id]');
    this.elements = new Map(Array.from(found, (element) => [element.dataset['id'] ?? '', element]));
    for (const [mark, ids] of this.#marked) for (const id of ids) this.elements.get(id)?.classList.add(mark);
    return edges.length - drawn.length;
  }

  place(id: string): Rect | undefined {
    return this.#layout.places.get(id);
  }

  /** Marks these services and boxes, and no others, touching only what differs. */
  mark(as: Mark, ids: Iterable<string>): void {
    const [before, now] = [this.#marked.get(as), new Set(ids)];
    for (const id of before ?? []) if (!now.has(id)) this.elements.get(id)?.classList.remove(as);
    for (const id of now) if (!before?.has(id)) this.elements.get(id)?.classList.add(as);
    this.#marked.set(as, now);
  }

  /** Highlights a service, its arrows, and what is at their other ends. */
  light(id: string | undefined): void {
    this.#near.value = id;
    const own = this.#index.view.edges.filter(({ from, to }) => from === id || to === id);
    this.mark('near', id === undefined ? [] : [id, ...own.flatMap(({ from, to }) => [from, to])]);
  }

  /** Copies of the arrows that are highlighted, above the others: the many below are not painted again. Another layout draws them again. */
  readonly Highlights = ({ layout }: { readonly layout: Layout }): JSX.Element => {
    const [near, created, problem] = [this.#near.value, this.created.value, this.problem.value];
    const { edges } = this.#index.view;
    const out = edges.filter(({ from }) => from === near || (from === created && !problem));
    const into = edges.filter(({ from, to }) => to === near && from !== near);
    const { path, unused } = problem ?? { path: [], unused: [] };
    const about = (problem ? aboutOf(problem) : []).flatMap((id) => this.place(id) ?? []);
    const wrong = { kind: 'one', problem: true } as const;
    return (
      <>
        <svg class="arrows near" aria-hidden="true">
          {out.map((edge) => this.#arrow(edge, 'out'))}
          {into.map((edge) => this.#arrow(edge, 'in'))}
          {unused.map((to) => this.#arrow({ from: path[0] ?? to, to, ...wrong }, 'unused'))}
          {path.slice(1).map((to, i) => this.#arrow({ from: path[i] ?? to, to, ...wrong }, 'traced'))}
        </svg>
        {about.length > 0 && problem && <Callout text={sentenceOf(problem)} path={about} layout={layout} />}
      </>
    );
  };

  #arrow({ from, to, kind, problem }: ServiceEdge, side = ''): JSX.Element {
    const [start, end] = [this.place(from), this.place(to)];
    const classes = ['arrow', kind, side, problem && 'wrong'].filter(Boolean).join(' ');
    const d = start && end ? way(start, end) : '';
    return <path key={`${from} ${to} ${side}`} class={classes} marker-end="url(#head)" d={d} />;
  }

  #box({ box, groups, inner }: BoxTree, above?: string): JSX.Element {
    return (
      <section
        key={box.id}
        class={box.parent === undefined ? 'box open root' : 'box'}
        data-id={box.id}
        data-lifetime={lifetimeOf(box.id)}
        aria-label={`scope ${box.tags}`}
        style={this.#style(box.id, above)}
      >
        <header>
          <strong>{box.tags}</strong>
          <span class="lifetime">{lifetimeText(box)}</span>
          <BoxNumbers box={box} numbers={this.numbers} />
        </header>
        {groups.map((group) => this.#group(group, box.id))}
        {inner.map((one) => this.#box(one, box.id))}
      </section>
    );
  }

  #group({ id, feature, nodes }: Group, above: string): JSX.Element {
    const named = feature === undefined ? {} : ({ role: 'group', 'aria-label': `feature ${feature}` } as const);
    return (
      <div key={id} class={feature === undefined ? 'group' : 'group named'} style={this.#style(id, above)} {...named}>
        {feature !== undefined && <span class="feature">{feature}</span>}
        {nodes.map((node) => this.#service(node, id))}
      </div>
    );
  }

  #service({ id, key, kind, singleton }: ServiceNode, above: string): JSX.Element {
    const isTransient = !singleton && kind !== 'value' && kind !== 'register';
    const isWrong = this.#wrong.has(id) || kind === 'missing';
    const classes = ['service', isTransient && 'transient', isWrong && 'wrong'].filter(Boolean).join(' ');
    const pressed = computed(() => (this.chosen.value === id ? 'true' : 'false'));
    const style = this.#style(id, above);
    return (
      <button key={id} class={classes} data-id={id} title={key} tabindex={-1} aria-pressed={pressed} style={style}>
        <i class="lamp" />
        <span class="key">{key}</span>
      </button>
    );
  }

  /** Within the box or group with the id `above`. */
  #style(id: string, above = ''): CSSProperties {
    const [{ x, y, width, height }, outer] = [this.place(id) ?? NOWHERE, this.place(above) ?? NOWHERE];
    return { left: `${x - outer.x}px`, top: `${y - outer.y}px`, width: `${width}px`, height: `${height}px` };
  }
}

const NOWHERE: Rect = { x: 0, y: 0, width: 0, height: 0 };

function lifetimeText({ tags, parent }: GraphBox): string {
  if (parent === undefined) return 'one, from start to shutdown';
  return tags === 'transaction' ? 'while it is open' : `one for each ${tags}`;
}

function BoxNumbers({ box, numbers }: { box: GraphBox; numbers: Signal<Numbers> }): JSX.Element {
  const { open, leaks } = numbers.value.get(box.id) ?? { open: 0, leaks: 0 };
  return (
    <>
      {box.parent !== undefined && open > 0 && <output>{count(open)} open</output>}
      {leaks > 0 && (
        <button class="badge bad leaks" data-leaks={box.id}>
          {count(leaks)} {leaks === 1 ? 'leak' : 'leaks'}
        </button>
      )}
    </>
  );
}

/** What is wrong, in one sentence beside the path, where it covers as little as possible. */
function Callout({ text, path, layout }: { text: string; path: readonly Rect[]; layout: Layout }): JSX.Element {
  const { scale, places, space } = layout;
  const [width, height] = [CALLOUT / scale, (24 + 18 * Math.ceil(text.length / 36)) / scale];
  const within = (at: number, size: number, all: number, seen: number): number => {
    const beyond = Math.max(0, seen / scale - all) / 2;
    return Math.max(-beyond, Math.min(at, all + beyond - size));
  };
  const left = Math.min(...path.map(({ x }) => x));
  const bottom = Math.max(...path.map((rect) => rect.y + rect.height)) + BESIDE;
  const right = Math.max(...path.map((rect) => rect.x + rect.width)) + BESIDE;
  const top = Math.min(...path.map(({ y }) => y));
  const corners = [[left, bottom] as const, [left, top - height - BESIDE] as const, [right, top] as const];
  const found = corners.map((corner) => {
    const x = within(corner[0], width, layout.width, space.width);
    const y = within(corner[1], height, layout.height, space.height);
    const isCovered = (rect: Rect): boolean =>
      rect.x < x + width && x < rect.x + rect.width && rect.y < y + height && y < rect.y + Math.min(rect.height, 50);
    return { x, y, cost: [...places.values(), ...path, ...path, ...path].filter(isCovered).length };
  });
  const { x, y } = found.reduce((best, one) => (one.cost < best.cost ? one : best));
  return (
    <div class="callout" role="note" style={{ left: `${x}px`, top: `${y}px`, width: `${CALLOUT}px` }}>
      {text}
    </div>
  );
}

/** The first line of the message, with scopes by their own tags only. */
export function sentenceOf({ message }: GraphProblem): string {
  return (message.split('\n')[0] ?? '').replaceAll(/(?:\[[^\]]*\] > )+(?=\[)/g, '');
}

/** The path of a problem; of one that is not about arrows, its nodes. */
export const aboutOf = ({ path, nodes }: GraphProblem): readonly string[] => (path.length > 0 ? path : nodes);
