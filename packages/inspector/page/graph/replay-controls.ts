import { h, svg } from '../dom.js';
import type { Replay, ReplayState } from './replay.js';

const ICONS = {
  back: 'M3 3h2v10H3z M13 3v10L6 8z',
  forward: 'M11 3h2v10h-2z M3 3v10l7-5z',
  pause: 'M4 3h3v10H4z M9 3h3v10H9z',
  play: 'M4 2.5v11L13 8z',
  repeat: 'M4 5h7V3l3.5 3L11 9V7H4v2H2V7a2 2 0 0 1 2-2z M12 11H5v2l-3.5-3L5 7v2h7V7h2v2a2 2 0 0 1-2 2z',
} as const;
const SPEEDS = [0.25, 0.5, 1, 2, 4];

/** The buttons of a replay, and the bar that shows how far it is and can be dragged. */
export class ReplayControls {
  readonly buttons: HTMLElement;
  readonly bar = h('input', {
    type: 'range',
    class: 'scrub',
    min: '0',
    value: '0',
    'aria-label': 'Step of the request',
  });
  readonly #back = button('back', 'Step back');
  readonly #play = button('play', 'Play');
  readonly #forward = button('forward', 'Step forward');
  readonly #repeat = button('repeat', 'Repeat');
  readonly #newest = h('button', { class: 'newest' }, 'Newest');

  constructor(replay: () => Replay) {
    const speed = h('select', { 'aria-label': 'Speed' });
    for (const times of SPEEDS) speed.append(h('option', { value: String(times) }, `${times}×`));
    speed.value = '1';
    this.buttons = h(
      'div',
      { class: 'player', role: 'group', 'aria-label': 'Replay' },
      this.#newest,
      this.#back,
      this.#play,
      this.#forward,
      this.#repeat,
      speed,
    );
    this.#back.addEventListener('click', () => replay().step(-1));
    this.#forward.addEventListener('click', () => replay().step(1));
    this.#play.addEventListener('click', () => replay().toggle());
    this.#newest.addEventListener('click', () => replay().newest());
    this.#repeat.addEventListener('click', () => {
      replay().repeat = this.#repeat.getAttribute('aria-pressed') !== 'true';
    });
    speed.addEventListener('change', () => {
      replay().speed = Number(speed.value);
    });
    this.bar.addEventListener('input', () => replay().seek(Number(this.bar.value)));
  }

  /** `text` is what the current step says. */
  show({ request, position, playing, following, newer, repeat }: ReplayState, text: string): void {
    const length = request?.steps.length ?? 0;
    const isIdle = !request && !newer;
    this.buttons.toggleAttribute('inert', isIdle);
    this.bar.toggleAttribute('inert', !request);
    this.bar.max = String(length);
    this.bar.value = String(request ? position : 0);
    this.bar.setAttribute('aria-valuetext', `${position} of ${length}: ${text}`);
    this.#back.disabled = !request || position === 0;
    this.#forward.disabled = request !== undefined && position >= length;
    this.#repeat.setAttribute('aria-pressed', String(repeat));
    this.#newest.classList.toggle('away', following);
    name(this.#play, playing ? 'pause' : 'play', playing ? 'Pause' : 'Play');
  }
}

function button(icon: keyof typeof ICONS, label: string): HTMLButtonElement {
  const made = h('button', { class: 'icon' });
  name(made, icon, label);
  return made;
}

/** Changes the icon only when it is another one, so that a pressed button stays the same element. */
function name(of: HTMLButtonElement, icon: keyof typeof ICONS, label: string): void {
  if (of.getAttribute('aria-label') === label) return;
  of.setAttribute('aria-label', label);
  of.setAttribute('title', label);
  of.replaceChildren(svg('svg', { viewBox: '0 0 16 16', 'aria-hidden': 'true' }, svg('path', { d: ICONS[icon] })));
}
