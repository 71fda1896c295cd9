import { h, menu, save } from '../dom.js';
import type { Layout } from './graph-layout.js';
import { type Palette, toMermaid, toSvg } from './graph-drawing.js';
import type { Shown } from './graph-index.js';

const SAID_MS = 4000;

/** A menu that copies or saves the part of the graph that is drawn. */
export function exportMenu(drawn: () => { readonly shown: Shown; readonly layout: Layout } | undefined): HTMLElement {
  const said = h('span', { class: 'said', role: 'status' });
  const say = (text: string): void => {
    said.textContent = text;
    setTimeout(() => (said.textContent = ''), SAID_MS);
  };
  const action = (
    name: string,
    run: (now: { readonly shown: Shown; readonly layout: Layout }) => void,
  ): HTMLButtonElement => {
    const button = h('button', { class: 'toggle' }, name);
    button.addEventListener('click', () => {
      actions.open = false;
      const now = drawn();
      if (now) run(now);
    });
    return button;
  };
  const saveMermaid = (shown: Shown): void => save('graph.mmd', 'text/plain', toMermaid(shown));
  const copyMermaid = ({ shown }: { readonly shown: Shown }): void => {
    // Without HTTPS a browser has a clipboard only for the machine itself.
    const clipboard = (navigator as Partial<Navigator>).clipboard;
    const copied = clipboard ? clipboard.writeText(toMermaid(shown)) : Promise.reject(new Error('no clipboard'));
    copied.then(
      () => say('Copied'),
      () => {
        saveMermaid(shown);
        say('The browser allows no copying here: saved as a file');
      },
    );
  };
  const actions = menu(
    'Export',
    action('Copy as Mermaid', copyMermaid),
    action('Save as Mermaid', ({ shown }) => saveMermaid(shown)),
    action('Save as SVG', ({ shown, layout }) => save('graph.svg', 'image/svg+xml', toSvg(shown, layout, palette()))),
  );
  return h('div', { class: 'export' }, said, actions);
}

function palette(): Palette {
  const style = getComputedStyle(document.documentElement);
  const color = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    bad: color('bad'),
    line: color('line'),
    muted: color('muted'),
    page: color('page'),
    'strong-line': color('strong-line'),
    surface: color('surface'),
    text: color('text'),
    lifetimes: [0, 1, 2, 3].map((i) => color(`lifetime-${i}`)),
    tints: [0, 1, 2, 3].map((i) => color(`tint-${i}`)),
  };
}
