import { signal, useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Sign } from '../src/signs.js';
import type { Mark } from './words.js';

export function Badge({ text, mood, title }: Mark): JSX.Element {
  return (
    <span class="badge" data-mood={mood || undefined} title={title}>
      {text}
    </span>
  );
}

/** One of several, no two of which have the same text. */
export const badgeOf = (mark: Mark): JSX.Element => <Badge key={mark.text} {...mark} />;

/** A statement in at most two lines, the rest on demand. */
export function Sql({ text }: { readonly text: string }): JSX.Element {
  const open = useSignal(false);
  const isLong = useSignal(false);
  const code = useRef<HTMLElement>(null);
  useLayoutEffect(() => {
    const { scrollHeight = 0, clientHeight = 0 } = code.current ?? {};
    if (!open.value) isLong.value = scrollHeight > clientHeight + 2;
  }, [text]);
  return (
    <div class={open.value ? 'sql whole' : 'sql'}>
      <code ref={code}>{text}</code>
      {isLong.value && (
        <button class="link" aria-expanded={open.value} onClick={() => (open.value = !open.value)}>
          {open.value ? 'less' : 'all of it'}
        </button>
      )}
    </div>
  );
}

/** A row of buttons of which one is chosen. */
export function Choice<T extends string>(props: {
  readonly label: string;
  readonly options: Readonly<Record<T, string>>;
  readonly chosen: T;
  readonly onChoose: (option: T) => void;
}): JSX.Element {
  const { label, options, chosen, onChoose } = props;
  return (
    <div class="choice" role="group" aria-label={label}>
      {(Object.keys(options) as T[]).map((option) => (
        <button key={option} class="toggle" aria-pressed={option === chosen} onClick={() => onChoose(option)}>
          {options[option]}
        </button>
      ))}
    </div>
  );
}

/** Items whose order is kept while somebody points at them: what is new comes after that. `about` says what is shown at all. */
export function useStill<T>(items: readonly T[], idOf: (item: T) => unknown, isStill: boolean, about = ''): Still<T> {
  const kept = useRef<{ readonly about: string; readonly items: readonly T[] } | undefined>(undefined);
  const { items: still = [], about: former } = kept.current ?? {};
  const before = isStill && former === about && still.length > 0 ? still : items;
  const current = new Map(items.map((item) => [idOf(item), item]));
  const shown = before.map((item) => current.get(idOf(item)) ?? item);
  kept.current = { about, items: shown };
  for (const item of before) current.delete(idOf(item));
  return { shown, newer: current.size };
}

export interface Still<T> {
  readonly shown: readonly T[];
  /** How many are not shown yet. */
  readonly newer: number;
}

/** The handlers of a list that stays still under the mouse. */
export const stillUnder = (isOver: { value: boolean }) => ({
  onPointerEnter: ({ pointerType }: PointerEvent) => void (isOver.value = pointerType === 'mouse'),
  onPointerLeave: () => void (isOver.value = false),
});

const EVERY_MS = 1000;

/** Reads something each second, as long as the component is shown, and nobody looks at another tab. */
export function usePolled<T>(load: () => Promise<T>): { readonly value?: T; readonly failed?: boolean } {
  const [state, setState] = useState<{ readonly value?: T; readonly failed?: boolean }>({});
  useEffect(() => {
    let isOver = false;
    const poll = async (): Promise<void> => {
      for (;;) {
        const failed = (): void => setState((before) => ({ ...before, failed: true }));
        if (!document.hidden) await load().then((value) => setState({ value }), failed);
        await new Promise((resolve) => setTimeout(resolve, EVERY_MS));
        if (isOver) return;
      }
    };
    void poll();
    return () => void (isOver = true);
  }, [load]);
  return state;
}

const SHOWN_MS = 1500;

/** Copies a text. Browsers give access to the clipboard to pages from this machine, or with HTTPS. */
export function Copy({ text, name = 'copy' }: { readonly text: string; readonly name?: string }): JSX.Element | null {
  const [said, say] = useState('');
  if (!navigator.clipboard) return null;
  const copy = async (): Promise<void> => {
    const copied = await navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
    say(copied ? 'copied' : 'not allowed');
    setTimeout(() => say(''), SHOWN_MS);
  };
  return (
    <button class="copy" title={`Copy ${text}`} aria-label={`Copy ${text}`} onClick={() => void copy()}>
      {said || name}
    </button>
  );
}

