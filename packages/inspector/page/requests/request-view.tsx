import { useSignal } from '@preact/signals';
import type { JSX } from 'preact';
import { fixOf, holderText, idOf } from '../../src/signs.js';
import type { RequestDetails, ScopeSpan, Step, Trouble } from '../../src/wire.js';
import { clock, count, duration, lastOf, lifetimeOf, type Mark, nameOfFinding } from '../format.js';
import { newsOf } from '../graph/caption.js';
import { Badge, badgeOf, Sql } from '../parts.js';
import { brokenAtSlashes } from '../places.js';
import { outcomeLine, routeText } from '../sentences.js';
import { store } from '../state.js';
import { Cause } from '../troubles.js';
import {
  type Fold,
  foldSteps,
  marksOf,
  problemsOf,
  statementGroups,
  stateMark,
  stepOf,
  timeParts,
} from './request-data.js';

/** Everything about one request, from what went wrong to each of its steps. */
export function RequestView({ request, at }: { request: RequestDetails; at?: Trouble | undefined }): JSX.Element {
  const problems = problemsOf(request, store.slowMs);
  const cause = at ?? problems[0];
  const outcome = outcomeLine(request);
  return (
    <div class="request-view">
      <Heading request={request} />
      {problems.map((sign) => (
        <Cause key={idOf(sign)} {...sign} fix={fixOf(sign)} />
      ))}
      {outcome !== undefined && <p class="outcome">{outcome}</p>}
      <TimeBar request={request} />
      <Waterfall request={request} at={cause && stepOf(cause, request)} />
      <Statements request={request} />
    </div>
  );
}

/** Its route, its outcome, and when it was. */
function Heading({ request }: { readonly request: RequestDetails }): JSX.Element {
  const { method, route, milliseconds, arrived, requestId, steps } = request;
  const outside = steps.filter((step) => step.outside).length;
  const marks: Mark[] = [
    stateMark(request),
    { text: milliseconds === undefined ? 'in progress' : duration(milliseconds), mood: '' },
    ...marksOf(request, store.slowMs),
    ...(outside > 0 ? [{ text: `${outside} outside`, mood: '' as const, title: 'Sent outside of a transaction' }] : []),
  ];
  return (
    <header>
      <h2>
        <span class="method">{method}</span> {routeText(route)}
      </h2>
      <p class="chips">
        {marks.map(badgeOf)}
        <span class="hint">at {clock(arrived)}</span>
      </p>
      {requestId !== undefined && (
        <p class="hint">
          request id <code>{requestId}</code>
        </p>
      )}
    </header>
  );
}

/** A bar of what the time was spent on, and the same in words. */
function TimeBar({ request }: { readonly request: RequestDetails }): JSX.Element | null {
  const parts = timeParts(request).filter(({ milliseconds, kind }) => milliseconds > 0.005 || kind === 'rest');
  if (parts.length === 0) return null;
  const all = parts.reduce((sum, { milliseconds }) => sum + milliseconds, 0);
  return (
    <section class="time-parts" aria-label="What the time was spent on">
      <div class="stack" aria-hidden="true">
        {parts.map(({ kind, milliseconds }) => (
          <i key={kind} data-part={kind} style={{ '--part': String(milliseconds / all) }} />
        ))}
      </div>
      <ul class="chips hint">
        {parts.map(({ name, kind, milliseconds }) => (
          <li key={kind}>
            <i data-part={kind} />
            {name} <b>{duration(milliseconds)}</b>
          </li>
        ))}
      </ul>
    </section>
  );
}

/** The statements of a request by their text. */
function Statements({ request }: { readonly request: RequestDetails }): JSX.Element | null {
  const { statements, alike, statementMs, milliseconds } = request;
  const groups = statementGroups(request);
  if (groups.length === 0) return null;
  const sums = [
    `${count(statements)} ${statements === 1 ? 'statement' : 'statements'}`,
    ...(alike > 1 ? [`${count(alike)} alike`] : []),
    milliseconds === undefined ? duration(statementMs) : `${duration(statementMs)} of ${duration(milliseconds)}`,
  ];
  return (
    <section class="statements" aria-label="Statements">
      <h3>{sums.join(', ')}</h3>
      <ol>
        {groups.map(({ sql, steps, totalMs, marks }) => (
          <li key={sql} class="statement-group">
            <span class="times">{count(steps.length)}×</span>
            <Sql text={sql} />
            <span class="chips">{marks.map(badgeOf)}</span>
            <span class="took">{duration(totalMs)}</span>
          </li>
        ))}
      </ol>
    </section>
  );
}

const NAMES: Partial<Record<Step['kind'], string>> = {
  arrived: 'request arrives',
  created: 'create',
  failed: 'failed to create',
  connection: 'connection',
  'no connection': 'no connection',
  begin: 'BEGIN',
  call: 'call',
  threw: 'handler failed',
  commit: 'COMMIT',
  rollback: 'ROLLBACK',
  'commit unknown': 'COMMIT or not',
  responded: 'response',
  aborted: 'client disconnected',
  disposed: 'dispose',
};

