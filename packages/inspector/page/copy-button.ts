import { h, setText } from './dom.js';

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
