import type { ComponentChildren, JSX } from 'preact';
import { useSignal } from '@preact/signals';
import { hasPlan } from '../src/plan.js';
import type { Cause } from '../src/wire.js';
import { useReading } from './data.js';
import type { Mark } from './words.js';

export function Badge({ text, mood }: Mark): JSX.Element {
  return (
    <span class="badge" data-mood={mood}>
      {text}
    </span>
  );
}

/** One of several, no two of which have the same text. */
export const badgeOf = (mark: Mark): JSX.Element => <Badge key={mark.text} {...mark} />;

const LONGEST_LINE = 240;

/** A statement: of a long one the beginning, and all of it where one points at it. */
export function Sql({ text }: { readonly text: string }): JSX.Element {
  return <code title={text}>{text.length <= LONGEST_LINE ? text : `${text.slice(0, LONGEST_LINE)} …`}</code>;
}

/** Items whose order is kept while somebody points at them, with the handlers that notice that. @param about - what is shown at all */
export function useStill<T extends { readonly id: number | string }>(items: readonly T[], about = '') {
  const kept = useSignal<{ readonly about: string; readonly items: readonly T[] } | undefined>(undefined);
  const current = new Map(items.map((item) => [item.id, item]));
  const still = kept.value?.about === about ? kept.value.items : [];
  const shown = still.length > 0 ? still.map((item) => current.get(item.id) ?? item) : items;
  for (const { id } of shown) current.delete(id);
  const handlers = {
    onPointerEnter: ({ pointerType }: PointerEvent) =>
      void (kept.value = pointerType === 'mouse' ? { about, items: shown } : undefined),
    onPointerLeave: () => void (kept.value = undefined),
  };
  return { shown, newer: current.size, handlers };
}

/** The text or lines that a tool of the server says, or why it does not. */
export function Reading({ path }: { readonly path: string }): JSX.Element {
  const said = useReading<readonly string[] | { readonly explanation: string }>(path);
  return (
    <pre class="note">
      {!said ? '…' : 'explanation' in said ? said.explanation : 'message' in said ? said.message : said.join('\n')}
    </pre>
  );
}

/** The plan of a statement, once somebody asks for it. */
function Plan({ sql }: { readonly sql: string }): JSX.Element | null {
  const isAsked = useSignal(false);
  if (!hasPlan(sql)) return null;
  if (isAsked.value) return <Reading path={`plan?sql=${encodeURIComponent(sql)}`} />;
  return (
    <button class="toggle" onClick={() => (isAsked.value = true)}>
      Explain the plan
    </button>
  );
}

interface CauseProps extends Omit<Cause, 'error' | 'id'> {
  /** Beside its kind. */
  readonly children?: ComponentChildren;
  readonly more?: ComponentChildren;
}

/** Why something is wrong, and where; of one occurrence, or of all of them. */
export function CauseCard({ kind, cause, where, caller, sql, fix, children, more }: CauseProps): JSX.Element {
  return (
    <article class="card trouble stack" data-kind={kind}>
      <header class="chips">
        <Badge text={kind} mood="bad" />
        {children}
      </header>
      <h2>{cause}</h2>
      {where !== undefined && (
        <p class="chips">
          <code>{where}</code>
          {caller !== undefined && (
            <span>
              called by <code>{caller}</code>
            </span>
          )}
        </p>
      )}
      {sql !== undefined && <Sql text={sql} />}
      {sql !== undefined && <Plan sql={sql} />}
      <p>→ {fix.split('`').map((part, i) => (i % 2 === 0 ? part : <code key={i}>{part}</code>))}</p>
      {more}
    </article>
  );
}
