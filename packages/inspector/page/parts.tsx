import type { ComponentChildren, JSX } from 'preact';
import { useSignal } from '@preact/signals';
import { useEffect, useRef } from 'preact/hooks';
import type { Cause } from '../src/wire.js';
import { read } from './data.js';
import type { Mark } from './words.js';

export function Badge({ text, mood }: Mark): JSX.Element {
  return (
    <span class="badge" data-mood={mood || undefined}>
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
export function useStill<T>(items: readonly T[], idOf: (item: T) => unknown, about = '') {
  const isOver = useSignal(false);
  const kept = useRef<{ readonly about: string; readonly items: readonly T[] } | undefined>(undefined);
  const { items: still = [], about: former } = kept.current ?? {};
  const before = isOver.value && former === about && still.length > 0 ? still : items;
  const current = new Map(items.map((item) => [idOf(item), item]));
  const shown = before.map((item) => current.get(idOf(item)) ?? item);
  kept.current = { about, items: shown };
  for (const item of before) current.delete(idOf(item));
  const handlers = {
    onPointerEnter: ({ pointerType }: PointerEvent) => void (isOver.value = pointerType === 'mouse'),
    onPointerLeave: () => void (isOver.value = false),
  };
  return { shown, newer: current.size, handlers };
}

/** The text or lines that a tool of the server says, or why it does not. */
export function Reading({ path }: { readonly path: string }): JSX.Element {
  const text = useSignal('…');
  useEffect(() => {
    text.value = '…';
    read<readonly string[] | { readonly explanation: string }>(path).then(
      (said) => (text.value = 'explanation' in said ? said.explanation : said.join('\n')),
      (error: unknown) => (text.value = String(error).replace(/^TimeoutError.*/, 'No response within 3 s')),
    );
  }, [path]);
  return <pre class="explanation">{text}</pre>;
}

/** The plan of a statement, once somebody asks for it. */
function Plan({ sql }: { readonly sql: string }): JSX.Element | null {
  const isAsked = useSignal(false);
  if (!/^(?:SELECT|INSERT|UPDATE|DELETE|WITH)\b/i.test(sql)) return null;
  if (isAsked.value) return <Reading path={`plan?sql=${encodeURIComponent(sql)}`} />;
  return (
    <button class="toggle open" onClick={() => (isAsked.value = true)}>
      Explain the plan
    </button>
  );
}

/** A line of code. */
export const Place = ({ where }: { readonly where: string }): JSX.Element => <code>{where}</code>;

interface CauseProps extends Omit<Cause, 'error' | 'id'> {
  /** Beside its kind. */
  readonly children?: ComponentChildren;
  readonly more?: ComponentChildren;
}

/** Why something is wrong, and where; of one occurrence, or of all of them. */
export function CauseCard({ kind, cause, where, caller, sql, fix, children, more }: CauseProps): JSX.Element {
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
          {caller !== undefined && (
            <>
              {' '}
              called by <Place where={caller} />
            </>
          )}
        </p>
      )}
      {sql !== undefined && <Sql text={sql} />}
      {sql !== undefined && <Plan sql={sql} />}
      <p class="fix">{fix.split('`').map((part, i) => (i % 2 === 0 ? part : <code key={i}>{part}</code>))}</p>
      {more}
    </article>
  );
}
