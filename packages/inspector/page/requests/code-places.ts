import { copyButton } from '../copy-button.js';
import { h } from '../dom.js';
import { editorLink, EDITORS, type EditorSetting } from './editor.js';
import { readStored, writeStored } from '../stored.js';

const STORED = 'ambit-inspector-editor';
const NONE: EditorSetting = { editor: '', folder: '' };

/** Shows lines of code, which open in the editor that the user has chosen. */
export class CodePlaces {
  #setting: EditorSetting = readSetting();

  /** One line of code, with a button that copies it. */
  show(where: string): HTMLElement {
    const href = editorLink(where, this.#setting);
    const title = href === undefined ? where : `Open ${where} in ${EDITORS[this.#setting.editor]}`;
    const code = h('code', {}, where);
    return h(
      'span',
      { class: 'place' },
      href === undefined ? code : h('a', { href, title }, code),
      copyButton(() => where, `Copy ${where}`),
    );
  }

  /** Lets the user choose the editor. */
  settings(onChange: () => void): HTMLElement {
    const options = Object.entries(EDITORS).map(([value, name]) => h('option', { value }, name));
    const editor = h('select', {}, h('option', { value: '' }, 'none'), ...options);
    const folder = h('input', { type: 'text', spellcheck: 'false', placeholder: '/home/me/shop' });
    editor.value = this.#setting.editor;
    folder.value = this.#setting.folder;
    const change = (): void => {
      this.#setting = { editor: editor.value, folder: folder.value.trim() };
      writeStored(STORED, this.#setting);
      onChange();
    };
    editor.addEventListener('change', change);
    folder.addEventListener('change', change);
    return h(
      'details',
      { class: 'editor' },
      h('summary', {}, 'Open lines of code in an editor'),
      h('label', {}, 'Editor ', editor),
      h('label', {}, 'Folder of the project on this machine ', folder),
    );
  }
}

function readSetting(): EditorSetting {
  const stored = readStored(STORED);
  if (typeof stored !== 'object' || stored === null) return NONE;
  const { editor, folder } = stored as Partial<Record<keyof EditorSetting, unknown>>;
  return typeof editor === 'string' && typeof folder === 'string' ? { editor, folder } : NONE;
}
