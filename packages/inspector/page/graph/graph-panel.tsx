import { effect, type Signal, signal, untracked } from '@preact/signals';
import { type JSX, render } from 'preact';
import type { GraphProblem, LeakGroup, RequestSummary, ServiceNode, ServiceStats } from '../../src/wire.js';
import { byId } from '../dom.js';
import { fetchGraph } from '../stream/connection.js';
import type { Store } from '../stream/store.js';
import { Caption, newsOf } from './caption.js';
import { GraphCanvas } from './graph-canvas.js';
import { Guide, Problems, ServiceDetails } from './graph-details.js';
import type { GraphDrawing } from './graph-drawing.js';
import type { GraphIndex } from './graph-index.js';
import { GraphTools } from './graph-tools.js';
import { Replay, type ReplayState } from './replay.js';
import { frameAt } from './replay-frames.js';

/** The key of what statements are sent through. */
const CONNECTION = 'IConnection';

type Chosen = { readonly service?: string; readonly problem?: GraphProblem };

/** The dependency graph as nested boxes, in which requests are replayed. */
export class GraphPanel {
  readonly #store: Store;
  readonly #panel = byId('graph');
  readonly #replay = new Replay();
  readonly #chosen: Signal<Chosen> = signal({});
  readonly #canvas = new GraphCanvas((id) => this.#choose(this.#chosen.value.service === id ? {} : { service: id }));
  /** Of the chosen service. */
  readonly #stats: Signal<ServiceStats | undefined> = signal();
  /** A problem that was asked for before the graph was there. */
  #wanted: string | undefined;

