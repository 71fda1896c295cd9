import { signal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useState } from 'preact/hooks';
import { editorLink, EDITORS, type EditorSetting } from './editors.js';
import { readStored, writeStored } from './navigation.js';

const STORED = 'ambit-inspector-editor';

const setting = signal<EditorSetting>(readSetting());

function readSetting(): EditorSetting {
  const stored = Object(readStored(STORED)) as Partial<Record<keyof EditorSetting, unknown>>;
  const { editor, folder } = stored;
  return typeof editor === 'string' && typeof folder === 'string' ? { editor, folder } : { editor: '', folder: '' };
}

/** A file's name is not broken in its middle: only after a slash. */
export const brokenAtSlashes = (where: string): ComponentChildren =>
  where.split(/(?<=\/)/).flatMap((part, i) => (i === 0 ? [part] : [<wbr key={i} />, part]));

/** A line of code, which is copied, and opens in the editor that the user has chosen. */
export function Place({ where }: { readonly where: string }): JSX.Element {
  const href = editorLink(where, setting.value);
  const code = <code>{brokenAtSlashes(where)}</code>;
  return (
    <span class="place">
      {href === undefined ? (
        code
      ) : (
        <a href={href} title={`Open in ${EDITORS[setting.value.editor]}`}>
          {code}
        </a>
      )}
      <Copy text={() => where} label={`Copy ${where}`} />
    </span>
  );
}

const SHOWN_MS = 1500;

/** Copies a text. Browsers give access to the clipboard to pages from this machine, or with HTTPS. */
export function Copy({
  text,
  label,
  name = 'copy',
  class: kind = 'copy',
}: {
  readonly text: () => string;
  readonly label?: string;
  readonly name?: string;
  readonly class?: string;
}): JSX.Element | null {
  const [said, say] = useState('');
  if (typeof navigator === 'undefined' || !navigator.clipboard) return null;
  const copy = async (): Promise<void> => {
    const copied = await navigator.clipboard.writeText(text()).then(
      () => true,
      () => false,
    );
    say(copied ? 'copied' : 'not allowed');
    setTimeout(() => say(''), SHOWN_MS);
  };
  return (
    <button class={kind} title={label} aria-label={label} onClick={() => void copy()}>
      {said || name}
    </button>
  );
}

/** Lets the user choose the editor. */
export function EditorSettings(): JSX.Element {
  const change = (changed: Partial<EditorSetting>): void => {
    setting.value = { ...setting.value, ...changed };
    writeStored(STORED, setting.value);
  };
  return (
    <details class="editor">
      <summary>Open lines of code in an editor</summary>
      <label>
        Editor{' '}
        <select value={setting.value.editor} onChange={({ currentTarget }) => change({ editor: currentTarget.value })}>
          <option value="">none</option>
          {Object.entries(EDITORS).map(([value, name]) => (
            <option key={value} value={value}>
              {name}
            </option>
          ))}
        </select>
      </label>
      <label>
        Folder of the project{' '}
        <input
          type="text"
          spellcheck={false}
          placeholder="/home/me/shop"
          value={setting.value.folder}
          onChange={({ currentTarget }) => change({ folder: currentTarget.value.trim() })}
        />
      </label>
    </details>
  );
}