/** A file's name is not broken in its middle: only after a slash. */
export const brokenAtSlashes = (where: string): ComponentChildren =>
  where.split(/(?<=\/)/).flatMap((part, i) => (i === 0 ? [part] : [<wbr key={i} />, part]));

/** Editors that open a file by an address. */
const EDITORS = { vscode: 'VS Code', cursor: 'Cursor', zed: 'Zed', windsurf: 'Windsurf', idea: 'IntelliJ IDEA' };
const STORED = 'ambit-inspector-editor';

interface EditorSetting {
  readonly editor: string;
  /** The folder in which the server was started, on the machine of the one who reads the page. */
  readonly folder: string;
}

function storedSetting(): EditorSetting {
  try {
    const { editor, folder } = Object(JSON.parse(localStorage.getItem(STORED) ?? '{}')) as Partial<
      Record<string, unknown>
    >;
    return typeof editor === 'string' && typeof folder === 'string' ? { editor, folder } : { editor: '', folder: '' };
  } catch {
    return { editor: '', folder: '' };
  }
}

const setting = signal(storedSetting());

/** `vscode://file/home/me/shop/src/orders.ts:42:7`; undefined without an editor, or for a path whose folder nobody has said. */
export function editorLink(where: string, { editor, folder }: EditorSetting): string | undefined {
  const [, path = '', line, column = '1'] = /([^\s()]+?):(\d+)(?::(\d+))?\)?$/.exec(where) ?? [];
  const isAbsolute = /^(?:\/|[a-z]:[\\/])/i.test(path);
  if (line === undefined || !Object.hasOwn(EDITORS, editor) || (!isAbsolute && folder === '')) return undefined;
  const whole = (isAbsolute ? path : `${folder.replace(/[\\/]+$/, '')}/${path}`).replaceAll('\\', '/');
  const file = encodeURI(whole.replace(/^\//, '')).replaceAll('#', '%23').replaceAll('?', '%3F');
  if (editor === 'idea') return `idea://open?file=/${file}&line=${line}&column=${column}`;
  return `${editor}://file/${file}:${line}:${column}`;
}

/** A line of code, which is copied, and opens in the editor that the user has chosen. */
export function Place({ where }: { readonly where: string }): JSX.Element {
  const href = editorLink(where, setting.value);
  const code = <code>{brokenAtSlashes(where)}</code>;
  return (
    <span class="place">
      {href === undefined ? code : <a href={href}>{code}</a>}
      <Copy text={where} />
    </span>
  );
}

/** Lets the user choose the editor. */
export function EditorSettings(): JSX.Element {
  const change = (changed: Partial<EditorSetting>): void => {
    setting.value = { ...setting.value, ...changed };
    localStorage.setItem(STORED, JSON.stringify(setting.value));
  };
  const { editor, folder } = setting.value;
  return (
    <details class="editor">
      <summary>Open lines of code in an editor</summary>
      <label>
        Editor{' '}
        <select value={editor} onChange={({ currentTarget }) => change({ editor: currentTarget.value })}>
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
          placeholder="/home/me/shop"
          value={folder}
          onChange={({ currentTarget }) => change({ folder: currentTarget.value })}
        />
      </label>
    </details>
  );
}

interface CauseProps extends Pick<Sign, 'cause' | 'kind' | 'sql' | 'where'> {
  readonly fix: string;
  /** Beside its kind. */
  readonly children?: ComponentChildren;
  readonly more?: ComponentChildren;
}

/** Why something is wrong, and where; of one occurrence, or of all of them. */
export function Cause({ kind, cause, where, sql, fix, children, more }: CauseProps): JSX.Element {
  return (
    <article class="card trouble" data-kind={kind}>
      <header class="chips">
        <Badge text={kind} mood="bad" />
        {children}
      </header>
      <h2 class="cause">{cause}</h2>
      {where !== undefined && (
        <p>
          <Place where={where} />
        </p>
      )}
      {sql !== undefined && <Sql text={sql} />}
      <p class="fix">{fix.split('`').map((part, i) => (i % 2 === 0 ? part : <code key={i}>{part}</code>))}</p>
      {more}
    </article>
  );
}