/** The steps of a request in order, of which `at` is the one to look at. */
function Waterfall({ request, at }: { readonly request: RequestDetails; readonly at: Step | undefined }): JSX.Element {
  const { steps, spans, elapsed = 0, dropped } = request;
  const ends = [...steps.map((step) => step.at + (step.took ?? 0)), ...spans.map(({ closed = 0 }) => closed)];
  const length = Math.max(...ends, elapsed, 0.01);
  // A scope is one bar, so its closing has no row.
  const folds = foldSteps(steps.filter(({ kind }) => kind !== 'scope closed'));
  return (
    <>
      <div class="waterfall" role="table" aria-label="What happened, in order">
        <div class="row axis" aria-hidden="true">
          <span class="label" />
          <span class="track">
            {[0, 0.25, 0.5, 0.75, 1].map((part) => (
              <span key={part} style={{ '--at': String(part) }}>
                {part === 0 ? '0' : duration(length * part)}
              </span>
            ))}
          </span>
        </div>
        {folds.map((fold, i) => (
          <FoldRows key={i} request={request} fold={fold} length={length} at={at} />
        ))}
      </div>
      {dropped > 0 && <p class="hint">and {count(dropped)} more steps, which were not kept</p>}
    </>
  );
}

interface RowParts {
  readonly request: RequestDetails;
  readonly length: number;
  readonly at: Step | undefined;
}

function FoldRows({ fold, ...parts }: RowParts & { readonly fold: Fold }): JSX.Element {
  const isOpen = useSignal(false);
  const [first] = fold;
  if (fold.length === 1) return <Row {...parts} step={first} isAt={first === parts.at} />;
  const last = fold.at(-1) ?? first;
  const whole = { ...first, took: last.at + (last.took ?? 0) - first.at };
  const isAt = parts.at !== undefined && fold.includes(parts.at);
  const toggle = (
    <button
      class="fold-steps"
      aria-expanded={isOpen.value}
      title={isOpen.value ? 'Show them as one' : 'Show each of them'}
      onClick={() => (isOpen.value = !isOpen.value)}
    >
      {fold.length}×
    </button>
  );
  return (
    <>
      <Row {...parts} step={whole} isAt={isAt} toggle={toggle} />
      {isOpen.value && fold.map((step, i) => <Row key={i} {...parts} step={step} isAt={false} />)}
    </>
  );
}

function Row({
  request,
  step,
  length,
  isAt,
  toggle,
}: RowParts & {
  readonly step: Step;
  readonly isAt: boolean;
  readonly toggle?: JSX.Element;
}): JSX.Element {
  const { spans, status } = request;
  const { kind, at, span, sql, error, where, outside, heldBy } = step;
  const scope = span === undefined ? undefined : spans[span];
  const isScope = kind === 'scope opened';
  const took = isScope && scope ? (scope.closed ?? length) - scope.opened : (step.took ?? 0);
  const unclosed = isScope && scope && scope.closed === undefined;
  const name = nameOf(step, scope);
  const text = textOf(step, status);
  const line = heldBy?.where !== undefined && !heldBy.doing?.includes(heldBy.where) ? `, at ${heldBy.where}` : '';
  const aside = step.doing ?? (heldBy ? `${holderText(heldBy).slice(2)}${line}` : '');
  return (
    <div
      class={`row${isScope ? ' scope' : ''}${unclosed ? ' unclosed' : ''}`}
      role="row"
      data-kind={kind}
      data-mood={moodOf(step, status) || undefined}
      data-lifetime={scope ? lifetimeOf(scope.box) : undefined}
      data-at={isAt ? '' : undefined}
      style={{ '--depth': String(scope ? scope.box.split(' > ').length - 1 : 0) }}
    >
      <span class="label" role="cell" title={[name, text, sql, error, where].filter(Boolean).join(' ')}>
        {toggle}
        {name !== '' && <b>{name}</b>}
        {text !== '' && <span>{text}</span>}
        {outside && <Badge text="outside" mood="" />}
        {sql !== undefined && <code>{sql}</code>}
        {error !== undefined && <em>{error}</em>}
        {aside !== '' && <span class="hint">{aside}</span>}
        {where !== undefined && <em class="where">{brokenAtSlashes(where)}</em>}
      </span>
      <span class="track" role="cell">
        <i
          class={took > 0 ? 'bar' : 'bar point'}
          style={{ '--at': String(at / length), '--took': String(took / length) }}
        />
      </span>
      <span class="took" role="cell">
        {took > 0 ? duration(took) : ''}
      </span>
    </div>
  );
}

/** Whether a step is good or bad news; a line that the application wrote as an error is bad news, too. */
function moodOf(step: Step, status = 0): Mark['mood'] {
  const { kind, line, heldBy } = step;
  // To roll back and respond with a status of 4xx is what the application has decided.
  if (kind === 'rollback' && status >= 400 && status < 500) return '';
  if (/^(?:error|fatal)$/i.test(line?.level ?? '')) return 'bad';
  return newsOf(step) || (heldBy ? 'warn' : '');
}

function nameOf({ kind, found, line }: Step, scope: ScopeSpan | undefined): string {
  if (kind === 'scope opened') return `${lastOf(scope?.box ?? '')} scope`;
  if (line) return `${line.source} ${line.level}`;
  return NAMES[kind] ?? (found === undefined ? '' : nameOfFinding(found));
}

function textOf({ kind, key = '', path = [], host, line }: Step, status: number | undefined): string {
  if (kind === 'responded') return String(status ?? '');
  if (kind === 'call') return host ?? '';
  if (kind === 'failed' && path.length > 1) return path.join(' → ');
  return line?.text ?? key;
}
