type Child = Node | string | undefined | false;

/** An element with its attributes and what is in it. */
export function h<K extends keyof HTMLElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string | undefined>> = {},
  ...children: readonly Child[]
): HTMLElementTagNameMap[K] {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) if (value !== undefined) element.setAttribute(name, value);
  element.append(...children.filter((child) => child !== undefined && child !== false));
  return element;
}

const SVG = 'http://www.w3.org/2000/svg';

export function svg<K extends keyof SVGElementTagNameMap>(
  tag: K,
  attributes: Readonly<Record<string, string>> = {},
  ...children: readonly Node[]
): SVGElementTagNameMap[K] {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

export function byId(id: string): HTMLElement {
  const element = document.getElementById(id);
  if (!element) throw new Error(`The page has no #${id}`);
  return element;
}

/** Writes only what differs, so that nothing is laid out for nothing. */
export function setText(element: Element, text: string): void {
  if (element.textContent !== text) element.textContent = text;
}

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

const SHOWN_MS = 1500;

/** A small button that copies a text. Browsers give access to the clipboard to pages from this machine, or with HTTPS. */
export function copyButton(text: () => string, label: string): HTMLButtonElement {
  const button = h('button', { class: 'copy', 'aria-label': label, title: label }, 'copy');
  button.hidden = !navigator.clipboard;
  button.addEventListener('click', () => void copyText(text(), button));
  return button;
}

/** Copies a text, and says on the button whether that was allowed. */
export async function copyText(text: string, button: HTMLElement): Promise<void> {
  const before = button.textContent ?? '';
  const copied = await navigator.clipboard.writeText(text).then(
    () => true,
    () => false,
  );
  setText(button, copied ? 'copied' : 'not allowed');
  setTimeout(() => setText(button, before), SHOWN_MS);
}
