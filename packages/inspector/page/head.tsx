import { useEffect, useRef } from 'preact/hooks';
import { signal } from '@preact/signals';
import type { JSX } from 'preact';
import { count } from './format.js';
import { address, go, readStored, VIEWS, writeStored } from './navigation.js';
import { ratesLine, troubleCount } from './sentences.js';
import { messages, store, troubles } from './state.js';
import { connection } from './stream/connection.js';

/** The views, as the pattern "tabs" of ARIA has it: arrows move, and what is moved to is shown. The address says which. */
export function Tabs(): JSX.Element {
  const names = Object.keys(VIEWS);
  const onKey = (event: KeyboardEvent, at: number): void => {
    const steps: Record<string, number> = { ArrowRight: at + 1, ArrowLeft: at - 1, Home: 0, End: -1 };
    const step = steps[event.key];
    const next = step === undefined ? undefined : names.at(step % names.length);
    if (next === undefined) return;
    document.getElementById(`tab-${next}`)?.focus();
    go({ view: next });
  };
  return (
    <div class="tabs" role="tablist" aria-label="Views">
      {names.map((name, at) => (
        <button
          key={name}
          role="tab"
          id={`tab-${name}`}
          aria-controls={name}
          aria-keyshortcuts={VIEWS[name]?.key}
          aria-selected={address.value.view === name}
          tabIndex={address.value.view === name ? 0 : -1}
          onClick={() => go({ view: name })}
          onKeyDown={(event) => onKey(event, at)}
        >
          {VIEWS[name]?.name}
        </button>
      ))}
    </div>
  );
}

/** One line: how much goes on, what is wrong, and whether the page hears of it. */
export function Vitals(): JSX.Element {
  void messages.value;
  const rates = store.now ?? { requestsPerSecond: 0, recordedPerSecond: 0 };
  const isWrong = troubles.value.length > 0;
  return (
    <>
      <span class="rate" title={ratesLine(rates)}>
        <b>{count(rates.requestsPerSecond)}</b>
        <span class="unit"> requests/s</span>
        <span class="short">/s</span>
      </span>
      <button class={isWrong ? 'troubles bad' : 'troubles'} title="What is wrong" onClick={() => go({ view: 'now' })}>
        {troubleCount(troubles.value)}
      </button>
      <span class="connection" role="status" data-state={connection.value}>
        <span>{connection.value}</span>
      </span>
    </>
  );
}

export interface Shortcut {
  /** As `KeyboardEvent.key` has it. */
  readonly key: string;
  readonly about: string;
  readonly act: () => void;
}

const STORED = 'ambit-inspector-shortcuts';
const isOn = signal(readStored(STORED) !== false);

/** Single keys for what is done often, and a sheet that lists them. They can be switched off: some people speak their keys. */
export function Shortcuts({ shortcuts }: { readonly shortcuts: readonly Shortcut[] }): JSX.Element {
  const sheet = useRef<HTMLDialogElement>(null);
  const open = (): void => {
    if (!sheet.current?.open) sheet.current?.showModal();
  };
  const all = [...shortcuts, { key: '?', about: 'this sheet', act: open }];
  useEffect(() => {
    const onKey = (event: KeyboardEvent): void => {
      const isOther = event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event);
      if (!isOn.value || sheet.current?.open || isOther) return;
      const found = all.find(({ key }) => key === event.key);
      if (!found) return;
      event.preventDefault();
      found.act();
    };
    document.addEventListener('keydown', onKey);
    return () => document.removeEventListener('keydown', onKey);
  }, []);
  const lines = [...all, { key: 'Esc', about: 'close the request, or this sheet' }];
  return (
    <>
      <button class="quiet" id="help" aria-label="Keyboard shortcuts" onClick={open}>
        ?
      </button>
      <dialog class="sheet card" ref={sheet} aria-labelledby="shortcuts-title">
        <h2 id="shortcuts-title">Keyboard shortcuts</h2>
        <dl>
          {lines.map(({ key, about }) => (
            <div key={key}>
              <dt>
                <kbd class="badge">{key === ' ' ? 'Space' : key}</kbd>
              </dt>
              <dd>{about}</dd>
            </div>
          ))}
        </dl>
        <p>
          <input
            type="checkbox"
            id="shortcuts-on"
            checked={isOn.value}
            onChange={({ currentTarget }) => writeStored(STORED, (isOn.value = currentTarget.checked))}
          />
          <label for="shortcuts-on">Single keys are shortcuts</label>
        </p>
        <button class="toggle" autofocus onClick={() => sheet.current?.close()}>
          Close
        </button>
      </dialog>
    </>
  );
}

/** Keys go to a field that takes text, and the space bar to a button. */
function isTyping({ target, key }: KeyboardEvent): boolean {
  if (!(target instanceof Element)) return false;
  if (key === ' ' && target.closest('button, a, summary, [role=tab]')) return true;
  return target.closest('input:not([type=checkbox]), select, textarea, [contenteditable]') !== null;
}
