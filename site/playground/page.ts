import { editor } from './editor.js';
import type { Message, Step } from './messages.js';
import captive from './programs/captive-dependency.ts?text';
import circular from './programs/circular-dependency.ts?text';
import disposal from './programs/disposal.ts?text';
import transaction from './programs/transaction.ts?text';
import { ScopesView, sentence } from './scopes-view.js';
import { addressOf, programIn } from './share.js';
import workerCode from './worker.ts?bundle';

/** The examples, the first of which is there when the page opens. */
const programs = [
  { name: 'A captive dependency is refused', text: captive },
  { name: 'A scope is disposed', text: disposal },
  { name: 'Application, request, transaction', text: transaction },
  { name: 'A circular dependency', text: circular },
] as const;

/** A program that takes longer is stopped. */
const LIMIT_MS = 5000;
const STEP_MS = 350;
const workerAddress = URL.createObjectURL(new Blob([workerCode], { type: 'text/javascript' }));

/** Builds the playground in this element; the result takes it down again. */
export async function mount(root: HTMLElement): Promise<() => void> {
  const choice = h('select', { 'aria-label': 'Example' });
  choice.append(...programs.map(({ name }) => h('option', { value: name }, name)));
  const run = h('button', { class: 'run', type: 'button' }, 'Run');
  const share = h('button', { type: 'button' }, 'Share');
  const said = h('output', { class: 'said' });
  const code = h('div', { class: 'code' });
  const printed = h('pre', { class: 'printed', role: 'log', 'aria-label': 'Output', tabindex: '0' });
  const canvas = h('div', {
    class: 'drawn',
    role: 'region',
    'aria-label': 'Scopes and dependency graph',
  });
  const steps = h('ol', { class: 'steps', 'aria-label': 'What happened', tabindex: '0' });
  root.append(
    h('div', { class: 'bar' }, choice, run, share, said),
    h('div', { class: 'left' }, code, printed),
    h('div', { class: 'right' }, canvas, steps),
  );
  const text = editor(code);
  const view = new ScopesView(canvas);
  let stop = (): void => {};

  const start = (): void => {
    stop();
    printed.textContent = '';
    steps.replaceChildren();
    view.clear();
    said.textContent = '';
    stop = execute(text.text, printed, view, steps);
  };
  const load = async (): Promise<void> => {
    const shared = await programIn(location.hash);
    text.text = shared ?? programs.find(({ name }) => name === choice.value)?.text ?? '';
    start();
  };

  choice.addEventListener('change', () => {
    history.replaceState(history.state, '', location.pathname);
    void load();
  });
  run.addEventListener('click', start);
  share.addEventListener('click', () => {
    void addressOf(text.text).then(async (hash) => {
      history.replaceState(history.state, '', hash);
      try {
        await navigator.clipboard.writeText(location.href);
        said.textContent = 'The address with this program is copied.';
      } catch {
        said.textContent = 'This program is now in the address of the page.';
      }
    });
  });
  const onHash = (): void => void load();
  window.addEventListener('hashchange', onHash);
  await load();
  return () => {
    stop();
    window.removeEventListener('hashchange', onHash);
  };
}

function execute(program: string, printed: HTMLElement, view: ScopesView, steps: HTMLElement): () => void {
  // From text, so that it starts without a connection, too.
  const worker = new Worker(workerAddress, { type: 'module' });
  const replay = new Replay(view, steps);
  const print = (line: string, kind: string): void => printed.append(h('span', { class: kind }, `${line}\n`));
  const limit = setTimeout(() => {
    worker.terminate();
    print(`Stopped: it did not finish within ${LIMIT_MS / 1000} seconds.`, 'error');
  }, LIMIT_MS);
  const onMessage = (message: Message): void => {
    if (message.kind === 'log') print(message.text, 'log');
    else if (message.kind === 'error') print(message.text, 'error');
    else if (message.kind === 'graph') view.draw(message.view);
    else if (message.kind === 'step') replay.add(message.step);
    else clearTimeout(limit);
  };
  worker.addEventListener('message', ({ data }: MessageEvent<Message>) => onMessage(data));
  worker.addEventListener('error', ({ message }) => print(message, 'error'));
  worker.postMessage(program);
  return () => {
    clearTimeout(limit);
    worker.terminate();
    replay.stop();
  };
}

/** Shows one step after the other, because a program is faster than eyes. */
class Replay {
  readonly #view: ScopesView;
  readonly #list: HTMLElement;
  readonly #waiting: Step[] = [];
  #timer: ReturnType<typeof setTimeout> | undefined;

  constructor(view: ScopesView, list: HTMLElement) {
    this.#view = view;
    this.#list = list;
  }

  add(step: Step): void {
    this.#waiting.push(step);
    this.#timer ??= setTimeout(() => this.#next(), 0);
  }

  stop(): void {
    clearTimeout(this.#timer);
  }

  #next(): void {
    const step = this.#waiting.shift();
    this.#timer = undefined;
    if (!step) return;
    this.#view.show(step);
    this.#list.append(h('li', { class: step.what }, sentence(step)));
    this.#list.scrollTop = this.#list.scrollHeight;
    const pause = matchMedia('(prefers-reduced-motion: reduce)').matches ? 0 : STEP_MS;
    if (this.#waiting.length > 0) this.#timer = setTimeout(() => this.#next(), pause);
  }
}

type Child = Node | string;

/** An element with its attributes and what is in it. */
function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}
