import { h } from './dom.js';
import type { Layout } from './graph-layout.js';
import { toMermaid } from './graph-mermaid.js';
import type { Shown } from './graph-shown.js';
import { type Palette, toSvg } from './graph-svg.js';

const SAID_MS = 4000;

/** A menu that copies or saves the part of the graph that is drawn. */
export function exportMenu(drawn: () => { readonly shown: Shown; readonly layout: Layout } | undefined): HTMLElement {
  const said = h('span', { class: 'said', role: 'status' });
  const list = h('div', { class: 'list-of-actions' });
  const menu = h('details', { class: 'menu' }, h('summary', {}, 'Export'), list);
  const say = (text: string): void => {
    said.textContent = text;
    setTimeout(() => (said.textContent = ''), SAID_MS);
  };
  const add = (name: string, run: (now: { readonly shown: Shown; readonly layout: Layout }) => void): void => {
    const button = h('button', {}, name);
    button.addEventListener('click', () => {
      menu.open = false;
      const now = drawn();
      if (now) run(now);
    });
    list.append(button);
  };
  const saveMermaid = (shown: Shown): void => save('graph.mmd', 'text/plain', toMermaid(shown));
  add('Copy as Mermaid', ({ shown }) => {
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
  });
  add('Save as Mermaid', ({ shown }) => saveMermaid(shown));
  add('Save as SVG', ({ shown, layout }) => save('graph.svg', 'image/svg+xml', toSvg(shown, layout, palette())));
  menu.addEventListener('focusout', ({ relatedTarget }) => {
    if (relatedTarget instanceof Node && !menu.contains(relatedTarget)) menu.open = false;
  });
  menu.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !menu.open) return;
    event.stopPropagation();
    menu.open = false;
    menu.querySelector('summary')?.focus();
  });
  document.addEventListener('pointerdown', ({ target }) => {
    if (target instanceof Node && !menu.contains(target)) menu.open = false;
  });
  return h('div', { class: 'export' }, said, menu);
}

function save(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  h('a', { href: url, download: name }).click();
  // The download has begun by then.
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
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
