import { useSignal } from '@preact/signals';
import type { ComponentChildren, JSX } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';
import type { Mark } from './format.js';

export function Badge({ text, mood, title }: Mark): JSX.Element {
  return (
    <span class={`badge ${mood}`} title={title}>
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
export function Choice<T extends string>({
  label,
  options,
  chosen,
  onChoose,
}: {
  readonly label: string;
  readonly options: Readonly<Record<T, string>>;
  readonly chosen: T;
  readonly onChoose: (option: T) => void;
}): JSX.Element {
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

export function Card({ title, children }: { title: string; children: ComponentChildren }): JSX.Element {
  return (
    <section class="card">
      <h2>{title}</h2>
      {children}
    </section>
  );
}

export interface Still<T> {
  readonly shown: readonly T[];
  /** How many are not shown yet. */
  readonly newer: number;
}

/** Keeps the order of what is shown while somebody points at it: what is new comes after that. `about` says what is shown at all. */
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