  /** `openRequest` is called with a request that has leaked a scope, whose line of code it shows. */
  constructor(store: Store, openRequest: (id: number) => void) {
    this.#store = store;
    const { element, drawing, index } = this.#canvas;
    render(
      <>
        <div class="stage">
          <Caption replay={this.#replay} />
          <div class="slot" ref={(slot) => slot?.append(element)} />
          <GraphTools canvas={this.#canvas} choose={(service) => this.#choose({ service })} />
        </div>
        <this.Details />
      </>,
      this.#panel,
    );
    element.addEventListener('click', ({ target }) => {
      const box = target instanceof HTMLElement ? target.dataset['leaks'] : undefined;
      const [request] = this.#leaksIn(box ?? '').flatMap(({ requests }) => requests);
      if (request !== undefined) openRequest(request);
    });
    effect(() => {
      const [graph, state] = [index.value, this.#replay.state.value];
      if (graph) untracked(() => showStep(drawing, graph, state));
    });
    store.onStart(() => void this.#load());
    store.onChange((changed) => this.#update(changed));
    document.addEventListener('keydown', ({ key, target }) => {
      const isHere = target === document.body || (target instanceof Node && this.#panel.contains(target));
      if (key === 'Escape' && isHere && !this.#panel.hidden) this.#choose({});
    });
  }

  set shown(shown: boolean) {
    this.#replay.shown = shown;
    if (shown) this.#canvas.begin();
  }

  /** Plays this request, and stays with it until the user goes on. */
  play(id: number): void {
    void this.#replay.play(id);
  }

  /** Draws the path of the problem whose message begins with this sentence, as the cause of a trouble of the graph does. */
  showProblem(cause: string): void {
    const problem = this.#canvas.index.peek()?.view.problems.find(({ message }) => message.startsWith(cause));
    this.#wanted = problem ? undefined : cause;
    if (problem) this.#choose({ problem });
  }

  readonly Details = (): JSX.Element => {
    const index = this.#canvas.index.value;
    const { service = '', problem } = this.#chosen.value;
    const node = index?.nodes.get(service);
    const choose = (id?: string): void => this.#choose(id === undefined ? {} : { service: id });
    return (
      <aside class="side" id="details" aria-label="Details" tabindex={0}>
        {index && node ? (
          <ServiceDetails index={index} node={node} stats={this.#stats.value} choose={choose} />
        ) : (
          <>
            {index && (
              <Problems
                view={index.view}
                chosen={problem}
                show={(one) => this.#choose(one === problem ? {} : { problem: one })}
                choose={choose}
              />
            )}
            <Guide />
          </>
        )}
      </aside>
    );
  };

  async #load(): Promise<void> {
    this.#replay.reset();
    const view = await fetchGraph();
    this.#canvas.load(view);
    this.#choose({});
    if (this.#wanted !== undefined) this.showProblem(this.#wanted);
  }

  #choose(chosen: Chosen): void {
    this.#chosen.value = chosen;
    if (chosen.problem) this.#canvas.trace(chosen.problem);
    else this.#canvas.choose(chosen.service);
    this.#update([]);
    byId('details').scrollTop = 0;
  }

  /** Leaks that the box shows: its own, and those of scopes in it that are not drawn. */
  #leaksIn(box: string): readonly LeakGroup[] {
    return (this.#store.now?.leaks ?? []).filter((leak) => this.#canvas.index.value?.boxAround(leak.box) === box);
  }

  #update(changed: readonly RequestSummary[]): void {
    this.#replay.offer(changed);
    const index = this.#canvas.index.value;
    if (!index) return;
    const node = index.nodes.get(this.#chosen.value.service ?? '');
    this.#stats.value = node && this.#store.stats(node.box, node.key);
    const numbers = index.view.boxes.map(({ id }) => {
      const { open = 0 } = this.#store.now?.kinds.find(({ box }) => box === id) ?? {};
      return [id, { open, leaks: this.#leaksIn(id).reduce((sum, leak) => sum + leak.open, 0) }] as const;
    });
    this.#canvas.drawing.numbers.value = new Map(numbers);
    this.#canvas.drawing.mark('alive', aliveIn(index, this.#store));
  }
}

/** The application singletons that exist: those seen being created, and those that a created service depends on. */
function aliveIn(index: GraphIndex, store: Store): string[] {
  const seen = new Set<string>();
  const follow = (id: string): void => {
    if (seen.has(id)) return;
    seen.add(id);
    for (const { to, kind } of index.dependencies(id)) if (kind === 'one' || kind === 'optional') follow(to);
  };
  for (const { id, box, key } of index.view.nodes) if (store.stats(box, key)) follow(id);
  const exists = ({ id, box, kind, singleton }: ServiceNode): boolean =>
    box === index.root && (kind === 'value' || (singleton && seen.has(id)));
  return index.view.nodes.filter(exists).map(({ id }) => id);
}

/** Opens and closes boxes and lights services up: the graph as it is at one step of a request. */
function showStep(drawing: GraphDrawing, index: GraphIndex, { request, position }: ReplayState): void {
  const frame = request && frameAt(request, position);
  const step = request?.steps[position];
  const seen = (one: { readonly box: string | undefined; readonly key: string }): string[] =>
    [index.idOf(one.box ?? index.root, one.key)].filter((id) => id !== undefined);
  const open = [...(frame?.open ?? [])];
  drawing.mark('open', [index.root, ...open]);
  // Directly registered services and values exist as long as their scope is open.
  const given = index.view.nodes.filter(
    ({ box, kind }) => (kind === 'register' || kind === 'value') && frame?.open.has(box),
  );
  drawing.mark('lit', [...given.map(({ id }) => id), ...(frame?.created ?? []).flatMap(seen)]);
  drawing.mark('failed', (frame?.failed ?? []).flatMap(seen));
  drawing.mark(
    'left',
    Array.from(frame?.left ?? [], (box) => index.boxAround(box)),
  );
  const mood = step ? newsOf(step) : '';
  const box = request?.spans[step?.span ?? -1]?.box ?? index.root;
  for (const one of ['good', 'bad'] as const) drawing.mark(one, mood === one ? [index.boxAround(box)] : []);
  const connection = step?.kind === 'statement' ? index.idOf(open.at(-1) ?? index.root, CONNECTION) : undefined;
  drawing.mark('asked', connection === undefined ? [] : [connection]);
  drawing.created.value = step?.kind === 'created' ? index.idOf(box, step.key ?? '') : undefined;
}
