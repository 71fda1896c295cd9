import { h } from './dom.js';

/** A button that opens a list of actions. Escape closes it, and so does whatever else gets the focus or a click. */
export function menu(name: string, ...actions: readonly HTMLButtonElement[]): HTMLDetailsElement {
  const element = h(
    'details',
    { class: 'menu' },
    h('summary', { class: 'toggle' }, name),
    h('div', { class: 'menu-items' }, ...actions),
  );
  element.addEventListener('keydown', (event) => {
    if (event.key !== 'Escape' || !element.open) return;
    event.stopPropagation();
    element.open = false;
    element.querySelector('summary')?.focus();
  });
  for (const kind of ['click', 'focusin'])
    document.addEventListener(kind, ({ target }) => {
      if (element.open && target instanceof Node && !element.contains(target)) element.open = false;
    });
  return element;
}

/** Downloads a text that the page has made. */
export function save(name: string, type: string, text: string): void {
  const href = URL.createObjectURL(new Blob([text], { type }));
  h('a', { href, download: name }).click();
  URL.revokeObjectURL(href);
}
